"""JSON patch, RFC 6902, with the API's limits and tolerances (reference PATCH-9).

Negative indices count from the end of a list: -1 replaces, removes and reads the last element, and adds behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

import attrs
import orjson

from orchtw.errors import BadRequest, Invalid, RequestEntityTooLarge, StatusError
from orchtw.schema.codec.json_text import parse_json

MAX_OPERATIONS: Final = 10_000
"""Operations of one patch: what the API allows."""

MAX_COPIED_BYTES: Final = 3 << 20
"""JSON that all `copy` operations of one patch may add: as much as a whole request body."""

MAX_MOVED: Final = 1 << 28
"""List elements that the inserts and removals of one patch may shift: some tenths of a second, and more than ten
thousand inserts into a list of ten thousand."""

MEMBERS: Final = frozenset(("op", "path", "from", "value"))

_MISSING: Final = object()


class CannotApply(StatusError):
    """422: an operation does not apply; which one is not said (reference PATCH-11)."""

    code, reason = Invalid.code, Invalid.reason

    def __init__(self) -> None:
        super().__init__("the server rejected our request due to an error in our request", {})


def parse_json_patch(body: bytes) -> list[dict[str, Any]]:
    """The operations. Raises BadRequest (400) for anything but a list of objects, RequestEntityTooLarge (413)."""
    try:
        operations = parse_json(body)
    except ValueError as error:
        raise BadRequest(f"error decoding patch: {error}") from None
    if type(operations) is not list or not all(type(each) is dict for each in operations):
        raise BadRequest("error decoding patch: a JSON patch must be a list of operations, each an object")
    if len(operations) > MAX_OPERATIONS:
        raise RequestEntityTooLarge(
            "Request entity too large: The allowed maximum operations in a JSON patch "
            f"is {MAX_OPERATIONS}, got {len(operations)}"
        )
    return operations


def unknown_members(operations: list[dict[str, Any]]) -> list[str]:
    """What is in the operations that no operation has (reference WRITE-28)."""
    return [
        f'json patch unknown field "[{index}].{name}"'
        for index, operation in enumerate(operations)
        if not operation.keys() <= MEMBERS
        for name in operation
        if name not in MEMBERS
    ]


def json_patch(document: Any, operations: list[dict[str, Any]]) -> Any:
    """`document` after the operations, which change it in place and may become part of it: use both up.

    Raises CannotApply (422).
    """
    patching = _Patching(document)
    for operation in operations:
        name = operation.get("op")
        act = _OPERATIONS.get(name) if type(name) is str else None
        if act is None:
            raise CannotApply
        act(patching, operation)
    return patching.document


@attrs.define(slots=True)
class _Patching:
    """The document so far, the bytes that were copied and the elements that were moved."""

    document: Any
    copied_bytes: int = 0
    moved: int = 0

    def shift(self, size: int, place: int) -> None:
        """Count the elements behind `place`, which an insert or a removal there moves."""
        self.moved += size - place
        if self.moved > MAX_MOVED:
            raise CannotApply

    def parent(self, path: list[str]) -> Any:
        """The container of the last part of `path`, which is not the root."""
        value = self.document
        for part in path[:-1]:
            value = _member(value, part)
        return value

    def at(self, path: list[str]) -> Any:
        """The value at `path`."""
        return _member(self.parent(path), path[-1]) if path else self.document

    def add(self, path: list[str], value: Any) -> None:
        """Set a member, insert an element or replace the document."""
        if not path:
            self.document = value
            return
        container, last = self.parent(path), path[-1]
        if type(container) is dict:
            container[last] = value
        elif type(container) is list:
            size = len(container)
            place = size if last == "-" else _index(last, size + 1)
            self.shift(size, place)
            container.insert(place, value)
        else:
            raise CannotApply

    def remove(self, path: list[str]) -> Any:
        """Take the value at `path` out."""
        value = self.at(path)
        if not path:
            self.document = None
            return value
        container, last = self.parent(path), path[-1]
        if type(container) is dict:
            del container[last]
        else:
            place = _index(last, len(container))
            self.shift(len(container), place)
            del container[place]
        return value

    def replace(self, path: list[str], value: Any) -> None:
        """Put `value` in the place of what is there."""
        self.at(path)
        if not path:
            self.document = value
            return
        container, last = self.parent(path), path[-1]
        container[last if type(container) is dict else _index(last, len(container))] = value

    def copy(self, source: list[str], path: list[str]) -> None:
        """Add a copy of the value at `source`."""
        try:
            text = orjson.dumps(self.at(source))
        except orjson.JSONEncodeError:  # nested deeper than it writes
            raise CannotApply from None
        self.copied_bytes += len(text)
        if self.copied_bytes > MAX_COPIED_BYTES:
            raise CannotApply
        self.add(path, orjson.loads(text))

    def test(self, path: list[str], value: Any) -> None:
        """Refuse the patch unless the value at `path` equals `value`; an absent member equals null."""
        if value is None and path:
            container = self.parent(path)
            if type(container) is dict and container.get(path[-1]) is None:
                return
        if not _equal(self.at(path), value):
            raise CannotApply


def _add(patching: _Patching, operation: dict[str, Any]) -> None:
    patching.add(_pointer(operation, "path"), _value(operation))


def _remove(patching: _Patching, operation: dict[str, Any]) -> None:
    patching.remove(_pointer(operation, "path"))


def _replace(patching: _Patching, operation: dict[str, Any]) -> None:
    patching.replace(_pointer(operation, "path"), _value(operation))


def _move(patching: _Patching, operation: dict[str, Any]) -> None:
    source, path = _pointer(operation, "from"), _pointer(operation, "path")
    if len(source) < len(path) and path[: len(source)] == source:
        raise CannotApply  # nothing moves into itself
    value = patching.remove(source)
    patching.add(path, value)


def _copy(patching: _Patching, operation: dict[str, Any]) -> None:
    patching.copy(_pointer(operation, "from"), _pointer(operation, "path"))


def _test(patching: _Patching, operation: dict[str, Any]) -> None:
    patching.test(_pointer(operation, "path"), _value(operation))


_OPERATIONS: Final[dict[str, Callable[[_Patching, dict[str, Any]], None]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _pointer(operation: dict[str, Any], name: str) -> list[str]:
    """The parts of a JSON pointer (RFC 6901)."""
    text = operation.get(name)
    if type(text) is not str:
        raise CannotApply
    if not text:
        return []
    if text[0] != "/":
        raise CannotApply
    parts = text[1:].split("/")
    return [part.replace("~1", "/").replace("~0", "~") for part in parts] if "~" in text else parts


def _value(operation: dict[str, Any]) -> Any:
    value = operation.get("value", _MISSING)
    return _refuse() if value is _MISSING else value


def _refuse() -> NoReturn:
    raise CannotApply


def _member(container: Any, part: str) -> Any:
    """The member or element that `part` names."""
    if type(container) is dict:
        found = container.get(part, _MISSING)
        return _refuse() if found is _MISSING else found
    if type(container) is list:
        return container[_index(part, len(container))]
    raise CannotApply


def _index(part: str, size: int) -> int:
    """The place in a list of `size` that `part` names, counted from the front."""
    digits = part.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 9 or (digits[0] == "0" and part != "0"):
        raise CannotApply
    index = int(part)
    if not -size <= index < size:
        raise CannotApply
    return index if index >= 0 else index + size


def _equal(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 equals 1.0, but not true."""
    return bool(left == right) and _same_types(left, right)


def _same_types(left: Any, right: Any) -> bool:
    """Whether two values that Python finds equal are equal as JSON."""
    if type(left) is dict:
        return all(_same_types(value, right[key]) for key, value in left.items())
    if type(left) is list:
        return all(map(_same_types, left, right))
    return (type(left) is bool) is (type(right) is bool)
