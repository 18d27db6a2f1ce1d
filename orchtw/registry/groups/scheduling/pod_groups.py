"""Groups of pods that are scheduled together, and the workloads with their templates (reference KIND-103)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.values.causes import invalid, required
from orchtw.wire.objects import Object

_POLICIES: Final = ("basic", "gang")
_CLAIMS: Final = ("resourceClaimName", "resourceClaimTemplateName")


def validate_pod_group(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate the choices in a group of pods."""
    spec = new.get("spec") or {}
    causes = _group_causes(spec, "spec")
    reference = spec.get("podGroupTemplateRef")
    if reference is not None:
        causes += _choice_causes(reference, ("workload",), "spec.podGroupTemplateRef")
    return causes


def validate_workload(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate the choices in the templates of a workload."""
    templates = (new.get("spec") or {}).get("podGroupTemplates") or ()
    found = (_group_causes(each, f"spec.podGroupTemplates[{index}]") for index, each in enumerate(templates))
    return [cause for causes in found for cause in causes]


def _group_causes(group: Object, path: str) -> list[Cause]:
    causes = _choice_causes(group.get("schedulingPolicy") or {}, _POLICIES, f"{path}.schedulingPolicy")
    for index, claim in enumerate(group.get("resourceClaims") or ()):
        causes += _choice_causes(claim, _CLAIMS, f"{path}.resourceClaims[{index}]")
    return causes


def _choice_causes(holder: Object, keys: Sequence[str], path: str) -> list[Cause]:
    """Return the cause unless exactly one of the keys is set."""
    given = [key for key in keys if holder.get(key) is not None]
    names = ", ".join(f"`{key}`" for key in keys)
    if not given:
        return [required(path, f"must specify one of: {names}")]
    if len(given) == 1:
        return []
    return [invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {names}")]


POD_GROUP = KindRecord(
    group="scheduling.orch.io",
    kind="PodGroup",
    validate=validate_pod_group,
)
WORKLOAD = KindRecord(
    group="scheduling.orch.io",
    kind="Workload",
    validate=validate_workload,
)
