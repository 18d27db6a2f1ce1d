"""Quota scopes, which select the pods or claims that a quota counts (reference PLUG-25)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from orchtw.wire.objects import Object

EXISTS: Final = "Exists"
VOLUME_ATTRIBUTES: Final = "VolumeAttributesClass"
_COMPUTE: Final = ("cpu", "memory")


class Traits(msgspec.Struct, frozen=True):
    """Traits of a pod that quota scopes select by."""

    terminating: bool
    best_effort: bool
    priority_class: str
    affine_elsewhere: bool


class ClaimTraits(msgspec.Struct, frozen=True):
    """Traits of a claim that quota scopes select by: the classes of volume attributes that it asks for or has."""

    classes: frozenset[str]


class Requirement(msgspec.Struct, frozen=True):
    """One term of a quota's scopes; pods can match it or, if it is about volume attributes, claims."""

    scope: str
    operator: str = EXISTS
    values: tuple[str, ...] = ()

    def matches(self, pod: Traits | ClaimTraits | None) -> bool:
        """Report whether a pod or claim matches the term; other objects (None) never do."""
        if pod is None:
            return False
        if isinstance(pod, ClaimTraits):
            return self.scope == VOLUME_ATTRIBUTES and any(map(self._matches_class, pod.classes or ("",)))
        if self.scope == "PriorityClass":
            return self._matches_class(pod.priority_class)
        if self.scope == "Terminating":
            return pod.terminating
        if self.scope == "NotTerminating":
            return not pod.terminating
        if self.scope == "BestEffort":
            return pod.best_effort
        if self.scope == "NotBestEffort":
            return not pod.best_effort
        return self.scope == "CrossNamespacePodAffinity" and pod.affine_elsewhere

    def _matches_class(self, name: str) -> bool:
        if self.operator == "In":
            return name in self.values and bool(name)
        if self.operator == "NotIn":
            return not name or name not in self.values
        return bool(name) if self.operator == EXISTS else self.operator == "DoesNotExist" and not name

    def __str__(self) -> str:
        return f"{{{self.scope} {self.operator} [{' '.join(self.values)}]}}"


def shown(requirements: Sequence[Requirement]) -> str:
    """Format requirements for error messages."""
    return f"[{' '.join(map(str, requirements))}]"


def requirements_of(spec: Object) -> tuple[Requirement, ...]:
    """Return all terms of a quota: those of `spec.scopes` and of `spec.scopeSelector`."""
    terms = (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return tuple(map(Requirement, spec.get("scopes") or ())) + tuple(map(requirement, terms))


def requirement(term: Object) -> Requirement:
    """Read one term of a scope selector."""
    return Requirement(term.get("scopeName", ""), term.get("operator", ""), tuple(term.get("values") or ()))


def traits(spec: Object) -> Traits:
    """Return the traits of a pod's spec."""
    return Traits(
        spec.get("activeDeadlineSeconds") is not None,
        _is_best_effort(spec),
        spec.get("priorityClassName") or "",
        any(term.get("namespaces") or "namespaceSelector" in term for term in _affinity_terms(spec)),
    )


def claim_traits(claim: Object) -> ClaimTraits:
    """Return the traits of a claim: a class counts while the volume still has it, and once it is on the way."""
    status = claim.get("status") or {}
    names = (
        claim["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return ClaimTraits(frozenset(name for name in names if name))


def _is_best_effort(spec: Object) -> bool:
    """Report whether neither the pod nor a container has a request or limit of cpu or memory."""
    whole = [spec] if spec.get("resources") is not None else []
    for holders in (whole, spec.get("containers"), spec.get("initContainers")):
        for container in holders or ():
            amounts = container.get("resources") or {}
            for resources in (amounts.get("requests"), amounts.get("limits")):
                if resources and any(resources.get(name, "0") != "0" for name in _COMPUTE):
                    return False
    return True


def _affinity_terms(spec: Object) -> Iterator[Object]:
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        of_kind = affinity.get(kind) or {}
        yield from of_kind.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for weighted in of_kind.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted.get("podAffinityTerm") or {}
