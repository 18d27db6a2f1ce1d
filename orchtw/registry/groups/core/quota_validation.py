"""Validation of quotas: resources, amounts and scopes (reference KIND-34)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.quota.scopes import VOLUME_ATTRIBUTES
from orchtw.registry.groups.core.resource_lists import check_amounts
from orchtw.rules.resource_names import is_quota_resource, quota_resource_name
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values.causes import invalid, required
from orchtw.values.go_literals import as_text, listed, shown, struct
from orchtw.wire.objects import Object

_SHOWN_SCOPES = listed("core.ResourceQuotaScope")
_REQUIREMENT_KIND = "core.ScopedResourceSelectorRequirement"
_SHOWN_SELECTOR = struct(
    "core.ScopeSelector",
    MatchExpressions=("matchExpressions", listed(_REQUIREMENT_KIND, struct(
        _REQUIREMENT_KIND,
        ScopeName=("scopeName", as_text), Operator=("operator", as_text), Values=("values", listed("string")),
    ))),
)  # fmt: skip

Scopes = Mapping[str, frozenset[str]]

_COUNT: Final = frozenset({"pods"})
_OF_PODS: Final = _COUNT | {
    f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory")
}
_PRIORITY_CLASS: Final = "PriorityClass"
_NAMED: Final = (_PRIORITY_CLASS, VOLUME_ATTRIBUTES)
_SCOPES: Final = {
    "Terminating": _OF_PODS,
    "NotTerminating": _OF_PODS,
    "BestEffort": _COUNT,
    "NotBestEffort": _OF_PODS,
    _PRIORITY_CLASS: _OF_PODS,
    "CrossNamespacePodAffinity": _OF_PODS,
    VOLUME_ATTRIBUTES: frozenset({"persistentvolumeclaims", "requests.storage"}),
}
"""Standard resources that each scope can limit."""

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


def validate_quota(
    new: Object, old: Object | None, naming: Naming, unknown: Collection[str] = frozenset()
) -> list[Cause]:
    """Validate names and amounts, and scopes that fit them and do not change; `unknown` scopes are not supported."""
    spec = new["spec"]
    causes = check_amounts("spec.hard", spec.get("hard") or {}, naming, quota_resource_name)
    scopes = spec.get("scopes") or []
    known = {name: fit for name, fit in _SCOPES.items() if name not in unknown}
    causes += _check_scopes(spec, scopes, known)
    if selector := spec.get("scopeSelector"):
        causes += _check_selector(spec, selector, known)
    if old is not None and set(scopes) != set(old["spec"].get("scopes") or ()):
        causes.append(invalid("spec.scopes", shown(_SHOWN_SCOPES, scopes), IMMUTABLE))
    return causes


def validate_quota_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate names and amounts in `hard` and `used`."""
    causes: list[Cause] = []
    for name in ("hard", "used"):
        causes += check_amounts(f"status.{name}", new["status"].get(name) or {}, naming, quota_resource_name)
    return causes


def _check_scopes(spec: Object, scopes: list[str], known: Scopes) -> list[Cause]:
    """Return the causes for scopes; each shows the whole list, so that each text comes once."""
    found = set(scopes)
    texts = [] if found <= known.keys() else ["unsupported scope"]
    if found & _misfits(spec, known):
        texts.append("unsupported scope applied to resource")
    value = shown(_SHOWN_SCOPES, scopes)
    return [invalid("spec.scopes", value, why) for why in texts] + _conflicts("spec.scopes", scopes, scopes)


def _check_selector(spec: Object, selector: Object, known: Scopes) -> list[Cause]:
    path = "spec.scopeSelector.matchExpressions"
    terms = selector.get("matchExpressions") or []
    causes: list[Cause] = []
    for term in terms:
        scope, operator, values = term.get("scopeName", ""), term.get("operator", ""), term.get("values") or []
        if scope not in known:
            causes.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
        elif scope not in _NAMED and operator != "Exists":
            causes.append(invalid(f"{path}.operator", operator, _ONLY_EXISTS))
        if operator in _WITH_VALUES:
            causes += [] if values else [required(f"{path}.values", _SOME_VALUE)]
        elif operator in _WITHOUT_VALUES:
            causes += [invalid(f"{path}.values", values, _NO_VALUE)] if values else []
        else:
            causes.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
        if len(causes) > MAX_CAUSES:
            break
    scopes = {term.get("scopeName", "") for term in terms}
    if scopes & _misfits(spec, known):
        causes.append(invalid(path, shown(_SHOWN_SELECTOR, selector), "unsupported scope applied to resource"))
    return causes + _conflicts(path, scopes, spec.get("scopes") or [])


def _misfits(spec: Object, known: Scopes) -> set[str]:
    """Return the scopes that cannot limit all the standard resources of a quota."""
    standard = {name for name in spec.get("hard") or () if is_quota_resource(name)}
    return {scope for scope, fit in known.items() if not standard <= fit}


def _conflicts(path: str, scopes: Iterable[str], given: list[str]) -> list[Cause]:
    found = set(scopes)
    value = shown(_SHOWN_SCOPES, given)
    return [invalid(path, value, "conflicting scopes") for pair in _CONFLICTING if found.issuperset(pair)]
