"""Type check of applied objects, with the path of each mismatch (reference APPLY-24)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from orchtw.apply.merge_type import UNTYPED_SHAPE, KeylessItem, ListType, MapType, ScalarType, Type
from orchtw.apply.path_element import shown
from orchtw.schema.codec.mismatch import shortened

MAX_PROBLEMS = 20
"""Maximum number of problems reported for an object: keeps the response smaller than the request."""

MAX_STEP_CHARACTERS = 256
"""Maximum number of characters shown of a path element."""


Place = tuple["Place | None", str] | None
"""Path to a value, as a linked list: the container's path and the last element. Joined only if it is shown."""


def problems(kind: Type, value: Any) -> list[str]:
    """Return the mismatches of `value` with its type, such as `.spec.foo: field not declared in schema`."""
    found: list[str] = []
    for place, why in islice(_problems(kind, value, None), MAX_PROBLEMS):
        text = _text(place)
        found.append(f"{text}: {why}" if text else why)
    return found


def _text(place: Place) -> str:
    steps = []
    while place is not None:
        place, step = place
        steps.append(shortened(step, MAX_STEP_CHARACTERS))
    return "".join(reversed(steps))


def fits(kind: Type, value: Any) -> bool:
    """Report whether a value matches its type: the fast check, without paths."""
    if value is None:
        return True
    if isinstance(kind, MapType):
        if type(value) is not dict:
            return False
        fields, element = kind.fields, kind.element
        for key, part in value.items():
            field = fields.get(key)
            inner = field[1] if field is not None else element
            if type(inner) is ScalarType and type(part) in inner.accepts:
                continue
            if inner is None or not fits(inner, part):
                return False
        return True
    if isinstance(kind, ScalarType):
        return _fits_scalar(kind, value)
    if kind.shape == UNTYPED_SHAPE:
        return True
    assert isinstance(kind, ListType)
    if type(value) is not list or (kind.shape and not _told_apart(kind, value)):
        return False
    element = kind.element
    if type(element) is ScalarType and {*map(type, value)} <= {*element.accepts}:
        return True
    return all([fits(element, item) for item in value])


def _fits_scalar(kind: ScalarType, value: Any) -> bool:
    accepts = kind.accepts
    if accepts:
        return type(value) in accepts
    return type(value) is not dict and type(value) is not list


def _told_apart(kind: ListType, value: list[Any]) -> bool:
    if len(kind.keys) == 1:  # most lists have one key, a string
        key = kind.keys[0]
        names = [item.get(key) if type(item) is dict else None for item in value]
        if {*map(type, names)} == {str}:
            return len(set(names)) == len(names)
    try:
        return len({kind.step(item) for item in value}) == len(value)
    except KeylessItem:
        return False


def _problems(kind: Type, value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if value is None or kind.shape == UNTYPED_SHAPE:
        return
    if isinstance(kind, ScalarType):
        if not _fits_scalar(kind, value):
            yield place, f"expected {kind.expected or 'a scalar'}, got {_sort(value)}"
    elif isinstance(kind, MapType):
        yield from _map_problems(kind, value, place)
    elif isinstance(kind, ListType):
        yield from _list_problems(kind, value, place)


def _map_problems(kind: MapType, value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if type(value) is not dict:
        yield place, f"expected map, got {_sort(value)}"
        return
    for key, part in value.items():
        field = kind.fields.get(key)
        inner = field[1] if field is not None else kind.element
        if inner is None:
            yield (place, f".{key}"), "field not declared in schema"
        else:
            yield from _problems(inner, part, (place, f".{key}"))


def _list_problems(kind: ListType, value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if type(value) is not list:
        yield place, f"expected list, got {_sort(value)}"
        return
    seen = set()
    for index, item in enumerate(value):
        step = f"i:{index}"
        if kind.shape:
            try:
                step = kind.step(item)
            except KeylessItem as error:
                yield place, f"element {index}: {error}"
                continue
            if step in seen:
                yield place, f"duplicate entries for key {shortened(shown(step), MAX_STEP_CHARACTERS)}"
            seen.add(step)
        yield from _problems(kind.element, item, (place, shown(step)))


def _sort(value: Any) -> str:
    if type(value) is dict:
        return "map"
    if type(value) is list:
        return "list"
    return "boolean" if type(value) is bool else "string" if type(value) is str else "numeric"
