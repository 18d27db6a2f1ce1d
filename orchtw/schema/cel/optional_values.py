"""The closures of forms about values that may be absent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from orchtw.schema.cel.faults import Failure, no_overload
from orchtw.schema.cel.frames import Frame, Run
from orchtw.schema.cel.values import ABSENT, Instance, Optional, map_key


def select(operand: Run, key: str, read: Callable[[Any], Any] | None) -> Run:
    """Return the member of an object, map or optional one, if there is one; `read` makes a value of it."""

    def run(frame: Frame) -> Optional:
        found = operand(frame)
        if type(found) is Optional:
            if not found.present:
                return ABSENT
            found = found.value
        if type(found) is Instance:
            found = found.fields
        if type(found) is not dict:
            raise no_overload()
        if key not in found:
            return ABSENT
        value = found[key]
        return _optional(value if read is None else read(value))

    return run


def _optional(value: Any) -> Optional:
    return value if type(value) is Optional else Optional(value)


def index(operand: Run, key: Run) -> Run:
    """Return the element of a list or the entry of a map, or of an optional one, if there is one."""

    def run(frame: Frame) -> Optional:
        found = operand(frame)
        if type(found) is Optional:
            if not found.present:
                return ABSENT
            found = found.value
        wanted = key(frame)
        if type(found) is list and isinstance(wanted, int) and type(wanted) is not bool:
            return _optional(found[wanted]) if 0 <= wanted < len(found) else ABSENT
        if type(found) is not dict:
            raise no_overload()
        try:
            return _optional(found[wanted]) if wanted in found else ABSENT
        except TypeError:  # a list or map cannot be a key
            raise no_overload() from None

    return run


def has(selected: Run) -> Run:
    """Return a test of whether an optional value is there."""
    return lambda frame: bool(selected(frame).present)


def alternative(one: Run, other: Run) -> Run:
    """Return an optional value, or else the other one; that is only computed if it is needed."""

    def run(frame: Frame) -> Any:
        found = _required(one(frame))
        return found if found.present else other(frame)

    return run


def alternative_value(one: Run, other: Run) -> Run:
    """Return the value of an optional one, or else the other one."""

    def run(frame: Frame) -> Any:
        found = _required(one(frame))
        return found.value if found.present else other(frame)

    return run


def _required(found: Any) -> Optional:
    if type(found) is Optional:
        return found
    raise no_overload()


def mapped(target: Run, place: int, result: Run, *, flat: bool) -> Run:
    """Apply an expression to an optional value and return an optional result; `flat`: the expression returns one."""

    def run(frame: Frame) -> Optional:
        found = _required(target(frame))
        if not found.present:
            return ABSENT
        frame[place] = found.value
        value = result(frame)
        return _required(value) if flat else Optional(value)

    return run


def items(runs: Sequence[tuple[Run, bool]]) -> Run:
    """Return the closure of a list literal, some of whose elements may be absent."""

    def run(frame: Frame) -> list[Any]:
        made = []
        for each, optional in runs:
            value = each(frame)
            if not optional:
                made.append(value)
            elif _required(value).present:
                made.append(value.value)
        return made

    return run


def entries(runs: Sequence[tuple[Run, Run, bool]]) -> Run:
    """Return the closure of a map literal, some of whose entries may be absent."""

    def run(frame: Frame) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, each, optional in runs:
            name, value = map_key(key(frame)), each(frame)
            if optional:
                if not _required(value).present:
                    continue
                value = value.value
            if name in made:
                raise Failure(f"duplicate key in map: {name}")
            made[name] = value
        return made

    return run


def message(name: str, runs: Sequence[tuple[str, Run, bool]]) -> Run:
    """Return the closure of a message literal."""

    def run(frame: Frame) -> Instance:
        made = {}
        for key, each, optional in runs:
            value = each(frame)
            if not optional:
                made[key] = value
            elif _required(value).present:
                made[key] = value.value
        return Instance(name, made)

    return run
