"""Quotas: what can be limited, and the scopes that say what counts (reference KIND-34)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming import Naming
from orchtw.objects import Object
from orchtw.registry.groups.core.resource_lists import check_amounts
from orchtw.rules.causes import invalid, required
from orchtw.rules.resource_names import is_quota_resource, quota_resource_name
from orchtw.schema.validation.problems import IMMUTABLE

_COUNT: Final = frozenset({"pods"})
_OF_PODS: Final = _COUNT | {
    f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory")
}
_PRIORITY_CLASS: Final = "PriorityClass"
_SCOPES: Final = {
    "Terminating": _OF_PODS,
    "NotTerminating": _OF_PODS,
    "BestEffort": _COUNT,
    "NotBestEffort": _OF_PODS,
    _PRIORITY_CLASS: _OF_PODS,
    "CrossNamespacePodAffinity": _OF_PODS,
}
"""The standard resources that each scope can limit."""

_CONFLICTING: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")
_ONLY_EXISTS: Final = (
    "must be 'Exist' only operator when scope is any of ResourceQuotaScopeTerminating, "
    "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
    "ResourceQuotaScopeCrossNamespacePodAffinity"
)
_SOME_VALUE: Final = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
_NO_VALUE: Final = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"


def validate_quota(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Names and amounts, and scopes that fit them; the scopes do not change."""
    spec = new["spec"]
    causes = check_amounts("spec.hard", spec.get("hard") or {}, naming, quota_resource_name)
    scopes = spec.get("scopes") or []
    causes += _check_scopes(spec, scopes)
    if selector := spec.get("scopeSelector"):
        causes += _check_selector(spec, selector)
    if old is not None and set(scopes) != set(old["spec"].get("scopes") or ()):
        causes.append(invalid("spec.scopes", scopes, IMMUTABLE))
    return causes


def validate_quota_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Names and amounts of what is limited and used."""
    causes: list[Cause] = []
    for name in ("hard", "used"):
        causes += check_amounts(f"status.{name}", new["status"].get(name) or {}, naming, quota_resource_name)
    return causes


def _check_scopes(spec: Object, scopes: list[str]) -> list[Cause]:
    path = "spec.scopes"
    causes = []
    misfits = _misfits(spec)
    for scope in dict.fromkeys(scopes):
        if scope not in _SCOPES:
            causes.append(invalid(path, scopes, "unsupported scope"))
        if scope in misfits:
            causes.append(invalid(path, scopes, "unsupported scope applied to resource"))
    return causes[:MAX_CAUSES] + _conflicts(path, scopes, scopes)


def _check_selector(spec: Object, selector: Object) -> list[Cause]:
    path = "spec.scopeSelector.matchExpressions"
    terms = selector.get("matchExpressions") or []
    misfits = _misfits(spec)
    causes: list[Cause] = []
    for term in terms:
        scope, operator, values = term.get("scopeName", ""), term.get("operator", ""), term.get("values") or []
        if scope not in _SCOPES:
            causes.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
        elif scope != _PRIORITY_CLASS and operator != "Exists":
            causes.append(invalid(f"{path}.operator", operator, _ONLY_EXISTS))
        if scope in misfits:
            causes.append(invalid(path, selector, "unsupported scope applied to resource"))
        if operator in _WITH_VALUES:
            causes += [] if values else [required(f"{path}.values", _SOME_VALUE)]
        elif operator in _WITHOUT_VALUES:
            causes += [invalid(f"{path}.values", values, _NO_VALUE)] if values else []
        else:
            causes.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
        if len(causes) > MAX_CAUSES:
            break
    return causes + _conflicts(path, [term.get("scopeName", "") for term in terms], spec.get("scopes") or [])


def _misfits(spec: Object) -> set[str]:
    """The scopes that cannot limit all the standard resources of a quota."""
    standard = {name for name in spec.get("hard") or () if is_quota_resource(name)}
    return {scope for scope, fit in _SCOPES.items() if not standard <= fit}


def _conflicts(path: str, scopes: Iterable[str], shown: list[str]) -> list[Cause]:
    found = set(scopes)
    return [invalid(path, shown, "conflicting scopes") for pair in _CONFLICTING if found.issuperset(pair)]
