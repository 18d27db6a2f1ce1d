"""Validation of Jobs and of their updates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.batch.job_policies import policy_causes
from orchtw.registry.groups.core.controller_rules import (
    ALWAYS,
    labels_of,
    meaning,
    pod_spec_of,
    template_of,
    unselected_causes,
)
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values.causes import duplicate, invalid, not_supported, required
from orchtw.values.go_literals import SELECTOR, shown
from orchtw.wire.objects import Object

CONTROLLER_UID: Final = "controller-uid"
JOB_NAME: Final = "job-name"
"""Labels of a job's pods: the job's uid and its name."""

MAX_INDEXED_PARALLELISM: Final = 100_000

_INDEXED = "Indexed"
_MODES = ("NonIndexed", _INDEXED)
_POLICIES = ("OnFailure", "Never")
_FIXED = (
    *("completions", "selector", "completionMode"),
    *("podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"),
)
_NEED_NEVER = ("podFailurePolicy", "backoffLimitPerIndex")
_POLICIES_OF_JOBS = frozenset(
    (*_NEED_NEVER, "maxFailedIndexes", "successPolicy", "podReplacementPolicy", "managedBy")
)
_CHANGEABLE = {"metadata": ("labels", "annotations"), "spec": ("nodeSelector", "tolerations")}
"""Fields of a template, with the node affinity, that a suspended job may change: placement and naming of pods."""


def validate_job(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate a job, and on update its fixed fields."""
    spec = new["spec"]
    causes = job_spec_causes(spec, "spec")
    if spec.get("selector") is None:
        causes.append(required("spec.selector"))
    causes += unselected_causes(spec, meaning(spec.get("selector")))
    if spec.get("manualSelector") is not True and spec.get("selector") is not None:
        causes += _generated_causes(new)
    if old is not None:
        changed = (key for key in _FIXED if spec.get(key) != old["spec"].get(key))
        causes += [invalid(f"spec.{key}", _shown(key, spec.get(key)), IMMUTABLE) for key in changed]
        causes += _template_change_causes(spec, old)
    return causes


def _shown(key: str, value: Any) -> Any:
    return shown(SELECTOR, value) if key == "selector" else value


def job_spec_causes(spec: Object, path: str) -> list[Cause]:
    """Return the causes of a Job's spec, alone or in a CronJob, where it has no selector yet."""
    causes: list[Cause] = []
    mode = spec.get("completionMode")
    if mode is not None and mode not in _MODES:
        causes.append(not_supported(f"{path}.completionMode", mode, _MODES))
    if mode == _INDEXED:
        if spec.get("completions") is None:
            causes.append(required(f"{path}.completions", f"when completion mode is {_INDEXED}"))
        if (parallelism := spec.get("parallelism") or 0) > MAX_INDEXED_PARALLELISM:
            limit = f"must be less than or equal to {MAX_INDEXED_PARALLELISM} when completion mode is {_INDEXED}"
            causes.append(invalid(f"{path}.parallelism", parallelism, limit))
    if not _POLICIES_OF_JOBS.isdisjoint(spec):
        causes += policy_causes(spec, path)
    policy = pod_spec_of(spec).get("restartPolicy", "")
    if policy in ("", ALWAYS):
        shown = ", ".join(f'"{each}"' for each in _POLICIES)
        causes.append(required(f"{path}.template.spec.restartPolicy", f"valid values: {shown}"))
    elif policy not in _POLICIES:
        causes.append(not_supported(f"{path}.template.spec.restartPolicy", policy, _POLICIES))
    elif policy != "Never":
        given = [key for key in _NEED_NEVER if spec.get(key) is not None]
        text = 'only "Never" is supported when {} is specified'
        causes += [invalid(f"{path}.template.spec.restartPolicy", policy, text.format(key)) for key in given[:1]]
    return causes


def _generated_causes(job: Object) -> list[Cause]:
    """Return the causes if selector and labels are not those that the server generates (reference KIND-63)."""
    meta, spec = job["metadata"], job["spec"]
    expected = {CONTROLLER_UID: meta.get("uid", ""), JOB_NAME: meta.get("name", "")}
    causes = [] if expected[CONTROLLER_UID] else [required("metadata.uid")]
    labels = labels_of(spec)
    for key, value in expected.items():
        field = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            causes.append(required(field, f"must be '{value}'"))
        elif labels[key] != value:
            causes.append(invalid(field, labels, f"must be '{value}'"))
    selector = meaning(spec.get("selector"))
    if selector is not None and not selector.matches(expected):
        causes.append(invalid("spec.selector", _shown("selector", spec["selector"]), "`selector` not auto-generated"))
    return causes


def _template_change_causes(spec: Object, old: Object) -> list[Cause]:
    """Return the causes for a changed template; placement and names may change while no pod has been made."""
    template, before = template_of(spec), template_of(old["spec"])
    if template == before:
        return []
    suspended = old["spec"].get("suspend") is True and not (old.get("status") or {}).get("startTime")
    if suspended and _without_directives(template) == _without_directives(before):
        return []
    return [invalid("spec.template", template, IMMUTABLE)]


def _without_directives(template: Object) -> Object:
    """Return a template without the fields that may change on a job that has not started."""
    meta, pod = (_without(template.get(key), *_CHANGEABLE[key]) for key in ("metadata", "spec"))
    return {"metadata": meta, "spec": pod, "affinity": _without(pod.pop("affinity", None), "nodeAffinity")}


def _without(part: Object | None, *keys: str) -> Object:
    return {key: value for key, value in (part or {}).items() if key not in keys}


def validate_job_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate that each pod that is yet to be counted is named once."""
    uncounted = (new.get("status") or {}).get("uncountedTerminatedPods") or {}
    seen: set[str] = set()
    causes: list[Cause] = []
    for key in ("succeeded", "failed"):
        causes += _repeated(f"status.uncountedTerminatedPods.{key}", uncounted.get(key) or (), seen)
    return causes


def _repeated(field: str, uids: Sequence[str], seen: set[str]) -> list[Cause]:
    causes: list[Cause] = []
    for index, uid in enumerate(uids):
        if not uid:
            causes.append(invalid(f"{field}[{index}]", uid, "must not be empty"))
        elif uid in seen:
            causes.append(duplicate(f"{field}[{index}]", uid))
        seen.add(uid)
        if len(causes) > MAX_CAUSES:
            break
    return causes
