"""Conversion of the rules that `protos/` declare to those of schema nodes."""

from __future__ import annotations

from typing import Any

from orchtw.naming.names import Naming
from orchtw.schema.nodes import EnumSchema, OneOf, StructRules

_AS_DECLARED = ("required", "required_detail", "immutable", "unique", "unique_by", "format", "detail")
_LIMITS = ("minimum", "maximum", "max_length", "min_items", "max_items")


def declared_rules(options: Any, enum: EnumSchema | None) -> StructRules:
    """Return the rules of an `orchtw.options.Rules`; `enum` is the field's, in the served vocabulary."""
    limits = {name: getattr(options, name) for name in _LIMITS if options.HasField(name)}
    return StructRules(
        **{name: getattr(options, name) for name in _AS_DECLARED},
        **limits,
        allowed=enum.values if enum is not None and options.closed else (),
        key=declared_rules(options.key, None) if options.HasField("key") else None,
        item=declared_rules(options.item, enum) if options.HasField("item") else None,
    )


def declared_one_of(options: Any, naming: Naming) -> OneOf:
    """Return the keys of an `orchtw.options.OneOf`, in the served vocabulary."""
    return OneOf(tuple(map(naming.translate, options.field)), options.too_many, options.missing)
