"""Syntax tree of an expression. `at` is the character that a fault points to."""

from __future__ import annotations

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
    """Access to a member of a value."""

    operand: Expression
    member: str
    at: int
    depth: int


class CallExpression(msgspec.Struct, frozen=True):
    """A call of a function, operator or macro; `target` is the receiver of a method."""

    function: str
    target: Expression | None
    arguments: tuple[Expression, ...]
    at: int
    depth: int


class Items(msgspec.Struct, frozen=True):
    """A list literal: its elements in order."""

    items: tuple[Expression, ...]
    at: int
    depth: int


class Entries(msgspec.Struct, frozen=True):
    """A map literal: its keys and values in order."""

    entries: tuple[tuple[Expression, Expression], ...]
    at: int
    depth: int


Expression = Literal | Name | Select | CallExpression | Items | Entries
