"""Versions of a custom resource, and those that its objects were stored in (reference CRD-3, CRD-6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.registry.groups.apiextensions.columns import column_causes, subresource_causes
from orchtw.values import utf8
from orchtw.values.causes import invalid
from orchtw.values.names import dns_1035_label

_LONGEST_WARNING: Final = 256
_PRINTABLE: Final = "must only contain printable UTF-8 characters; "

Version = Mapping[str, Any]


def version_causes(versions: Sequence[Version]) -> list[Cause]:
    """Return the causes that reject spec.versions, except for the schemas."""
    field = "spec.versions"
    causes: list[Cause] = []
    names = [version.get("name", "") for version in versions]
    if len(set(names)) < len(names):
        causes.append(invalid(field, versions, "must contain unique version names"))
    if sum(1 for version in versions if version.get("storage")) != 1:
        causes.append(invalid(field, versions, "must have exactly one version marked as storage version"))
    for index, version in enumerate(versions):
        if len(causes) > MAX_CAUSES:
            break
        causes += _version(version, f"{field}[{index}]")
    return causes


def _version(version: Version, field: str) -> list[Cause]:
    causes = []
    if errors := dns_1035_label(version.get("name", "")):
        causes.append(invalid(f"{field}.name", version.get("name", ""), ",".join(errors)))
    warning = version.get("deprecationWarning")
    if warning is not None:
        place = f"{field}.deprecationWarning"
        causes += [invalid(place, warning, text) for text in _warning(bool(version.get("deprecated")), warning)]
    causes += subresource_causes(version.get("subresources") or {}, f"{field}.subresources")
    return causes + column_causes(version.get("additionalPrinterColumns") or [], f"{field}.additionalPrinterColumns")


def _warning(deprecated: bool, warning: str) -> list[str]:
    if not deprecated:
        return ["can only be set for deprecated versions"]
    errors = []
    if utf8.size(warning) > _LONGEST_WARNING:
        errors.append(f"must be <= {_LONGEST_WARNING} characters long")
    if not warning:
        errors.append("must not be an empty string")
    if not warning.isprintable():
        place = next(index for index, char in enumerate(warning) if not char.isprintable())
        found = utf8.size(warning[:place])
        errors.append(f"{_PRINTABLE}non-printable character found at index {found}")
    return errors


def stored_version_causes(stored: Sequence[str], versions: Sequence[Version]) -> list[Cause]:
    """Return the causes that reject status.storedVersions: it needs the storage version, and only known versions."""
    field = "status.storedVersions"
    if not stored:
        return [invalid(field, [], "must have at least one stored version")]
    known, present = set(stored), {version.get("name", "") for version in versions}
    causes = [
        invalid(field, version, f"must have the storage version {version.get('name', '')}")
        for version in versions[:MAX_CAUSES]
        if version.get("storage") and version.get("name", "") not in known
    ]
    for index, name in enumerate(stored):
        if len(causes) > MAX_CAUSES:
            break
        if name not in present:
            causes.append(invalid(f"{field}[{index}]", name, "must appear in spec.versions"))
    return causes
