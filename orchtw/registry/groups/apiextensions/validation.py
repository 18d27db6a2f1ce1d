"""Validation of definitions (reference CRD-1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchtw.config.releases import FIRST, LAST, Release
from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions.conversion import conversion_causes
from orchtw.registry.groups.apiextensions.names import (
    approval_causes,
    fixed_name_causes,
    names_causes,
    own_name_causes,
    spec_name_causes,
)
from orchtw.registry.groups.apiextensions.selectable_fields import selectable_causes
from orchtw.registry.groups.apiextensions.versions import stored_version_causes, version_causes
from orchtw.values.causes import invalid
from orchtw.wire.objects import Object


def validate_definition(
    new: Object, old: Object | None, naming: Naming, release: Release = LAST
) -> list[Cause]:
    """Return the causes that reject a definition, or its change from the old one; `release`: that of expressions."""
    from orchtw.registry.groups.apiextensions.schemas import schema_causes  # time that the start is spared

    spec: Mapping[str, Any] = new.get("spec") or {}
    before: Mapping[str, Any] | None = None if old is None else old.get("spec") or {}
    causes = own_name_causes(new) if old is None else []
    causes += approval_causes(new, old, naming)
    causes += spec_name_causes(spec)
    causes += version_causes(spec.get("versions") or [])
    causes += schema_causes(spec, before, naming, release)
    causes += selectable_causes(spec.get("versions") or (), (before or {}).get("versions") or ())
    if old is not None and before is not None:
        causes += fixed_name_causes(spec, before, established=_is_established(old))
    preserving = bool(spec.get("preserveUnknownFields"))
    if preserving and not (before or {}).get("preserveUnknownFields"):
        prefix = naming.extension_prefix if release > FIRST else "x-"  # release 1.24 leaves the vendor out
        why = f"cannot set to true, set {prefix}preserve-unknown-fields to true in spec.versions[*].schema instead"
        causes.append(invalid("spec.preserveUnknownFields", True, why))
    old_conversion = None if before is None else before.get("conversion")
    causes += conversion_causes(spec.get("conversion"), old_conversion, preserving, "spec.conversion")
    status = new.get("status") or {}
    causes += stored_version_causes(status.get("storedVersions") or [], spec.get("versions") or [])
    return causes + names_causes(status.get("acceptedNames") or {}, "status.acceptedNames")


def validate_definition_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate the form of the accepted names."""
    return names_causes((new.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames")


def _is_established(definition: Object) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions)
