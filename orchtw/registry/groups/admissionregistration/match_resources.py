"""Requests that policies and bindings match, and the parameters that they use (reference POLICY-3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchtw.errors import Cause
from orchtw.values.causes import duplicate, forbidden, invalid, not_supported, required
from orchtw.values.names import dns_1035_label, dns_subdomain, path_segment

_ACTIONS: Final = ("Allow", "Deny")
_EXCLUSIVE: Final = "name and selector are mutually exclusive"


def match_causes(match: Mapping[str, Any], path: str) -> list[Cause]:
    """Validate the names of resources; declared rules hold for the rest."""
    causes = []
    for key in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(key) or ()):
            seen: set[str] = set()
            for place, name in enumerate(rule.get("resourceNames") or ()):
                at = f"{path}.{key}[{index}].resourceNames[{place}]"
                causes += [invalid(at, name, text) for text in path_segment(name)]
                if name in seen:
                    causes.append(duplicate(at, name))
                seen.add(name)
    return causes


def param_kind_causes(kind: Mapping[str, Any], path: str) -> list[Cause]:
    """Validate the kind of parameters."""
    return [
        *_version_causes(kind.get("apiVersion") or "", f"{path}.apiVersion"),
        *_kind_causes(kind.get("kind") or "", f"{path}.kind"),
    ]


def _version_causes(api_version: str, path: str) -> list[Cause]:
    if not api_version:
        return [required(path)]
    if api_version.count("/") > 1:
        return [invalid(path, api_version, f"unexpected GroupVersion string: {api_version}")]
    group, _, version = api_version.rpartition("/")
    causes = []
    if group and (texts := dns_subdomain(group)):
        causes.append(invalid(path, group, ",".join(texts)))
    if not version:
        causes.append(invalid(path, api_version, "version must be specified"))
    elif texts := dns_1035_label(version):
        causes.append(invalid(path, version, ",".join(texts)))
    return causes


def _kind_causes(kind: str, path: str) -> list[Cause]:
    if not kind:
        return [required(path)]
    if texts := dns_1035_label(kind.lower()):
        return [invalid(path, kind, f"may have mixed case, but should otherwise match: {','.join(texts)}")]
    return []


def param_ref_causes(reference: Mapping[str, Any], path: str) -> list[Cause]:
    """Validate that parameters are chosen by name or by selector."""
    name, selector = reference.get("name") or "", reference.get("selector")
    causes = [invalid(f"{path}.name", name, text) for text in path_segment(name)] if name else []
    if name and selector is not None:
        causes += [forbidden(f"{path}.name", _EXCLUSIVE), forbidden(f"{path}.selector", _EXCLUSIVE)]
    if not name and selector is None:
        causes.append(required(path, "one of name or selector must be specified"))
    action = reference.get("parameterNotFoundAction")
    if not action:
        causes.append(required(f"{path}.parameterNotFoundAction"))
    elif action not in _ACTIONS:
        causes.append(not_supported(f"{path}.parameterNotFoundAction", action, _ACTIONS))
    return causes
