"""Treatment of nulls, absent values and undeclared keys: what the keywords of shape ask for (reference CRD-15).

`shape.py` applies these decisions to values, and `shape_code.py` writes them into functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final, Literal

from orchtw.schema.custom.extensions import Extensions, Schema


class Null(Enum):
    """Treatment of a null."""

    STAYS = auto()
    """Null that is kept as a value."""
    GOES = auto()
    """Null that is dropped, as if nothing had been sent."""
    DEFAULT = auto()
    """A default takes its place; while defaults are not filled in, it goes."""
    WAITS = auto()
    """A default takes its place; until defaults are filled in, it stays."""
    UNFIT = auto()
    """Null as a value of a wrong type."""


class Unknown(Enum):
    """Treatment of a value under a key that the schema does not declare."""

    SHAPED = auto()
    """Undeclared key whose values have a schema."""
    BARE = auto()
    """Undeclared key that stays without any known fields: an object loses its members."""
    STAYS = auto()
    """Undeclared key that stays as it is."""
    PRUNED = auto()
    """Undeclared key that is dropped, and reported to a strict reader."""


_NULLS: Final[Mapping[str, tuple[Null, Null]]] = {
    "member": (Null.GOES, Null.DEFAULT),
    "value": (Null.GOES, Null.WAITS),
    "item": (Null.UNFIT, Null.WAITS),
}
"""Treatment of nulls that are not allowed, by their place: without a default and with one."""


def null_in(place: Literal["member", "value", "item"], schema: Schema) -> Null:
    """Return the treatment of a null: of a declared member, of a value under an undeclared key, of a list's item."""
    return Null.STAYS if schema.get("nullable") else _NULLS[place][has_default(schema)]


def has_default(schema: Schema) -> bool:
    """Report whether a default is filled in for what is absent."""
    return "default" in schema


def keeps_unknown(schema: Schema | None, keys: Extensions) -> bool:
    """Report whether an object or list keeps what its schema does not declare."""
    return schema is not None and bool(schema.get(keys.preserve))


def unknown_key(schema: Schema, keys: Extensions, *, keeps: bool = False) -> Unknown:
    """Return the treatment of undeclared keys of an object; `keeps`: what holds it keeps unknown fields."""
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        return Unknown.SHAPED
    if more is not None:
        return Unknown.BARE
    return Unknown.STAYS if keeps or keeps_unknown(schema, keys) else Unknown.PRUNED


def list_item(schema: Schema | None, keys: Extensions, *, keeps: bool = False) -> Unknown:
    """Return the treatment of a list's items; `keeps`: what holds it keeps unknown fields."""
    if schema is not None and isinstance(schema.get("items"), dict):
        return Unknown.SHAPED
    return Unknown.STAYS if keeps or keeps_unknown(schema, keys) else Unknown.BARE
