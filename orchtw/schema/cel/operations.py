"""The closures that parts of an expression become."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from orchtw.schema.cel.equality import equality, joining
from orchtw.schema.cel.faults import Failure, no_overload
from orchtw.schema.cel.frames import Frame, Run, charge
from orchtw.schema.cel.library.operators import MIXED
from orchtw.schema.cel.overloads import Overload
from orchtw.schema.cel.types import BOOL, DOUBLE, INT, UINT, CelMember, Type
from orchtw.schema.cel.values import PLAIN, Unsigned, boolean, extent, map_key, type_name

_NUMBERS: Final = frozenset({"int", "uint", "double"})
_CHEAP: Final = (BOOL, INT, UINT, DOUBLE)
_MISFITS: Final = (TypeError, AttributeError, LookupError)  # values that are null, or old and of other types
_PLACES: Final = (float, Unsigned)  # types of numbers that are places of elements, beside int
_SHORT: Final = 100  # characters that are compared at once


def variable(place: int) -> Run:
    """Read the variable at a place of the frame."""
    return lambda frame: frame[place]


def missing(key: object) -> Failure:
    """Return the failure for a missing member or entry."""
    return Failure(f"no such key: {key}")


def member(operand: Run, found: CelMember, shown: str) -> Run:
    """Return the closure of a member of an object with a schema."""
    key, read = found.key, found.read

    def select(frame: Frame) -> Any:
        try:
            return operand(frame)[key]
        except KeyError:
            raise missing(shown) from None
        except TypeError:  # the object is null
            raise no_overload() from None

    if read is None:
        return select
    return _read(select, read) if found.type is DOUBLE else charged(select, read, extent)


def _read(operand: Run, read: Callable[[Any], Any]) -> Run:
    return lambda frame: read(operand(frame))


def entry(operand: Run, key: str) -> Run:
    """Return the closure of an entry of a map."""

    def select(frame: Frame) -> Any:
        found = operand(frame)
        if type(found) is not dict:
            raise no_overload()
        if key not in found:
            raise missing(key)
        return found[key]

    return select


def entry_at(place: int, keys: Sequence[str]) -> Run:
    """Return the closure of an entry of maps in maps in a variable: one call instead of one for each key."""

    def select(frame: Frame) -> Any:
        found = frame[place]
        for key in keys:
            if type(found) is not dict:
                raise no_overload()
            if key not in found:
                raise missing(key)
            found = found[key]
        return found

    return select


def charged(operand: Run, turn: Callable[[Any], Any], cost: Callable[[Any], int]) -> Run:
    """Convert a value, charging for its cost."""

    def run(frame: Frame) -> Any:
        value = operand(frame)
        charge(frame, cost(value))
        return turn(value)

    return run


def has(operand: Run, key: str) -> Run:
    """Return a test of whether an object or map has a member."""

    def run(frame: Frame) -> bool:
        found = operand(frame)
        if type(found) is not dict:
            raise no_overload()
        return key in found

    return run


def items(runs: Sequence[Run]) -> Run:
    """Return the closure of a list literal."""
    return lambda frame: [run(frame) for run in runs]


def entries(runs: Sequence[tuple[Run, Run]]) -> Run:
    """Return the closure of a map literal."""

    def run(frame: Frame) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in runs:
            name = map_key(key(frame))
            if name in found:
                raise Failure(f"duplicate key in map: {name}")
            found[name] = value(frame)
        return found

    return run


def all_of(runs: Sequence[Run]) -> Run:
    """Return a test of whether all hold. A false one decides, even if others have failed."""
    return _either(runs, False) if len(runs) == 2 else partial(decided, runs, False)


def any_of(runs: Sequence[Run]) -> Run:
    """Return a test of whether one holds. A true one decides, even if others have failed."""
    return _either(runs, True) if len(runs) == 2 else partial(decided, runs, True)


def _either(runs: Sequence[Run], outcome: bool) -> Run:
    """Return what `decided` does for two runs, at half its price."""
    one, other = runs

    def run(frame: Frame) -> bool:
        try:
            if boolean(one(frame)) is outcome:
                return outcome
        except Failure:
            try:
                if boolean(other(frame)) is outcome:
                    return outcome
            except Failure:
                pass  # the first failure is told
            raise
        return boolean(other(frame))

    return run


def decided(runs: Iterable[Run], outcome: bool, frame: Frame) -> bool:
    """Return `outcome` if it is the value of one of the runs, even if others have failed; else its negation.

    Raises the first Failure if none has decided.
    """
    failure: Failure | None = None
    for each in runs:
        try:
            if boolean(each(frame)) is outcome:
                return outcome
        except Failure as found:
            failure = failure or found
    if failure is not None:
        raise failure
    return not outcome


def negated(operand: Run) -> Run:
    """Return the negation of a boolean expression."""
    return lambda frame: not boolean(operand(frame))


def condition(test: Run, yes: Run, no: Run) -> Run:
    """Return the closure of a conditional expression."""
    return lambda frame: yes(frame) if boolean(test(frame)) else no(frame)


def comparison(one: Run, other: Run, kind: Type) -> Run:
    """Return a test of two values of a type for equality."""
    same = equality(kind)
    if kind in _CHEAP:
        return lambda frame: bool(one(frame) == other(frame))

    def run(frame: Frame) -> bool:
        value, second = one(frame), other(frame)
        if type(value) is str:
            if len(value) > _SHORT:
                charge(frame, len(value) // _SHORT)
        else:
            charge(frame, extent(value))
        return same(value, second)

    return run


def function(found: Overload, runs: Sequence[Run], kinds: Sequence[Type]) -> Run:
    """Return a call whose function is known. Values may still be null, or old and of other types: no function takes
    them.
    """
    work, cost = found.run, found.cost
    if found.name == "_+_" and (joined := joining(kinds[0])) is not None:
        work, cost = joined, lambda one, other: extent(one) + extent(other)
    if len(runs) == 2 and cost is None and not found.metered:
        return _plain(work, *runs)

    def run(frame: Frame) -> Any:
        values = [each(frame) for each in runs]
        try:
            if cost is not None:
                charge(frame, cost(*values))
            return work(frame, *values) if metered else work(*values)
        except _MISFITS:
            raise no_overload() from None

    metered = found.metered
    return run


def _plain(work: Callable[[Any, Any], Any], one: Run, other: Run) -> Run:
    def run(frame: Frame) -> Any:
        try:
            return work(one(frame), other(frame))
        except _MISFITS:
            raise no_overload() from None

    return run


def dispatch(name: str, candidates: Sequence[Overload], runs: Sequence[Run]) -> Run:
    """Return a call whose function depends on values."""
    mixed, indexes = MIXED.get(name), name == "_[_]"
    # Values of the same kinds come again: -10 µs in a policy's check of a pod with three rules.
    known: dict[tuple[type, ...], Overload | None] = {}

    def call(frame: Frame, values: list[Any], kinds: tuple[type, ...]) -> Any:
        if kinds in known:
            found = known[kinds]
        else:
            found = _taking(candidates, values)
            if PLAIN.issuperset(kinds):
                known[kinds] = found
        if found is not None:
            try:
                if found.cost is not None:
                    charge(frame, found.cost(*values))
                return found.run(frame, *values) if found.metered else found.run(*values)
            except _MISFITS:
                pass
        if mixed is not None and _NUMBERS.issuperset(map(type_name, values)):
            return mixed(*values)
        raise no_overload()

    if len(runs) == 2 and not indexes:
        return _of_two(runs, call)

    def run(frame: Frame) -> Any:
        values = [each(frame) for each in runs]
        if indexes and type(values[1]) in _PLACES:
            values[1] = _place(*values)
        return call(frame, values, tuple(map(type, values)))

    return run


def _of_two(runs: Sequence[Run], call: Callable[[Frame, list[Any], tuple[type, ...]], Any]) -> Run:
    one, other = runs

    def run(frame: Frame) -> Any:
        value, second = one(frame), other(frame)
        return call(frame, [value, second], (type(value), type(second)))

    return run


def _place(over: Any, key: Any) -> Any:
    """Return the key of a map as it is, and a whole number of any type as the place of an element."""
    return int(key) if type(over) is list and float(key).is_integer() else key


def _taking(candidates: Sequence[Overload], values: Sequence[Any]) -> Overload | None:
    """Return the function that takes the values, or None."""
    names = list(map(type_name, values))
    return next((each for each in candidates if all(map(_takes, each.parameters, names))), None)


def _takes(wanted: Type, name: str) -> bool:
    return wanted.name.isupper() or wanted.name in ("dyn", name)
