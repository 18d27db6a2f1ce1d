"""Definition as its controller sees it: the compared fields, without the schemas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from orchtw.registry.groups.apiextensions.conditions import ESTABLISHED, NAMES_ACCEPTED, Condition, holds
from orchtw.wire.objects import Object

Names = Mapping[str, Any]
"""plural, singular, shortNames, kind, listKind and categories, as far as set."""


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """One state of a definition. `names` are those it asks for, `accepted` those it has."""

    name: str
    uid: str
    generation: int
    group: str
    names: Names
    accepted: Names
    conditions: Sequence[Condition]
    annotations: Mapping[str, str]
    finalizers: Sequence[str]
    terminating: bool

    @classmethod
    def of(cls, obj: Object) -> Definition:
        """Return the state of a definition in version v1."""
        meta, spec, status = obj["metadata"], obj["spec"], obj.get("status") or {}
        return cls(
            name=meta["name"],
            uid=meta["uid"],
            generation=meta.get("generation", 0),
            group=spec["group"],
            names=spec["names"],
            accepted={key: value for key, value in (status.get("acceptedNames") or {}).items() if value},
            conditions=tuple(status.get("conditions") or ()),
            annotations=meta.get("annotations") or {},
            finalizers=tuple(meta.get("finalizers") or ()),
            terminating=bool(meta.get("deletionTimestamp")),
        )

    @property
    def established(self) -> bool:
        """Report whether condition Established is True."""
        return holds(self.conditions, ESTABLISHED)

    @property
    def served(self) -> bool:
        """Report whether to serve it: once its names are accepted, so that every server does before one says so."""
        return self.established or holds(self.conditions, NAMES_ACCEPTED)
