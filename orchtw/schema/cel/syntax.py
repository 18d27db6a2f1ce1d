"""Syntax tree of an expression. `at` is the character that a fault points to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec


class Literal(msgspec.Struct, frozen=True):
    """A literal value: None, a boolean, number, text or bytes."""

    value: Any
    at: int
    depth: int = 1


class Name(msgspec.Struct, frozen=True):
    """A name of a variable or a type."""

    name: str
    at: int
    depth: int = 1


class Select(msgspec.Struct, frozen=True):
    """Access to a member of a value; `optional`: written `.?`, it gives an optional value."""

    operand: Expression
    member: str
    at: int
    depth: int
    optional: bool = False


class CallExpression(msgspec.Struct, frozen=True):
    """A call of a function, operator or macro; `target` is the receiver of a method."""

    function: str
    target: Expression | None
    arguments: tuple[Expression, ...]
    at: int
    depth: int


class Items(msgspec.Struct, frozen=True):
    """A list literal: its elements in order; `optional` are the places of those that may be absent."""

    items: tuple[Expression, ...]
    at: int
    depth: int
    optional: frozenset[int] = frozenset()


class Entries(msgspec.Struct, frozen=True):
    """A map literal: its keys and values in order; `optional` are the places of those that may be absent."""

    entries: tuple[tuple[Expression, Expression], ...]
    at: int
    depth: int
    optional: frozenset[int] = frozenset()


class Message(msgspec.Struct, frozen=True):
    """A message literal: the name of its type, and its fields in order; `optional` as of a map."""

    name: str
    fields: tuple[tuple[str, Expression], ...]
    at: int
    depth: int
    optional: frozenset[int] = frozenset()


Expression = Literal | Name | Select | CallExpression | Items | Entries | Message


def parts_of(whole: Expression) -> Iterator[Expression]:
    """Yield an expression and all that is inside it."""
    pending = [whole]
    while pending:
        part = pending.pop()
        yield part
        if isinstance(part, Select):
            pending.append(part.operand)
        elif isinstance(part, CallExpression):
            pending += part.arguments if part.target is None else (part.target, *part.arguments)
        elif isinstance(part, Items):
            pending += part.items
        elif isinstance(part, Entries):
            pending += (each for entry in part.entries for each in entry)
        elif isinstance(part, Message):
            pending += (value for _, value in part.fields)
