"""The parts of an expression, as they were written. `at` is the character that a fault points to."""

from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen(slots=True)
class Literal:
    """A value that is written out: None, a boolean, number, text or bytes."""

    value: Any
    at: int
    depth: int = 1


@attrs.frozen(slots=True)
class Name:
    """A variable, or a type."""

    name: str
    at: int
    depth: int = 1


@attrs.frozen(slots=True)
class Select:
    """A member of a value."""

    operand: Expression
    member: str
    at: int
    depth: int


@attrs.frozen(slots=True)
class CallExpression:
    """A function, operator or macro; `target` is what a method is called on."""

    function: str
    target: Expression | None
    arguments: tuple[Expression, ...]
    at: int
    depth: int


@attrs.frozen(slots=True)
class Items:
    """A list that is written out."""

    items: tuple[Expression, ...]
    at: int
    depth: int


@attrs.frozen(slots=True)
class Entries:
    """A map that is written out."""

    entries: tuple[tuple[Expression, Expression], ...]
    at: int
    depth: int


Expression = Literal | Name | Select | CallExpression | Items | Entries
