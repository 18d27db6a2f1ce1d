"""JSON patch, RFC 6902, with the API's limits and tolerances (reference PATCH-9).

Negative indices count from the end of a list: -1 is the last element in reads, replacements and removals, and the end
of the list in additions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec
import orjson

from orchtw.errors import BadRequest, Invalid, RequestEntityTooLarge, StatusError
from orchtw.schema.codec.json_text import parse_json
from orchtw.wire.json_values import loads

MAX_OPERATIONS: Final = 10_000
"""Maximum number of operations in a patch, as in kube-apiserver."""

MAX_COPIED_BYTES: Final = 3 << 20
"""Maximum size of JSON that the `copy` operations of a patch may add, equal to that of a request body."""

MAX_MOVED: Final = 1 << 28
"""Maximum number of list elements that the inserts and removals of a patch may shift: a few tenths of a second, and
more than ten thousand inserts into a list of ten thousand elements need."""

MEMBERS: Final = frozenset(("op", "path", "from", "value"))

_MISSING: Final = object()

MISSING_VALUE: Final = "missing value"


class CannotApply(StatusError):
    """422: an operation cannot be applied. The reason `why` is not in the response (reference PATCH-11)."""

    code, reason = Invalid.code, Invalid.reason

    def __init__(self, why: str = "") -> None:
        super().__init__("the server rejected our request due to an error in our request", {})
        self.why = why


class _Problem(Exception):
    """Error in an operation, with the text of the release."""


def parse_json_patch(body: bytes) -> list[dict[str, Any]]:
    """Return the operations. Raises BadRequest (400) unless it is a list of objects, RequestEntityTooLarge (413)."""
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
    """Return the unknown members of operations (reference WRITE-28)."""
    return [
        f'json patch unknown field "[{index}].{name}"'
        for index, operation in enumerate(operations)
        if not operation.keys() <= MEMBERS
        for name in operation
        if name not in MEMBERS
    ]


def json_patch(document: Any, operations: list[dict[str, Any]]) -> Any:
    """Apply the operations and return the result. Raises CannotApply (422).

    `document` is modified in place, and the result may contain parts of `operations`: use neither afterwards.
    """
    patching = _Patching(document)
    for operation in operations:
        name = operation.get("op")
        act = _OPERATIONS.get(name) if type(name) is str else None
        try:
            if act is None:
                raise _Problem(f"Unexpected kind: {name if type(name) is str else 'unknown'}")
            act(patching, operation)
        except _Problem as problem:
            raise CannotApply(str(problem)) from None
    return patching.document


class _Patching(msgspec.Struct):
    """State of a patch: the document so far, the bytes copied and the list elements shifted."""

    document: Any
    copied_bytes: int = 0
    moved: int = 0

    def shift(self, size: int, place: int) -> None:
        """Count the elements after `place`, which an insertion or removal there shifts."""
        self.moved += size - place
        if self.moved > MAX_MOVED:
            raise _Problem("the patch moves too many elements of lists")

    def container(self, path: list[str], missing: str) -> Any:
        """Return the container of the last part of a path other than the root."""
        value = self.document
        for part in path[:-1]:
            value = _found(value, part)
        if type(value) is not dict and type(value) is not list:
            raise _Problem(f"{missing}: {MISSING_VALUE}")
        return value

    def add(self, container: Any, last: str, value: Any) -> None:
        """Set a member or insert an element."""
        if type(container) is dict:
            container[last] = value
            return
        size = len(container)
        place = size if last == "-" else _index(last, size + 1, f"value was not a proper array index: '{last}': ")
        self.shift(size, place)
        container.insert(place, value)

    def remove(self, container: Any, last: str) -> None:
        """Remove a member or an element."""
        if type(container) is dict:
            if last not in container:
                raise _Problem(f"Unable to remove nonexistent key: {last}: {MISSING_VALUE}")
            del container[last]
            return
        place = _index(last, len(container))
        self.shift(len(container), place)
        del container[place]

    def copy_of(self, value: Any) -> Any:
        """Return a deep copy of a value, counted against MAX_COPIED_BYTES."""
        try:
            text = orjson.dumps(value)
        except orjson.JSONEncodeError:
            raise _Problem("error while performing deep copy: nested too deeply") from None
        self.copied_bytes += len(text)
        if self.copied_bytes > MAX_COPIED_BYTES:
            raise _Problem(
                "Unable to complete the copy, the accumulated size increase of copy is "
                f"{self.copied_bytes}, exceeding the limit of {MAX_COPIED_BYTES}"
            )
        return loads(text)


def _add(patching: _Patching, operation: dict[str, Any]) -> None:
    path, parts = _pointer(operation, "path", "add")
    value = _value(operation, "add")
    if not parts:
        patching.document = value
        return
    container = patching.container(parts, f'add operation does not apply: doc is missing path: "{path}"')
    with _within(f"error in add for path: '{path}'"):
        patching.add(container, parts[-1], value)


def _remove(patching: _Patching, operation: dict[str, Any]) -> None:
    path, parts = _pointer(operation, "path", "remove")
    if not parts:
        patching.document = None
        return
    container = patching.container(parts, f'remove operation does not apply: doc is missing path: "{path}"')
    with _within(f"error in remove for path: '{path}'"):
        patching.remove(container, parts[-1])


def _replace(patching: _Patching, operation: dict[str, Any]) -> None:
    path, parts = _pointer(operation, "path", "replace")
    value = _value(operation, "replace")
    if not parts:
        patching.document = value
        return
    missing = "replace operation does not apply: doc is missing"
    container, last = patching.container(parts, f"{missing} path: {path}"), parts[-1]
    if _found(container, last) is _MISSING:
        raise _Problem(f"{missing} key: {path}: {MISSING_VALUE}")
    container[last if type(container) is dict else _index(last, len(container))] = value


def _move(patching: _Patching, operation: dict[str, Any]) -> None:
    origin, source = _pointer(operation, "from", "move")
    path, parts = _pointer(operation, "path", "move")
    if len(source) < len(parts) and parts[: len(source)] == source:
        raise _Problem(f"error in move for path: '{path}': nothing moves into itself")
    missing = "move operation does not apply: doc is missing"
    value = patching.document
    if source:
        container = patching.container(source, f"{missing} from path: {origin}")
        with _within(f"error in move for path: '{source[-1]}'"):
            value = _member(container, source[-1])
            patching.remove(container, source[-1])
    if not parts:
        patching.document = value
        return
    container = patching.container(parts, f"{missing} destination path: {path}")
    with _within(f"error in move for path: '{path}'"):
        patching.add(container, parts[-1], value)


def _copy(patching: _Patching, operation: dict[str, Any]) -> None:
    origin, source = _pointer(operation, "from", "copy")
    path, parts = _pointer(operation, "path", "copy")
    missing = "copy operation does not apply: doc is missing"
    value = patching.document
    if source:
        container = patching.container(source, f"{missing} from path: {origin}")
        with _within(f"error in copy for from: '{origin}'"):
            value = _member(container, source[-1])
    if not parts:
        patching.document = patching.copy_of(value)
        return
    container = patching.container(parts, f"{missing} destination path: {path}")
    with _within("error while adding value during copy"):
        patching.add(container, parts[-1], patching.copy_of(value))


def _test(patching: _Patching, operation: dict[str, Any]) -> None:
    """Fail unless the path has the expected value; a missing member equals null."""
    path, parts = _pointer(operation, "path", "test")
    expected = _value(operation, "test")
    found = patching.document
    if parts:
        container = patching.container(parts, f"test operation does not apply: is missing path: {path}")
        found = _found(container, parts[-1])
        if found is _MISSING and type(container) is list:
            with _within(f"error in test for path: '{path}'"):
                _index(parts[-1], len(container))
    if (found is _MISSING and expected is not None) or (found is not _MISSING and not _equal(found, expected)):
        raise _Problem(f"testing path {path} failed: test failed")


_OPERATIONS: Final[dict[str, Callable[[_Patching, dict[str, Any]], None]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


@contextmanager
def _within(place: str) -> Iterator[None]:
    """Prefix the text of a problem with `place`."""
    try:
        yield
    except _Problem as problem:
        raise _Problem(f"{place}: {problem}") from None


def _pointer(operation: dict[str, Any], name: str, what: str) -> tuple[str, list[str]]:
    """Return a JSON pointer (RFC 6901) and its decoded parts."""
    text = operation.get(name)
    if type(text) is not str or (text and text[0] != "/"):
        raise _Problem(f"{what} operation failed to decode {name}: {MISSING_VALUE}")
    parts = text.split("/")[1:]
    return text, [part.replace("~1", "/").replace("~0", "~") for part in parts] if "~" in text else parts


def _value(operation: dict[str, Any], what: str) -> Any:
    value = operation.get("value", _MISSING)
    if value is _MISSING:
        raise _Problem(f"{what} operation failed to decode value: {MISSING_VALUE}")
    return value


def _found(container: Any, part: str) -> Any:
    """Return the member or element that `part` names, or _MISSING."""
    if type(container) is dict:
        return container.get(part, _MISSING)
    if type(container) is not list:
        return _MISSING
    try:
        return container[_index(part, len(container))]
    except _Problem:
        return _MISSING


def _member(container: Any, part: str) -> Any:
    """Return the member or element that `part` names. Raises _Problem if it is missing."""
    if type(container) is list:
        return container[_index(part, len(container))]
    found = container.get(part, _MISSING)
    if found is _MISSING:
        raise _Problem(f"unable to get nonexistent key: {part}: {MISSING_VALUE}")
    return found


def _index(part: str, size: int, what: str = "") -> int:
    """Parse `part` as an index of a list of `size`; negative ones are converted. Raises _Problem."""
    digits = part.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 9 or (digits[0] == "0" and part != "0"):
        raise _Problem(f'{what}strconv.Atoi: parsing "{part}": invalid syntax')
    index = int(part)
    if not -size <= index < size:
        raise _Problem(f"Unable to access invalid index: {index}: invalid index referenced")
    return index if index >= 0 else index + size


def _equal(left: Any, right: Any) -> bool:
    """Compare JSON values: 1 equals 1.0, but not true."""
    return bool(left == right) and _same_types(left, right)


def _same_types(left: Any, right: Any) -> bool:
    """Report whether two values that are equal in Python do not confuse booleans with numbers."""
    if type(left) is dict:
        return all(_same_types(value, right[key]) for key, value in left.items())
    if type(left) is list:
        return all(map(_same_types, left, right))
    return (type(left) is bool) is (type(right) is bool)
