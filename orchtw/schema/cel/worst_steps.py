"""Upper bounds of functions whose work grows faster than the object: their steps, and the sizes of their results.

Work that the object's size does not bound counts as the limit of one evaluation: such rules run off the reactor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs

from orchtw.schema.cel.types import Type

UNBOUNDED: Final = 1_000_000
"""Steps of an expression that may use up the limit of one evaluation."""

_SORTED: Final = 40  # steps of an element that is sorted among some thousand
_CROSSED: Final = frozenset({"sets.contains", "sets.equivalent", "sets.intersects"})


def more_steps(function: str, kinds: Sequence[Type], values: Sequence[Any]) -> tuple[float, ...]:
    """Return the steps of a call beside its own, by powers of the object's size; `values` of arguments that are
    literals.
    """
    if function in _CROSSED:
        return _product(kinds[0], kinds[1])
    if function == "distinct":
        return _product(kinds[0], kinds[0])
    if function in ("sort", "sortBy"):
        return 0, kinds[0].per_byte * _SORTED
    return (0, UNBOUNDED) if function == "flatten" or _is_endless(function, values) else (0,)


def with_size(function: str, kind: Type, values: Sequence[Any]) -> Type:
    """Return the type of a list that a function has made, with its size."""
    if function == "flatten" or _is_endless(function, values):
        return attrs.evolve(kind, per_byte=UNBOUNDED)
    return attrs.evolve(kind, fixed=max(values[0], 0), per_byte=0.0) if function == "lists.range" else kind


def _is_endless(function: str, values: Sequence[Any]) -> bool:
    """Report whether a function counts to a number that is not known before, or to one that it cannot reach."""
    return function == "lists.range" and (type(values[0]) is not int or values[0] > UNBOUNDED)


def _product(one: Type, other: Type) -> tuple[float, ...]:
    """Return the steps that depend on the object: the others are paid for by the call."""
    mixed = one.fixed * other.per_byte + other.fixed * one.per_byte
    return 0, mixed, one.per_byte * other.per_byte
