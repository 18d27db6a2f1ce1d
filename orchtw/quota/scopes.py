"""Quota scopes, which select the pods that a quota counts (reference PLUG-25)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import attrs
import msgspec

from orchtw.wire.objects import Object

EXISTS: Final = "Exists"
_COMPUTE: Final = ("cpu", "memory")


@attrs.frozen(slots=True)
class Traits:
    """Traits of a pod that quota scopes select by."""

    terminating: bool
    best_effort: bool
    priority_class: str
    affine_elsewhere: bool


class Requirement(msgspec.Struct, frozen=True):
    """One term of a quota's scopes; only pods can match it."""

    scope: str
    operator: str = EXISTS
    values: tuple[str, ...] = ()

    def matches(self, pod: Traits | None) -> bool:
        """Report whether a pod matches the term; other objects (None) never do."""
        if pod is None:
            return False
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


def _is_best_effort(spec: Object) -> bool:
    """Report whether no container has a request or limit of cpu or memory."""
    for key in ("containers", "initContainers"):
        for container in spec.get(key) or ():
            for resources in (container.get("resources") or {}).values():
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
