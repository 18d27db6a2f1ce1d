"""Macros: what is said of each element of a list, or each key of a map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from orchtw.schema.cel.faults import CostExceeded, Failure, no_overload
from orchtw.schema.cel.frames import STEPS, Frame, Run
from orchtw.schema.cel.types import Type
from orchtw.schema.cel.values import boolean

Make = Callable[[Run, int, int, Sequence[Run]], Run]


class Macro(msgspec.Struct, frozen=True, kw_only=True):
    """A macro: how many of its bodies are conditions, and the operator that faults of those name.

    `result`: the type of what is in the list that comes out, by the types of an element and of the last body; None:
    a boolean comes out. `make`: its closure, from those of what it goes over and of its bodies, the place of its
    variable and the steps of one turn.
    """

    conditions: int
    sign: str
    result: Callable[[Type, Type], Type] | None
    make: Make


def _elements(over: Run, frame: Frame) -> Any:
    found = over(frame)
    if type(found) is not list and type(found) is not dict:
        raise no_overload()
    return found


def _decided(outcome: bool) -> Make:
    """`exists` and `all`: one element decides, even if others have failed."""

    def make(over: Run, place: int, steps: int, bodies: Sequence[Run]) -> Run:
        body = bodies[0]

        def run(frame: Frame) -> bool:
            failure: Failure | None = None
            for element in _elements(over, frame):
                frame[place] = element
                frame[STEPS] -= steps
                if frame[STEPS] < 0:
                    raise CostExceeded
                try:
                    if boolean(body(frame)) is outcome:
                        return outcome
                except Failure as found:
                    failure = failure or found
            if failure is not None:
                raise failure
            return not outcome

        return run

    return make


def _selected(over: Run, place: int, steps: int, test: Run | None, result: Run | None) -> Run:
    """Return the results for those elements of which the test holds."""

    def run(frame: Frame) -> list[Any]:
        chosen = []
        for element in _elements(over, frame):
            frame[place] = element
            frame[STEPS] -= steps
            if frame[STEPS] < 0:
                raise CostExceeded
            if test is None or boolean(test(frame)):
                chosen.append(element if result is None else result(frame))
        return chosen

    return run


def _one(over: Run, place: int, steps: int, bodies: Sequence[Run]) -> Run:
    chosen = _selected(over, place, steps, bodies[0], None)
    return lambda frame: len(chosen(frame)) == 1


MACROS: Final = {
    ("all", 2): Macro(conditions=1, sign="_&&_", result=None, make=_decided(False)),
    ("exists", 2): Macro(conditions=1, sign="_||_", result=None, make=_decided(True)),
    ("exists_one", 2): Macro(conditions=1, sign="_?_:_", result=None, make=_one),
    ("filter", 2): Macro(
        conditions=1,
        sign="_?_:_",
        result=lambda element, _: element,
        make=lambda over, place, steps, bodies: _selected(over, place, steps, bodies[0], None),
    ),
    ("map", 2): Macro(
        conditions=0,
        sign="",
        result=lambda _, last: last,
        make=lambda over, place, steps, bodies: _selected(over, place, steps, None, bodies[0]),
    ),
    ("map", 3): Macro(
        conditions=1,
        sign="_?_:_",
        result=lambda _, last: last,
        make=lambda over, place, steps, bodies: _selected(over, place, steps, bodies[0], bodies[1]),
    ),
}
"""Macros by name and number of arguments, the variable among them."""
