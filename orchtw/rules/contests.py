"""Contests between writers that undo each other's changes, and the delays that end them (reference CTRL-53)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final

import attrs
import orjson
from twisted.logger import Logger

from orchtw.wire.objects import Object

FIRST_S: Final = 1.0
LIMIT_S: Final = 300.0
QUIET_S: Final = 60.0
_QUIET_DELAYS: Final = 2
"""So long after a write, and twice its delay, nobody is in its way any more."""

PATIENCE: Final = 5
"""So often the same is written at once where it is undone in a new way each time."""

MOST: Final = 20_000
"""Objects that are remembered: the ones written last."""

_DIGEST_BYTES: Final = 16


@attrs.define(slots=True, kw_only=True)
class _Write:
    """The last write of an object: what it said, in the place of what, and when.

    `again` is how often in a row the same was written in the place of the same, `times` how often at all.
    """

    said: bytes
    over: bytes
    at: float
    again: int = 0
    times: int = 1
    told_s: float = 0.0


class Contests:
    """Record of a process' corrections of objects; `seconds` is a monotonic clock.

    When another writer has put back what was there before, the same is not written again at once but after a delay,
    twice as long each time: both would else go on for ever. A writer that undoes it in ever new ways is answered at
    once a few times. An object that is gone was there before only if it has been gone before.
    """

    _log = Logger()

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._writes: OrderedDict[str, _Write] = OrderedDict()

    def due_in_s(self, key: str, content: Any, found: Callable[[], Any]) -> float:
        """Return the delay before `content` may be written in the place of what `found` returns, in seconds.

        Both are JSON; None: there is no object. Each delay is logged when it first applies.
        """
        last = self._writes.get(key)
        if last is None or last.said != _digest(content):
            return 0.0
        delay_s = _delay_s(last, _digest(found()))
        wait_s = last.at + delay_s - self._seconds()
        if wait_s <= 0:
            return 0.0
        if last.told_s != delay_s:
            last.told_s = delay_s
            text = "{key}: another writer undoes the same change, for the {times}. time: it waits for {delay_s:g} s"
            self._log.warn(text, key=key, times=last.times, delay_s=delay_s)
        return wait_s

    def wrote(self, key: str, content: Any, found: Any) -> None:
        """`content` has been written in the place of what was `found`."""
        now, last = self._seconds(), self._writes.pop(key, None)
        fresh = _Write(said=_digest(content), over=_digest(found), at=now)
        if last is not None and last.said == fresh.said and now - last.at <= _quiet_s(last):
            fresh.times = last.times + 1
            fresh.again = last.again + 1 if last.over == fresh.over else last.again
        elif found is None:
            fresh.over = b""  # it is new, and nobody has taken it away
        self._writes[key] = fresh
        if len(self._writes) > MOST:
            self._writes.popitem(last=False)


def key_of(plural: str, namespace: str, name: str) -> str:
    """An object as people know it."""
    return f"{plural} {namespace}/{name}" if namespace else f"{plural} {name}"


def content_of(obj: Object | None) -> Object | None:
    """Return the content of an object without the metadata that each write changes."""
    if obj is None:
        return None
    meta = obj["metadata"]
    kept = {name: meta[name] for name in ("labels", "annotations", "finalizers") if meta.get(name)}
    return {**obj, "metadata": kept}


def _delay_s(last: _Write, over: bytes) -> float:
    """For how long the same is not written again in the place of that."""
    steps = last.again + 1 if over == last.over else last.times - PATIENCE
    return min(FIRST_S * 2.0 ** min(steps - 1, 64), LIMIT_S) if steps > 0 else 0.0


def _quiet_s(last: _Write) -> float:
    """Return how long after a write the next one counts as the first again, in seconds."""
    return max(QUIET_S, _QUIET_DELAYS * max(_delay_s(last, last.over), _delay_s(last, b"")))


def _digest(content: Any) -> bytes:
    return blake2b(orjson.dumps(content, option=orjson.OPT_SORT_KEYS), digest_size=_DIGEST_BYTES).digest()
