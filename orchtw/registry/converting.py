"""Computations that may need conversions by webhooks, awaited in between."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Final, Protocol, TypeVar

import orjson

from orchtw.errors import InternalError
from orchtw.schema.codec.json_text import load_json
from orchtw.wire.objects import Object

T = TypeVar("T")

Known = dict[tuple[str, bytes], bytes]
"""Finished conversions: from a wanted apiVersion and an object's JSON to the JSON in that version."""

MAX_CONVERSIONS: Final = 64
"""Conversions in one computation: an apply through one version takes two for every other version of an owner."""

_known: ContextVar[Known | None] = ContextVar("known", default=None)


class Worker(Protocol):
    """Worker for long conversions, such as `Offload`."""

    def inline(self, size_bytes: int) -> bool: ...

    async def run(self, size_bytes: int, work: Callable[[], T]) -> T: ...


class Unconverted(Exception):
    """Error: an object is needed in another version; `make` adds it to what is known, for the next try."""

    def __init__(self, make: Callable[[Known], Awaitable[None]]) -> None:
        super().__init__("an object has not been converted")
        self.make = make


def known_conversion(obj: Object, wanted: str) -> tuple[bytes, Object | None]:
    """Return the JSON of an object, and a private copy in another version if this computation knows it."""
    text = orjson.dumps(obj)
    found = (_known.get() or {}).get((wanted, text))
    return text, None if found is None else load_json(found)


async def run_converting(worker: Worker, size_bytes: int, work: Callable[[], T]) -> T:
    """Return the result of `worker.run(size_bytes, work)`, restarting `work` after each conversion that it needs.

    Raises what `work` and the conversions raise.
    """
    try:
        return work() if worker.inline(size_bytes) else await worker.run(size_bytes, work)
    except Unconverted as needs:
        missing = needs
    known: Known = {}

    def informed() -> T:
        token = _known.set(known)
        try:
            return work()
        finally:
            _known.reset(token)

    for _ in range(MAX_CONVERSIONS):
        await missing.make(known)
        try:
            return await worker.run(size_bytes, informed)
        except Unconverted as needs:
            missing = needs
    raise InternalError.of("an object needs too many conversions")
