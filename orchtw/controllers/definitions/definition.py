"""A definition as its controllers see it: what is kept of each, and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from orchtw.objects import Object
from orchtw.registry.groups.apiextensions.conditions import ESTABLISHED, Condition, holds

Names = Mapping[str, Any]
"""plural, singular, shortNames, kind, listKind and categories, as far as they are there."""


@attrs.frozen(slots=True, kw_only=True)
class Definition:
    """One state of a definition, without its schemas. `names` are those it asks for, `accepted` those it has."""

    name: str
    uid: str
    generation: int
    group: str
    names: Names
    accepted: Names
    conditions: Sequence[Condition]
    finalizers: Sequence[str]
    terminating: bool

    @classmethod
    def of(cls, obj: Object) -> Definition:
        """The state that a definition in version v1 is in."""
        meta, spec, status = obj["metadata"], obj["spec"], obj.get("status") or {}
        return cls(
            name=meta["name"],
            uid=meta["uid"],
            generation=meta.get("generation", 0),
            group=spec["group"],
            names=spec["names"],
            accepted=status.get("acceptedNames") or {},
            conditions=status.get("conditions") or (),
            finalizers=tuple(meta.get("finalizers") or ()),
            terminating=bool(meta.get("deletionTimestamp")),
        )

    @property
    def established(self) -> bool:
        """Whether it is to be served."""
        return holds(self.conditions, ESTABLISHED)
