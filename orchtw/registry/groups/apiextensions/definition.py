"""Record of the kind of definitions: its defaults and write rules (reference CRD-6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from orchtw.config.releases import LAST, Release
from orchtw.errors import Cause
from orchtw.registry.emission_order import put
from orchtw.registry.groups.apiextensions.conditions import TERMINATING, Finding, with_condition
from orchtw.registry.groups.apiextensions.format_warnings import format_warnings
from orchtw.registry.groups.apiextensions.schema_nodes import Path, walk
from orchtw.registry.groups.apiextensions.validation import validate_definition, validate_definition_status
from orchtw.registry.kind import KindRecord
from orchtw.registry.metadata import ordered
from orchtw.registry.offload import INLINE_BYTES
from orchtw.registry.strategy import Strategy
from orchtw.registry.traits import SPEC
from orchtw.request import UserInfo
from orchtw.schema import cel
from orchtw.schema.custom import patterns
from orchtw.schema.custom.extensions import Schema, extensions
from orchtw.wire.objects import Object

CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.orch.io"
"""Finalizer that holds a definition until all of its objects are gone (reference CRD-25)."""

_PENDING = Finding(
    TERMINATING,
    True,
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)
_ANYWHERE = Path(None, "")
_INLINE_BYTES: Final = 4096
_WORK_OF_A_BYTE: Final = 8  # of a text of nothing but rules
_NAMES_TAIL = ("singular", "shortNames", "kind", "listKind", "categories")


def set_definition_defaults(definition: Object) -> None:
    """Fill in the names that follow from the kind, and status.storedVersions."""
    names = definition["spec"]["names"]
    kind = names["kind"]
    if kind:
        if "singular" not in names:
            put(names, "singular", kind.lower(), _NAMES_TAIL)
        if "listKind" not in names:
            put(names, "listKind", f"{kind}List", _NAMES_TAIL)
    set_stored_versions(definition)


def set_stored_versions(definition: Object) -> None:
    """Fill in status.storedVersions of a definition that was never stored."""
    if not definition["status"]["storedVersions"]:
        storing = [each["name"] for each in definition["spec"]["versions"] or () if each["storage"]]
        if storing:
            definition["status"]["storedVersions"] = storing[:1]


def add_stored_version(definition: Object) -> None:
    """Add the storage version to status.storedVersions; objects remain in the earlier ones."""
    status = definition.get("status") or {}
    stored = status.get("storedVersions") or []
    storing = next((each["name"] for each in definition["spec"]["versions"] or () if each["storage"]), None)
    if storing is not None and storing not in stored:
        definition["status"] = {**status, "storedVersions": [*stored, storing]}


class DefinitionStrategy(Strategy):
    """Write rules of definitions: status.storedVersions is kept from the beginning on.

    `expressions`: whether rules in the Common Expression Language are kept; they always are where some were before.
    `release`: the one whose language new expressions have, and whose formats are known.
    """

    expressions = True
    release = LAST

    def configure(self, gates: Mapping[str, bool]) -> None:
        self.expressions = gates["CustomResourceValidationExpressions"]

    def emulate(self, release: Release) -> None:
        self.release = release

    def validate_own(self, obj: Object, old: Object | None) -> list[Cause]:
        return validate_definition(obj, old, self.naming, self.release)

    def work_bytes(self, obj: Object, size_bytes: int) -> int:
        """Return the cost of a write in bytes: rules, patterns and schemas take milliseconds each."""
        if size_bytes > _INLINE_BYTES:
            return max(size_bytes, INLINE_BYTES + 1)
        text = orjson.dumps(obj["spec"])
        if patterns.are_heavy(text):
            return INLINE_BYTES + 1
        if extensions(self.naming).validations.encode() not in text:
            return size_bytes
        slow = not cel.are_loaded() or b"matches(" in text or b"find" in text
        return INLINE_BYTES + 1 if slow else size_bytes * _WORK_OF_A_BYTE

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        if not self.expressions:
            self._drop_expressions(obj)

    def reset_status(self, obj: Object) -> None:
        super().reset_status(obj)
        set_stored_versions(obj)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        if not self.expressions and not self._has_expressions(old):
            self._drop_expressions(new)
        super().prepare_for_update(new, old)
        add_stored_version(new)

    def prepare_for_status(self, new: Object, old: Object, now: str) -> Object:
        """Take finalizers from the new object too: the one that empties the collection goes with its last status."""
        prepared = super().prepare_for_status(new, old, now)
        prepared["metadata"] = meta = dict(prepared["metadata"])
        meta["finalizers"] = new["metadata"].get("finalizers") or []
        if not meta["finalizers"]:
            del meta["finalizers"]
        return prepared

    def holds_removal(self, obj: Object) -> bool:
        """Report whether a definition waits for its objects to be deleted; the finalizer takes over from there."""
        return not obj["metadata"].get("deletionTimestamp")

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        return [*super().warnings(obj, old), *format_warnings(obj, old, self.naming, self.release)]

    def begin_termination(self, obj: Object) -> None:
        meta, status = obj["metadata"], obj.get("status") or {}
        finalizers, own = list(meta.get("finalizers") or ()), self.naming.translate(CLEANUP_FINALIZER)
        if own not in finalizers:
            obj["metadata"] = ordered({**meta, "finalizers": [*finalizers, own]})
        conditions = with_condition(status.get("conditions") or (), _PENDING, meta["deletionTimestamp"])
        obj["status"] = {**status, "conditions": conditions}

    def _drop_expressions(self, definition: Object) -> None:
        for schema in self._schemas(definition):
            drop: Any = schema
            drop.pop(extensions(self.naming).validations, None)

    def _has_expressions(self, definition: Object) -> bool:
        key = extensions(self.naming).validations
        return any(schema.get(key) for schema in self._schemas(definition))

    def _schemas(self, definition: Object) -> Iterator[Schema]:
        """Yield every schema in the definition."""
        keys = extensions(self.naming)
        for version in definition["spec"]["versions"] or ():
            schema = (version.get("schema") or {}).get("openAPIV3Schema")
            for node in walk(schema, _ANYWHERE, keys) if schema is not None else ():
                yield node.schema


CUSTOM_RESOURCE_DEFINITION = KindRecord(
    group="apiextensions.orch.io",
    kind="CustomResourceDefinition",
    strategy=DefinitionStrategy,
    generation=SPEC,
    unconditional_update=False,
    status_ignores=("spec", "metadata"),
    free_finalizers=True,
    json_kept=True,
    set_defaults=set_definition_defaults,
    validate_status=validate_definition_status,
)
