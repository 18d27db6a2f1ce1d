"""Messages between owner and workers about the store, as bytes.

Changes, states and pages are packed by hand: fixed numbers first, then key and values as they are. Each function that
reads raises Malformed for bytes that cannot have been written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from struct import Struct, error
from typing import Any, Final, ParamSpec, TypeVar

import msgspec
import orjson

from orchtw import errors
from orchtw.storage.remote.frames import Malformed
from orchtw.storage.store import Change, Damaged, KeyValue, Op, Page, Terms, terms_of
from orchtw.wire.json_values import loads

P = ParamSpec("P")
T = TypeVar("T")

PART_BYTES: Final = 4 << 20
"""Size of a part: long contents go in several messages, of this size and one value more."""


class MessageKind(IntEnum):
    """Kind of a message: up to GREETING from a worker, the others from the owner."""

    COMMIT = 1
    GET = 2
    LIST = 3
    HISTORY = 4
    COMPACT = 5
    CHECK = 6
    ALIVE = 7
    RECEIVED = 8
    READY = 9
    ASK = 10
    SCAN = 11
    NEXT = 12
    LEAVE = 13

    GREETING = 32
    BATCH = 33
    RELEASE = 34
    REFUSED = 35
    FAILED = 36
    STATE = 37
    PAGE = 38
    PAST = 39
    DONE = 40
    ADMITTED = 41
    PING = 42
    TOLD = 43
    END = 45
    KNOWN = 46
    FENCED = 47


NUMBER: Final = Struct("<Q")
PAIR: Final = Struct("<QQ")
_COMMIT: Final = Struct("<QqdIiqII")
"""Id, expected (-1: anything goes), time to live, lengths of key and value, revision of the guard (-1: there is none)
and length of its key, length of the terms."""
_LIST: Final = Struct("<QQQI")  # id, revision, limit, length of the prefix
_HISTORY: Final = Struct("<QQQ")
_CHANGE: Final = Struct("<QIiQQiIQI")  # revision, key, value; what it replaced; whose it is; terms
_STATE: Final = Struct("<QQII")  # revision, creation, length of key and value
_PAGE: Final = Struct("<QQQBII")  # id, revision, remaining, flags, numbers of items and of damaged ones
_DAMAGED: Final = Struct("<QII")
_MORE, _LAST = 1, 2
_NONE: Final = -1


class Origin(msgspec.Struct, frozen=True):
    """Note of a worker's write: the worker, its number there, and the terms of its note."""

    worker: int
    write: int
    terms: bytes = b""


