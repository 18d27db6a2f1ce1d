"""A kind of request, for `bench.holdup`, and what builds long bodies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.http1 import JSON

LIMIT_BYTES = (3 << 20) - 1024
"""What a body may be, less what stands around a builder's part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request. `path` may hold `{namespace}` (the path of a fresh one), `{pods}` (a large collection), `{core}`.

    `head` builds further lines, each with its end; `zipped` asks for a compressed answer.
    """

    method: str
    path: str
    body: Callable[[], bytes] = bytes
    content_type: str = JSON
    accept: str = JSON
    head: Callable[[], bytes] = bytes
    zipped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Case(Step):
    """A request that is measured, and those that must have gone well before it."""

    name: str
    before: tuple[Step, ...] = ()


def repeated(head: bytes, part: bytes, tail: bytes, count: int = 0) -> Callable[[], bytes]:
    """Builds `head`, `part` so many times (0: as a body may hold) with commas between, and `tail`."""
    times = count or LIMIT_BYTES // (len(part) + 1)
    return lambda: head + b",".join([part] * times) + tail


def numbered(head: bytes, part: str, tail: bytes, count: int = 0) -> Callable[[], bytes]:
    """Return the same, with the number of each part in the place of its `%d`."""
    times = count or LIMIT_BYTES // (len(part) + 6)
    return lambda: head + b",".join((part % number).encode() for number in range(times)) + tail
