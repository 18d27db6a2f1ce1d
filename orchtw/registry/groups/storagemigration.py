"""Kinds of group storagemigration: orders to write objects again."""

from __future__ import annotations

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values.causes import invalid, required
from orchtw.values.names import dns_label, dns_subdomain
from orchtw.wire.objects import Object


def validate_migration(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate the resource whose objects are written again; it stays (reference KIND-102)."""
    found = (new.get("spec") or {}).get("resource") or {}
    if old is not None and found != ((old.get("spec") or {}).get("resource") or {}):
        return [invalid("spec.resource", found, IMMUTABLE)]
    group, name, causes = found.get("group", ""), found.get("resource", ""), []
    if group:
        causes += [invalid("spec.resource.group", group, text) for text in dns_subdomain(group)]
    if not name:
        return [*causes, required("spec.resource.resource")]
    return causes + [invalid("spec.resource.resource", name, text) for text in dns_label(name)]


STORAGE_VERSION_MIGRATION = KindRecord(
    group="storagemigration.orch.io",
    kind="StorageVersionMigration",
    validate=validate_migration,
)

KINDS = (STORAGE_VERSION_MIGRATION,)