def reading(function: Callable[P, T]) -> Callable[P, T]:
    """Return a reading function that raises Malformed for any fault."""

    def read(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except (error, ValueError, KeyError, IndexError, TypeError) as problem:
            raise Malformed(str(problem)) from problem

    return read


def commit(number: int, op: Op) -> bytes:
    """Return a write, as a message or a part of one. Raises UnicodeEncodeError for a key that is not text."""
    key, value = op.key.encode(), op.value
    expected = _NONE if op.expected is None else op.expected
    length = _NONE if value is None else len(value)
    guard, held = ("", _NONE) if op.guard is None else op.guard
    fence = guard.encode()
    terms = terms_of(op.note)
    head = _COMMIT.pack(number, expected, op.ttl_s, len(key), length, held, len(fence), len(terms))
    return b"".join((head, key, value or b"", fence, terms))


@reading
def read_commits(data: bytes, worker: int) -> tuple[list[int], list[Op]]:
    """Return the numbers of the writes of a message, and the writes in their order."""
    numbers, ops = [], []
    at, size = 0, _COMMIT.size
    while at < len(data):
        number, expected, ttl_s, key_length, length, held, fence_length, terms_length = _COMMIT.unpack_from(data, at)
        begin = at + size
        middle = begin + key_length
        end = middle + max(length, 0)
        fenced = end + fence_length
        at = fenced + terms_length
        key = data[begin:middle].decode()
        value = None if length == _NONE else data[middle:end]
        origin = Origin(worker, number, data[fenced:at])
        guard = None if held == _NONE else (data[end:fenced].decode(), held)
        numbers.append(number)
        ops.append(Op(key, value, None if expected == _NONE else expected, origin, ttl_s, guard))
    _ends(data, at)
    return numbers, ops


def get(number: int, key: str, revision: int) -> bytes:
    """Return a request for one key. Raises UnicodeEncodeError."""
    return PAIR.pack(number, revision) + key.encode()


@reading
def read_get(data: bytes) -> tuple[int, str, int]:
    """Return number, key and revision of such a request."""
    number, revision = PAIR.unpack_from(data)
    return number, data[PAIR.size :].decode(), revision


def list_of(number: int, prefix: str, revision: int, limit: int, start: str) -> bytes:
    """Return a request for a page. Raises UnicodeEncodeError."""
    head = prefix.encode()
    return b"".join((_LIST.pack(number, revision, limit, len(head)), head, start.encode()))


@reading
def read_list(data: bytes) -> tuple[int, str, int, int, str]:
    """Return number, prefix, revision, limit and start of a request for a page."""
    number, revision, limit, length = _LIST.unpack_from(data)
    middle = _LIST.size + length
    if middle > len(data):
        raise Malformed("list without a prefix")
    return number, data[_LIST.size : middle].decode(), revision, limit, data[middle:].decode()


def scan(number: int, prefix: str, revision: int) -> bytes:
    """Return a request to scan a prefix, page by page. Raises UnicodeEncodeError."""
    return PAIR.pack(number, revision) + prefix.encode()


def history(number: int, after: int, upto: int) -> bytes:
    """Return a request for past changes."""
    return _HISTORY.pack(number, after, upto)


@reading
def read_history(data: bytes) -> tuple[int, int, int]:
    """Return number, first and last revision of a request for past changes."""
    number, after, upto = _HISTORY.unpack(data)
    return number, after, upto


@reading
def read_number(data: bytes) -> int:
    """Return the one number of a message."""
    found: int = NUMBER.unpack(data)[0]
    return found


@reading
def read_pair(data: bytes) -> tuple[int, int]:
    """Return the two numbers of a message."""
    first, second = PAIR.unpack(data)
    return first, second


@reading
def read_numbered(data: bytes) -> tuple[int, bytes]:
    """Return a number and the rest of the message."""
    return NUMBER.unpack_from(data)[0], data[NUMBER.size :]


def changes(batch: Sequence[Change], to_worker: int = 0) -> Iterator[bytes]:
    """Yield changes in order, in as many parts as their size needs.

    Of the writes of the worker `to_worker` the values are left out: it has them.
    """
    parts: list[bytes] = []
    size = 0
    for change in batch:
        key, value, before, note = change.key.encode(), change.value, change.previous, change.note
        origin = (note.worker, note.write) if type(note) is Origin else (0, 0)
        terms = terms_of(note)
        if value is not None and to_worker and origin[0] == to_worker:
            value, terms = None, b""
        was = (0, 0, _NONE) if before is None else (before.revision, before.create_revision, len(before.value))
        length = _NONE if value is None else len(value)
        parts += (_CHANGE.pack(change.revision, len(key), length, *was, *origin, len(terms)), key)
        if value:
            parts.append(value)
        if before is not None:
            parts.append(before.value)
        if terms:
            parts.append(terms)
        size += len(key) + max(length, 0) + max(was[2], 0)
        if size >= PART_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


Answered = tuple[int, int]
"""Number of a write, and the revision at which it was committed."""


@reading
def read_changes(
    data: bytes, worker: int, own: Mapping[int, Op], start: int = 0
) -> tuple[list[Change], list[Answered]]:
    """Return the changes from position `start` on: those of `worker` with notes and values of its `own` writes, the
    others with their terms.

    The second value holds the answers to these writes. Raises Malformed if one of them is unknown.
    """
    found = []
    answered = []
    at, size = start, _CHANGE.size
    while at < len(data):
        revision, key_length, length, was, created, was_length, origin, write, terms = _CHANGE.unpack_from(data, at)
        begin = at + size
        middle = begin + key_length
        end = middle + max(length, 0)
        last = end + max(was_length, 0)
        at = last + terms
        key = data[begin:middle].decode()
        previous = None if was_length == _NONE else KeyValue(key, data[end:last], was, created)
        op = own.get(write) if origin == worker else None
        if op is not None:
            answered.append((write, revision))
            found.append(Change(revision, op.key, op.value, previous, op.note))
        elif origin and origin == worker:
            raise Malformed(f"change by unknown write {write}")
        else:
            value = None if length == _NONE else data[middle:end]
            found.append(Change(revision, key, value, previous, Terms(data[last:at]) if terms else None))
    _ends(data, at)
    return found, answered


def past(number: int, part: bytes, *, last: bool) -> bytes:
    """Return a part of the answer to `history`."""
    return b"".join((NUMBER.pack(number), b"\1" if last else b"\0", part))


@reading
def read_past(data: bytes) -> tuple[int, bool, list[Change]]:
    """Return number, a flag for the last part, and the changes, without their origins."""
    return NUMBER.unpack_from(data)[0], data[NUMBER.size] == 1, read_changes(data, 0, {}, NUMBER.size + 1)[0]


def _state(item: KeyValue) -> tuple[bytes, bytes, bytes]:
    key = item.key.encode()
    return _STATE.pack(item.revision, item.create_revision, len(key), len(item.value)), key, item.value


def _read_state(data: bytes, at: int) -> tuple[KeyValue, int]:
    revision, created, key_length, length = _STATE.unpack_from(data, at)
    begin = at + _STATE.size
    middle = begin + key_length
    end = middle + length
    return KeyValue(data[begin:middle].decode(), data[middle:end], revision, created), end


def state(number: int, item: KeyValue | None) -> bytes:
    """Return the answer to `get`, and to a refused write: the current state."""
    return NUMBER.pack(number) + (b"" if item is None else b"".join(_state(item)))


@reading
def read_state(data: bytes) -> tuple[int, KeyValue | None]:
    """Return the number, and the state found or None."""
    number = NUMBER.unpack_from(data)[0]
    if len(data) == NUMBER.size:
        return number, None
    item, end = _read_state(data, NUMBER.size)
    _ends(data, end)
    return number, item


def page(number: int, found: Page) -> Iterator[bytes]:
    """Yield the answer to `list_of` in parts; the last one is marked and names the damaged keys."""
    parts: list[bytes] = []
    size = count = 0
    head = (number, found.revision, found.remaining)
    for item in found.items:
        parts += _state(item)
        count += 1
        size += len(item.value)
        if size >= PART_BYTES:
            yield b"".join((_PAGE.pack(*head, 0, count, 0), *parts))
            parts, size, count = [], 0, 0
    for lost in found.damaged:
        key, locked = lost.key.encode(), lost.locked.encode()
        parts += (_DAMAGED.pack(lost.revision, len(key), len(locked)), key, locked)
    flags = _LAST | (_MORE if found.more else 0)
    yield b"".join((_PAGE.pack(*head, flags, count, len(found.damaged)), *parts))


@reading
def read_page(data: bytes) -> tuple[int, bool, Page]:
    """Return number, a flag for the last part, and the page."""
    number, revision, remaining, flags, count, lost = _PAGE.unpack_from(data)
    items, damaged = [], []
    at = _PAGE.size
    for _ in range(count):
        item, at = _read_state(data, at)
        items.append(item)
    for _ in range(lost):
        at_revision, key_length, length = _DAMAGED.unpack_from(data, at)
        middle = at + _DAMAGED.size + key_length
        key, locked = data[at + _DAMAGED.size : middle].decode(), data[middle : middle + length].decode()
        damaged.append(Damaged(key, at_revision, locked))
        at = middle + length
    _ends(data, at)
    return number, bool(flags & _LAST), Page(items, revision, bool(flags & _MORE), remaining, damaged)


def failed(number: int, problem: BaseException) -> bytes:
    """Return an error as the answer."""
    if not isinstance(problem, errors.StatusError):
        problem = errors.InternalError.of(f"{type(problem).__name__}: {problem}")
    said = [type(problem).__name__, problem.message, problem.details, problem.metadata]
    return NUMBER.pack(number) + orjson.dumps(said)


@reading
def read_failed(data: bytes) -> tuple[int, errors.StatusError]:
    """Return the number, and the error as the owner raised it."""
    name, message, details, metadata = loads(data[NUMBER.size :])
    kind: Any = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, errors.StatusError)):
        raise Malformed(f"unknown error {name}")
    made = kind.__new__(kind)
    errors.StatusError.__init__(made, message, details, metadata)
    return NUMBER.unpack_from(data)[0], made


def _ends(data: bytes, at: int) -> None:
    if at != len(data):
        raise Malformed(f"{len(data)} bytes instead of {at}")
