"""Macros: what is said of each element of a list, or each key of a map."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from orchtw.schema.cel.faults import CostExceeded, Failure, no_overload
from orchtw.schema.cel.frames import STEPS, Frame, Run, charge
from orchtw.schema.cel.library.list_changes import cost_of_sorting, sorted_by
from orchtw.schema.cel.operations import decided
from orchtw.schema.cel.types import Type, list_of, map_of
from orchtw.schema.cel.values import boolean

Make = Callable[[Run, int, int, Sequence[Run]], Run]
Result = Callable[[Sequence[Type], Type], Type]


class Macro(msgspec.Struct, frozen=True, kw_only=True):
    """A macro: how many of its bodies are conditions, and the operator that faults of those name.

    `result`: the type of what comes out, by the types of its variables and of the last body; None: a boolean.
    `make`: its closure, from those of what it goes over and of its bodies, the place of its first variable and the
    steps of one turn.
    """

    conditions: int
    sign: str
    result: Result | None
    make: Make
    variables: int = 1


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


def _pairs(over: Run, frame: Frame) -> Iterable[tuple[Any, Any]]:
    """Return the elements of a list with their places, or the keys of a map with their values."""
    found = over(frame)
    if type(found) is list:
        return enumerate(found)
    if type(found) is dict:
        return found.items()
    raise no_overload()


def _turns(over: Run, frame: Frame, place: int, steps: int) -> Iterator[Any]:
    """Set both variables for each pair in turn, and yield the first of them."""
    for one, other in _pairs(over, frame):
        frame[place], frame[place + 1] = one, other
        frame[STEPS] -= steps
        if frame[STEPS] < 0:
            raise CostExceeded
        yield one


def _decided_by_pairs(outcome: bool) -> Make:
    """`exists` and `all` with two variables."""

    def make(over: Run, place: int, steps: int, bodies: Sequence[Run]) -> Run:
        body = bodies[0]
        return lambda frame: decided((body for _ in _turns(over, frame, place, steps)), outcome, frame)

    return make


def _one_pair(over: Run, place: int, steps: int, bodies: Sequence[Run]) -> Run:
    def run(frame: Frame) -> bool:
        return sum(boolean(bodies[0](frame)) for _ in _turns(over, frame, place, steps)) == 1

    return run


def _transformed_list(over: Run, place: int, steps: int, bodies: Sequence[Run]) -> Run:
    *tests, result = bodies

    def run(frame: Frame) -> list[Any]:
        turns = _turns(over, frame, place, steps)
        return [result(frame) for _ in turns if all(boolean(test(frame)) for test in tests)]

    return run


def _transformed_map(over: Run, place: int, steps: int, bodies: Sequence[Run]) -> Run:
    *tests, result = bodies

    def run(frame: Frame) -> dict[Any, Any]:
        turns = _turns(over, frame, place, steps)
        return {key: result(frame) for key in turns if all(boolean(test(frame)) for test in tests)}

    return run


def _transformed_entries(over: Run, place: int, steps: int, bodies: Sequence[Run]) -> Run:
    *tests, result = bodies

    def run(frame: Frame) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for _ in _turns(over, frame, place, steps):
            if all(boolean(test(frame)) for test in tests):
                for key, value in _entries(result(frame)):
                    if key in made:
                        raise Failure(f"insert failed: key '{key}' already exists")
                    made[key] = value
        return made

    return run


def _entries(found: Any) -> Iterable[tuple[Any, Any]]:
    if type(found) is not dict:
        raise no_overload()
    return found.items()


def _sorted(over: Run, place: int, steps: int, bodies: Sequence[Run]) -> Run:
    """Return the elements in the order of the keys that the body computes from them."""

    def run(frame: Frame) -> list[Any]:
        found = _elements(over, frame)
        keys = _selected(lambda _: found, place, steps, None, bodies[0])(frame)
        charge(frame, cost_of_sorting(keys))
        return sorted_by(keys, list(found))

    return run


MACROS: Final = {
    ("all", 2): Macro(conditions=1, sign="_&&_", result=None, make=_decided(False)),
    ("exists", 2): Macro(conditions=1, sign="_||_", result=None, make=_decided(True)),
    ("exists_one", 2): Macro(conditions=1, sign="_?_:_", result=None, make=_one),
    ("filter", 2): Macro(
        conditions=1,
        sign="_?_:_",
        result=lambda variables, _: list_of(variables[0]),
        make=lambda over, place, steps, bodies: _selected(over, place, steps, bodies[0], None),
    ),
    ("map", 2): Macro(
        conditions=0,
        sign="",
        result=lambda _, last: list_of(last),
        make=lambda over, place, steps, bodies: _selected(over, place, steps, None, bodies[0]),
    ),
    ("map", 3): Macro(
        conditions=1,
        sign="_?_:_",
        result=lambda _, last: list_of(last),
        make=lambda over, place, steps, bodies: _selected(over, place, steps, bodies[0], bodies[1]),
    ),
}
"""Macros by name and number of arguments, the variable among them."""


def _transforming(name: str, result: Result, make: Make) -> dict[tuple[str, int], Macro]:
    """Return a macro that makes a value for each pair, and the same with a condition."""
    return {
        (name, 3 + conditions): Macro(conditions=conditions, sign="_?_:_", result=result, make=make, variables=2)
        for conditions in (0, 1)
    }


_ONE_PAIR: Final = Macro(conditions=1, sign="_?_:_", result=None, make=_one_pair, variables=2)

TWO_VARIABLES: Final = {
    ("existsOne", 2): MACROS["exists_one", 2],
    ("all", 3): Macro(conditions=1, sign="_&&_", result=None, make=_decided_by_pairs(False), variables=2),
    ("exists", 3): Macro(conditions=1, sign="_||_", result=None, make=_decided_by_pairs(True), variables=2),
    ("existsOne", 3): _ONE_PAIR,
    ("exists_one", 3): _ONE_PAIR,
    **_transforming("transformList", lambda _, last: list_of(last), _transformed_list),
    **_transforming("transformMap", lambda variables, last: map_of(variables[0], last), _transformed_map),
    **_transforming("transformMapEntry", lambda _, last: last, _transformed_entries),
}
"""Macros with two variables: the place and the element of a list, or the key and the value of a map."""

SORTING: Final = {
    ("sortBy", 2): Macro(conditions=0, sign="", result=lambda variables, _: list_of(variables[0]), make=_sorted),
}
"""Macros of the library of lists."""
