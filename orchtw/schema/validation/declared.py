"""Conversion of the rules that `protos/` declare to those of schema nodes."""

from __future__ import annotations

from orchtw.naming.naming import Naming
from orchtw.schema import declarations
from orchtw.schema.nodes import EnumSchema, OneOf, StructRules

_AS_DECLARED = ("required", "required_detail", "immutable", "unique", "unique_by", "format", "detail")
_LIMITS = ("minimum", "maximum", "max_length", "min_items", "max_items")


def declared_rules(options: declarations.Rules, enum: EnumSchema | None) -> StructRules:
    """Return the rules of nodes for declared ones; `enum` is the field's, in the served vocabulary."""
    limits = {name: limit for name in _LIMITS if (limit := getattr(options, name)) is not None}
    return StructRules(
        **{name: getattr(options, name) for name in _AS_DECLARED},
        **limits,
        allowed=enum.values if enum is not None and options.closed else (),
        key=None if options.key is None else declared_rules(options.key, None),
        item=None if options.item is None else declared_rules(options.item, enum),
    )


def declared_one_of(options: declarations.OneOf, naming: Naming) -> OneOf:
    """Return the fields that exclude each other, with their keys in the served vocabulary."""
    return OneOf(tuple(map(naming.translate, options.field)), options.too_many, options.missing)
