"""Group, scope and names of a custom resource, and approval of protected groups (reference CRD-1, CRD-2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions.conditions import APPROVAL, Finding
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values.causes import go_quote, invalid, not_supported, required
from orchtw.values.names import dns_1035_label, dns_subdomain
from orchtw.wire.objects import Object

_SCOPES: Final = ("Cluster", "Namespaced")
_REQUIRED: Final = ("plural", "singular", "kind", "listKind")
_API_GROUP: Final = "orch.io"
_APPROVAL: Final = "api-approved.orch.io"
_ADDRESS: Final = "https://github.com/kubernetes/enhancements/pull/1111"
_FORM: Final = ' with either a URL or a reason starting with "unapproved"'
_MIXED: Final = "may have mixed case, but should otherwise match: "


def spec_name_causes(spec: Mapping[str, Any]) -> list[Cause]:
    """Return the causes that reject group, scope and names of a definition."""
    causes = []
    group = spec.get("group", "")
    if not group:
        causes.append(required("spec.group"))
    elif errors := dns_subdomain(group):
        causes.append(invalid("spec.group", group, ",".join(errors)))
    elif "." not in group:
        causes.append(invalid("spec.group", group, "should be a domain with at least one dot"))
    if not (scope := spec.get("scope")):
        causes.append(required("spec.scope"))
    elif scope not in _SCOPES:
        causes.append(not_supported("spec.scope", scope, _SCOPES))
    names = spec.get("names") or {}
    causes += [required(f"spec.names.{key}") for key in _REQUIRED if not names.get(key)]
    return causes + names_causes(names, "spec.names")


def names_causes(names: Mapping[str, Any], field: str) -> list[Cause]:
    """Return the causes that reject the form of the given names."""
    causes = []
    for key, lower, head in (
        ("plural", False, ""),
        ("singular", False, ""),
        ("kind", True, _MIXED),
        ("listKind", True, _MIXED),
    ):
        name = names.get(key)
        if name and (errors := dns_1035_label(name.lower() if lower else name)):
            causes.append(invalid(f"{field}.{key}", name, head + ",".join(errors)))
    if (kind := names.get("kind")) and kind == names.get("listKind"):
        causes.append(invalid(f"{field}.listKind", kind, "kind and listKind may not be the same"))
    for key in ("shortNames", "categories"):
        for index, name in enumerate(names.get(key) or ()):
            if len(causes) > MAX_CAUSES:
                break
            if errors := dns_1035_label(name):
                causes.append(invalid(f"{field}.{key}[{index}]", name, ",".join(errors)))
    return causes


def own_name_causes(definition: Object) -> list[Cause]:
    """Return the cause if a definition is not named after the resource that it adds."""
    name, spec = definition["metadata"].get("name", ""), definition.get("spec") or {}
    if name == f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}":
        return []
    return [invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]


def fixed_name_causes(spec: Mapping[str, Any], old: Mapping[str, Any], *, established: bool) -> list[Cause]:
    """Return the causes for fields that an update may not change, some only once established (reference CRD-6)."""
    names, before = spec.get("names") or {}, old.get("names") or {}
    compared = [("spec.group", spec.get("group", ""), old.get("group", ""))]
    compared.append(("spec.names.plural", names.get("plural", ""), before.get("plural", "")))
    if established:
        compared.append(("spec.scope", spec.get("scope", ""), old.get("scope", "")))
        compared.append(("spec.names.kind", names.get("kind", ""), before.get("kind", "")))
    return [invalid(field, now, IMMUTABLE) for field, now, then in compared if now != then]


def approval_finding(group: str, annotations: Mapping[str, str], naming: Naming) -> Finding | None:
    """Return the approval condition of a definition in a protected group, or None."""
    if not _is_protected(group, naming):
        return None
    key, condition = naming.translate(_APPROVAL), naming.translate(APPROVAL)
    approval = annotations.get(key, "")
    if approval.startswith("unapproved"):
        return Finding(condition, False, "UnapprovedAnnotation", f"not approved: {go_quote(approval)}")
    state = _approval_state(approval)
    if state == "missing":
        return Finding(condition, False, "MissingAnnotation", _wanted(key))
    if state == "invalid":
        return Finding(condition, False, "InvalidAnnotation", _wanted(key, _FORM))
    return Finding(condition, True, "ApprovedAnnotation", f"approved in {approval}")


def approval_causes(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Return the causes for a missing approval in a protected group, unless it was the same before."""
    group = (new.get("spec") or {}).get("group", "")
    if not _is_protected(group, naming):
        return []
    key = naming.translate(_APPROVAL)
    approval = _approval(new, key)
    state = _approval_state(approval)
    if state == "fine" or (old is not None and state == _approval_state(_approval(old, key))):
        return []
    field = f"metadata.annotations[{key}]"
    return [required(field, _wanted(key))] if state == "missing" else [invalid(field, approval, _wanted(key, _FORM))]


def _wanted(key: str, form: str = "") -> str:
    """Return the text that asks for the annotation and cites the rule."""
    return f"protected groups must have approval annotation {go_quote(key)}{form}, see {_ADDRESS}"


def _is_protected(group: str, naming: Naming) -> bool:
    domains = (naming.group(_API_GROUP), naming.translate(f"{_API_GROUP}/x").partition("/")[0])
    return group in domains or group.endswith(tuple(f".{domain}" for domain in domains))


def _approval(definition: Object, key: str) -> str:
    found: str = (definition["metadata"].get("annotations") or {}).get(key, "")
    return found


def _approval_state(approval: str) -> str:
    if not approval:
        return "missing"
    if approval.startswith("unapproved"):
        return "fine"
    try:
        parts = urlsplit(approval)
    except ValueError:
        return "invalid"
    return "fine" if parts.scheme and parts.netloc else "invalid"
