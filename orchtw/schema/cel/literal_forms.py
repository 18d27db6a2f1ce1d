"""Literals of lists, maps and messages, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from orchtw.schema.cel import operations, optional_values
from orchtw.schema.cel.code import Code, Compiling, estimates_of, made, types_of, written_out
from orchtw.schema.cel.faults import Fault
from orchtw.schema.cel.syntax import Entries, Expression, Items, Message
from orchtw.schema.cel.types import (
    BOOL,
    DYN,
    INT,
    NOTHING,
    STRING,
    UINT,
    Type,
    has_parts,
    is_optional,
    join,
    list_of,
    map_of,
)

_KEYS: Final = (INT, UINT, BOOL, STRING, DYN)


def items(compiler: Compiling, part: Items) -> Code:
    """Compile a list literal. Raises Fault."""
    found = [_element(compiler, each, place in part.optional) for place, each in enumerate(part.items)]
    kind = _common(found, part.items)
    return _list(compiler, part, found, kind)


def _list(compiler: Compiling, part: Items, found: Sequence[Code], kind: Type) -> Code:
    """Compile a list literal whose elements are of one type."""
    _note_sharing(compiler, part.items, found)
    runs = [compiler.as_type(each, kind).run for each in found]
    run = operations.items(runs)
    if part.optional:
        run = optional_values.items([(each, place in part.optional) for place, each in enumerate(runs)])
    estimate = compiler.estimator.items(estimates_of(found), types_of(found))
    return made(written_out(list_of(kind), len(found)), run, estimate, *found)


def _element(compiler: Compiling, part: Expression, optional: bool) -> Code:
    """Compile an element of a literal; one that may be absent has the type that its value has."""
    found = compiler.code(part)
    if not optional:
        return found
    if found.type is not DYN and not is_optional(found.type):
        raise Fault(f"expected type 'optional_type({found.type})' but found '{found.type}'", part.at)
    kind = DYN if found.type is DYN else found.type.parameters[0]
    return msgspec.structs.replace(found, type=kind)


def entries(compiler: Compiling, part: Entries) -> Code:
    """Compile a map literal. Raises Fault."""
    keys = [compiler.code(key) for key, _ in part.entries]
    values = [
        _element(compiler, value, place in part.optional) for place, (_, value) in enumerate(part.entries)
    ]
    key = _common(keys, [entry[0] for entry in part.entries])
    value = _common(values, [entry[1] for entry in part.entries])
    if key not in (*_KEYS, NOTHING):
        raise Fault(f"unsupported map key type '{key}'", part.at)
    _note_sharing(compiler, [entry[1] for entry in part.entries], values)
    runs = [compiler.as_type(each, value).run for each in values]
    pairs = list(zip((each.run for each in keys), runs, strict=True))
    run = operations.entries(pairs)
    if part.optional:
        run = optional_values.entries([(*pair, place in part.optional) for place, pair in enumerate(pairs)])
    kinds = types_of((*keys, *values))
    estimate = compiler.estimator.entries(estimates_of(keys), estimates_of(values), kinds)
    return made(written_out(map_of(key, value), len(keys)), run, estimate, *keys, *values)


def _note_sharing(compiler: Compiling, parts: Sequence[Expression], found: Sequence[Code]) -> None:
    """Note that a literal has values with parts which it does not write out: the same one perhaps several times."""
    for part, each in zip(parts, found, strict=True):
        if has_parts(each.type) and not isinstance(part, Items | Entries):
            compiler.shares = True


def message(compiler: Compiling, part: Message) -> Code:
    """Compile a message literal. Raises Fault."""
    kind = None if compiler.known.messages is None else compiler.known.messages(part.name)
    if kind is None or kind.members is None:
        raise Fault(f"undeclared reference to '{part.name}' (in container '')", part.at)
    members, values = kind.members(), []
    for place, (key, value) in enumerate(part.fields):
        member = members.get(key)
        if member is None:
            raise Fault(f"undefined field '{key}'", value.at)
        found = _element(compiler, value, place in part.optional)
        if join(member.type, found.type) is None:
            text = f"expected type of field '{key}' is '{member.type}' but provided type is '{found.type}'"
            raise Fault(text, value.at)
        values.append(compiler.as_type(found, member.type))
    named = zip((key for key, _ in part.fields), values, strict=True)
    runs = [(key, each.run, place in part.optional) for place, (key, each) in enumerate(named)]
    estimate = compiler.estimator.message(estimates_of(values))
    return made(kind, optional_values.message(part.name, runs), estimate, *values)


def _common(found: Sequence[Code], parts: Sequence[Expression]) -> Type:
    """Return the common type of a literal's elements, `dyn` if one of them is. Raises Fault."""
    kind = NOTHING
    for each, part in zip(found, parts, strict=True):
        joined = join(kind, each.type)
        if joined is None:
            raise Fault(f"expected type '{kind}' but found '{each.type}'", part.at)
        kind = joined
    return kind


def mixed_items(compiler: Compiling, part: Items) -> Code:
    """Compile a list literal with elements of any types."""
    found = [_element(compiler, each, place in part.optional) for place, each in enumerate(part.items)]
    return _list(compiler, part, found, DYN)
