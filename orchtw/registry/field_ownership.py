"""Field managers of every resource, version and sub-resource (reference APPLY-1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchtw.apply.field_manager import FieldManager
from orchtw.apply.field_set import FieldSet
from orchtw.apply.merge_type import MapType, Types
from orchtw.apply.repeated_applies import RepeatedApplies
from orchtw.naming.naming import Naming
from orchtw.registry.target import Target
from orchtw.registry.targets import Targets
from orchtw.schema.codec.body import fit_value
from orchtw.schema.codec.strict_fields import IGNORE
from orchtw.wire.objects import Object


class FieldOwnership:
    """Field managers, made on first use and kept with their targets."""

    def __init__(self, targets: Targets, naming: Naming) -> None:
        self._targets = targets
        self._naming = naming
        self._types = Types()

    def of(self, target: Target, subresource: str) -> FieldManager:
        """Return the field manager of an endpoint."""
        found: FieldManager | None = target.kept.get((FieldOwnership, subresource))
        if found is None:
            found = target.kept[FieldOwnership, subresource] = self._make(target, subresource)
        return found

    def _make(self, target: Target, subresource: str) -> FieldManager:
        types = self._types if target.codec.protobuf else Types()  # what is added may go again
        versions = ServedVersions(self._targets.versions_of(target), types)
        ignored = self._ignored(target, subresource)
        codec = target.codec

        def finish(obj: Object, live: Object) -> Object:
            canonical: Object = fit_value(codec, obj, IGNORE, live=live)[0]
            target.complete(canonical)
            return canonical

        return FieldManager(
            versions,
            target.resource.api_version,
            target.resource.kind,
            self._naming,
            empty=codec.normalise({}),
            finish=finish,
            subresource=subresource,
            reset_fields=dict.fromkeys(versions.api_versions, ignored) if ignored else None,
            # The versions of a custom kind, and what a webhook makes of them, may change without a new revision.
            repeated=RepeatedApplies() if target.codec.protobuf else None,
        )

    @staticmethod
    def _ignored(target: Target, subresource: str) -> FieldSet | None:
        """Return the fields that a write through this endpoint cannot change, and so never owns."""
        paths = target.strategy.subresource_ignores(subresource)
        return FieldSet.named(*paths) if paths else None


class ServedVersions:
    """Served versions of one stored kind, for owners that wrote through another one."""

    def __init__(self, targets: Mapping[str, Target], types: Types) -> None:
        self._targets = targets
        self._types = types
        self.api_versions = tuple(targets)

    def type_of(self, api_version: str) -> MapType | None:
        """Return the type of objects in a version, or None if it is not served."""
        target = self._targets.get(api_version)
        return None if target is None else self._types.root(target.codec.schema)

    def convert(self, obj: dict[str, Any], source: str, wanted: str) -> dict[str, Any]:
        """Return a new object in another version. Raises BadRequest (400) if it no longer fits its own.

        Objects come half merged: fields may be missing that every canonical object has and that conversions read.
        """
        given = self._targets[source]
        return given.convert(given.codec.normalise(obj), self._targets[wanted])
