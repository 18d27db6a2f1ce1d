"""The steps of a path: each maps a list of values to those that it selects from them (reference CRD-60).

A value without the selected part is left out; a step that does not apply to a value raises PathError, and the path
selects nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

MAX_STEPS: Final = 5_000
"""Limit of the values that one object's paths may visit: a row takes a millisecond or two at most."""

MISSING: Final = object()


class PathError(ValueError):
    """Error about a path that cannot be parsed, or does not apply to a value."""


class StepBudget:
    """Counts visited values, over all paths that share it."""

    __slots__ = ("left",)

    def __init__(self, steps: int = MAX_STEPS) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        """Take `steps` from the budget. Raises PathError when nothing is left."""
        self.left -= steps
        if self.left < 0:
            raise PathError("the path visits too many values")


Step = Callable[[list[Any], StepBudget], list[Any]]


def follow(steps: Sequence[Step], values: list[Any], budget: StepBudget) -> list[Any]:
    """Apply the steps one after the other; return the selected values."""
    for step in steps:
        budget.spend(len(values) + 1)
        values = step(values, budget)
    return values


def field(name: str) -> Step:
    """Select the value under a key of each object."""

    def step(values: list[Any], budget: StepBudget) -> list[Any]:
        return [value[name] for value in values if type(value) is dict and name in value]

    return step


def constant(constant: Any) -> Step:
    """Return a literal, once for each value."""
    return lambda values, budget: [constant for _ in values]


def nonsense(values: list[Any], budget: StepBudget) -> list[Any]:
    """Raise PathError for an unknown word."""
    raise PathError("unrecognized identifier")


def text(literal: str) -> Step:
    """Return a quoted text, once."""
    return lambda values, budget: [literal]


def wildcard(values: list[Any], budget: StepBudget) -> list[Any]:
    """Select every member of each value."""
    return [part for value in values for part in _parts(value)]


def descent(values: list[Any], budget: StepBudget) -> list[Any]:
    """Select each value that has members, and all such values inside it, outer ones first."""
    found = []
    waiting = values[::-1]
    while waiting:
        value = waiting.pop()
        budget.spend(1)
        if parts := _parts(value):
            found.append(value)
            budget.spend(len(parts))
            waiting += parts[::-1]
        elif type(value) is str and value:
            found.append(value)
    return found


def _parts(value: Any) -> list[Any]:
    if type(value) is dict:
        return list(value.values())
    return value if type(value) is list else []


def array(start: int | None, end: int | None, step: int | None, *, single: bool) -> Step:
    """Select a slice of each list. `single`: the one element at `start`. Both ends must be in the list."""

    def taken(values: list[Any], budget: StepBudget) -> list[Any]:
        found: list[Any] = []
        for value in values:
            if value is None:
                continue
            if type(value) is not list:
                raise PathError("not a list")
            first, last = _bounds(start, end, len(value), single=single)
            if first == last:
                return found
            if not (0 <= first < len(value) and 0 <= last <= len(value) and first < last):
                raise PathError("index out of bounds")
            if step is not None and step <= 0:
                raise PathError("step must be > 0")
            found += value[first : last : step or 1]
        return found

    return taken


def _bounds(start: int | None, end: int | None, length: int, *, single: bool) -> tuple[int, int]:
    first = 0 if start is None else start + length if start < 0 else start
    last = (start or 0) + 1 if single else length if end is None else end
    if last < 0 or (single and last == 0):
        last += length
    return first, last


def union(paths: Sequence[Sequence[Step]]) -> Step:
    """Select the values of several paths, in their order."""

    def step(values: list[Any], budget: StepBudget) -> list[Any]:
        return [found for path in paths for found in follow(path, values, budget)]

    return step


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def existing(path: Sequence[Step]) -> Step:
    """Select the elements of each list for which the path selects anything."""

    def exists(element: Any, budget: StepBudget) -> bool:
        try:
            return bool(follow(path, [element], budget))
        except PathError:  # as in the release: a path that does not apply to an element does not exclude it
            return budget.left >= 0

    return _filtered(exists)


def comparison(left: Sequence[Step], sign: str, right: Sequence[Step]) -> Step:
    """Select the elements of each list for which the comparison holds; both sides must exist."""

    def holds(element: Any, budget: StepBudget) -> bool:
        lefts = follow(left, [element], budget)
        rights = follow(right, [element], budget) if lefts else []
        if not lefts or not rights:
            return False
        if len(lefts) > 1 or len(rights) > 1:
            raise PathError("only one value can be compared at a time")
        return _compare(lefts[0], sign, rights[0])

    return _filtered(holds)


def _filtered(passes: Callable[[Any, StepBudget], bool]) -> Step:
    def step(values: list[Any], budget: StepBudget) -> list[Any]:
        found = []
        for value in values:
            if type(value) is not list:
                raise PathError("only lists can be filtered")
            budget.spend(len(value))
            found += [element for element in value if passes(element, budget)]
        return found

    return step


def _compare(left: Any, sign: str, right: Any) -> bool:
    """Compare two values of the same simple type; booleans have no order."""
    comparing = _COMPARISONS.get(sign)
    same = type(left) is type(right) and type(left) in (bool, int, float, str)
    if comparing is None or not same or (type(left) is bool and sign not in ("==", "!=")):
        raise PathError("values cannot be compared")
    return comparing(left, right)
