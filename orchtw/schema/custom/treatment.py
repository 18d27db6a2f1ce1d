"""Treatment of nulls, absent values and undeclared keys: what the keywords of shape ask for (reference CRD-15).

`shape.py` applies these decisions to values, and `shape_code.py` writes them into functions.
"""

from __future__ import annotations

from enum import Enum, auto

from orchtw.schema.custom.keywords import Extensions, Schema


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


def null_member(schema: Schema) -> Null:
    """Return the treatment of a null under a declared key."""
    if schema.get("nullable"):
        return Null.STAYS
    return Null.DEFAULT if has_default(schema) else Null.GOES


def null_value(schema: Schema) -> Null:
    """Return the treatment of a null under an undeclared key, with a schema for those."""
    if schema.get("nullable"):
        return Null.STAYS
    return Null.WAITS if has_default(schema) else Null.GOES


def null_item(schema: Schema) -> Null:
    """Return the treatment of a null in a list."""
    if schema.get("nullable"):
        return Null.STAYS
    return Null.WAITS if has_default(schema) else Null.UNFIT


def has_default(schema: Schema) -> bool:
    """Report whether a default is filled in for what is absent."""
    return "default" in schema


def keeps_unknown(schema: Schema, keys: Extensions) -> bool:
    """Report whether an object or list keeps what its schema does not declare."""
    return bool(schema.get(keys.preserve))


def unknown_key(schema: Schema, keys: Extensions) -> Unknown:
    """Return the treatment of undeclared keys of an object."""
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        return Unknown.SHAPED
    if more is not None:
        return Unknown.BARE
    return Unknown.STAYS if keeps_unknown(schema, keys) else Unknown.PRUNED


def list_item(schema: Schema, keys: Extensions) -> Unknown:
    """Return the treatment of a list's items."""
    if isinstance(schema.get("items"), dict):
        return Unknown.SHAPED
    return Unknown.STAYS if keeps_unknown(schema, keys) else Unknown.BARE
