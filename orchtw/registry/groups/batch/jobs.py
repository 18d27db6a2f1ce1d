"""Jobs: their defaults, and the selector and labels by which each knows its own pods."""

from __future__ import annotations

from typing import Final

from orchtw.registry.emission_order import put
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
from orchtw.registry.strategy import Strategy
from orchtw.registry.system_metadata import drop_annotation
from orchtw.registry.traits import SPEC
from orchtw.request import UserInfo
from orchtw.schema.tables import cells_workloads
from orchtw.wire.objects import Object

TRACKING: Final = "batch.orch.io/job-tracking"
"""Annotation of jobs whose pods are tracked by finalizers, a feature that the release leaves off."""

_SPEC = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "selector", "manualSelector"),
    *("template", "ttlSecondsAfterFinished", "completionMode", "suspend"),
)
_KEPT_PODS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or "
    "set propagationPolicy=Orphan to suppress this warning"
)


class JobStrategy(Strategy):
    """Write rules of jobs, which select their pods by uid unless told otherwise (reference KIND-63)."""

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
    for key, value in (("parallelism", 1), ("backoffLimit", 6), ("completionMode", "NonIndexed"), ("suspend", False)):
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
