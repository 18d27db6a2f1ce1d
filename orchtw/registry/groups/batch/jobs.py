"""Jobs: their defaults, and the selector and labels by which each knows its own pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchtw.registry.emission_order import put
from orchtw.registry.groups.batch.job_policies import FAILED, REPLACED_AT_ONCE
from orchtw.registry.groups.batch.job_validation import (
    CONTROLLER_UID,
    JOB_NAME,
    validate_job,
    validate_job_status,
)
from orchtw.registry.groups.core.controller_rules import labels_of, template_of, warn_of_pods
from orchtw.registry.groups.core.controllers import LABELS_TAIL, label
from orchtw.registry.groups.core.pod_templates import set_pod_template_defaults
from orchtw.registry.kind import KindRecord
from orchtw.registry.metadata import drop_annotation
from orchtw.registry.strategy import Strategy
from orchtw.registry.traits import SPEC
from orchtw.request import UserInfo
from orchtw.schema.tables import cells_workloads
from orchtw.wire.objects import Object

TRACKING: Final = "batch.orch.io/job-tracking"
"""Annotation of jobs whose pods are tracked by finalizers, a feature that the release leaves off."""

_SPEC = (
    *("parallelism", "completions", "activeDeadlineSeconds", "podFailurePolicy", "successPolicy", "backoffLimit"),
    *("backoffLimitPerIndex", "maxFailedIndexes", "selector", "manualSelector", "template"),
    *("ttlSecondsAfterFinished", "completionMode", "suspend", "podReplacementPolicy", "managedBy"),
)
_NO_LIMIT = (1 << 31) - 1
_KEPT_PODS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or "
    "set propagationPolicy=Orphan to suppress this warning"
)


class JobStrategy(Strategy):
    """Write rules of jobs, which select their pods by uid unless told otherwise (reference KIND-63)."""

    _replaces = False

    def configure(self, gates: Mapping[str, bool]) -> None:
        self._replaces = gates["JobPodReplacementPolicy"]

    def set_defaults(self, obj: Object) -> None:
        """Fill in the defaults, and when pods are replaced (reference KIND-95)."""
        super().set_defaults(obj)
        spec = obj["spec"]
        failures = spec.get("podFailurePolicy")
        if self._replaces and "podReplacementPolicy" not in spec:
            put(spec, "podReplacementPolicy", REPLACED_AT_ONCE if failures is None else FAILED, _SPEC)
        for rule in (failures or {}).get("rules") or ():
            for pattern in rule.get("onPodConditions") or ():
                pattern["status"] = pattern.get("status") or "True"

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        drop_annotation(obj["metadata"], self.naming.translate(TRACKING))
        if obj["spec"].get("manualSelector") is not True:
            generate_selector(obj)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        tracking = self.naming.translate(TRACKING)
        if tracking not in (old["metadata"].get("annotations") or {}):
            drop_annotation(new["metadata"], tracking)
        super().prepare_for_update(new, old)


def generate_selector(job: Object) -> None:
    """Complete the template's labels and the selector; what a client has set of them stays, to be validated.

    A job without labels of its own has those of its template.
    """
    meta, spec = job["metadata"], job["spec"]
    uid = {CONTROLLER_UID: meta.get("uid", "")}
    labels = dict(sorted({**uid, JOB_NAME: meta.get("name", ""), **labels_of(spec)}.items()))
    template = dict(template_of(spec))
    template["metadata"] = dict(template.get("metadata") or {"creationTimestamp": None})
    put(template["metadata"], "labels", labels, LABELS_TAIL)
    selector = dict(spec.get("selector") or {})
    matched = dict(sorted({**uid, **(selector.pop("matchLabels", None) or {})}.items()))
    put(spec, "selector", {"matchLabels": matched, **selector}, _SPEC)
    spec["template"] = template
    label(job, labels)


def set_job_defaults(job: Object) -> None:
    """Fill in one pod, once, unless either number is given; labels default to those of the template."""
    spec = job["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        put(spec, "completions", 1, _SPEC)
    limit = 6 if spec.get("backoffLimitPerIndex") is None else _NO_LIMIT
    for key, value in (
        ("parallelism", 1),
        ("backoffLimit", limit),
        ("completionMode", "NonIndexed"),
        ("suspend", False),
    ):
        if key not in spec:
            put(spec, key, value, _SPEC)
    label(job, labels_of(spec))
    set_pod_template_defaults(spec)


JOB = KindRecord(
    group="batch",
    kind="Job",
    strategy=JobStrategy,
    generation=SPEC,
    orphans_in=("v1",),
    orphans_warning=_KEPT_PODS,
    set_defaults=set_job_defaults,
    validate=validate_job,
    validate_status=validate_job_status,
    warn=warn_of_pods,
    cells=cells_workloads.job,
)
