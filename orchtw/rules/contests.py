"""Contests between writers that undo each other's changes, and the delays that end them (reference CTRL-53)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final

import msgspec
import orjson
from twisted.logger import Logger

from orchtw.wire.objects import Object

FIRST_S: Final = 1.0
LIMIT_S: Final = 300.0
QUIET_S: Final = 60.0
_QUIET_DELAYS: Final = 2
"""Quiet time after which a write counts as undisturbed, in multiples of its delay."""

PATIENCE: Final = 5
"""Most immediate repetitions of a write that is undone in a different way each time."""

MOST: Final = 20_000
"""Maximum number of objects recorded: those written last."""

_DIGEST_BYTES: Final = 16


class _Write(msgspec.Struct, kw_only=True):
    """Last write of an object: digests of its content (`said`) and of the state it replaced (`over`), and its time.

    `times` counts writes of this content in a row, `again` those that replaced the same state as the write before.
    `told_s` is the delay that was logged last.
    """

    said: bytes
    over: bytes
    at: float
    again: int = 0
    times: int = 1
    told_s: float = 0.0


class Contests:
    """Record of a process's corrections of objects; `seconds` is a monotonic clock.

    If another writer restores the previous state, the correction is repeated only after a delay that doubles each
    time, because the two would never stop otherwise. A write that is undone in a different way each time is repeated
    at once PATIENCE times. Deleting an object that was created here counts as undoing only from the second time on.
    """

    _log = Logger()

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._writes: OrderedDict[str, _Write] = OrderedDict()

    def due_in_s(self, key: str, content: Any, found: Callable[[], Any]) -> float:
        """Return the delay, in seconds, before `content` may replace the state that `found` returns.

        Both are JSON, or None for no object. Each delay is logged when it first applies.
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
            text = "{key}: another writer keeps undoing the same change ({times}×): waiting for {delay_s:g} s"
            self._log.warn(text, key=key, times=last.times, delay_s=delay_s)
        return wait_s

    def wrote(self, key: str, content: Any, found: Any) -> None:
        """Record that `content` has replaced the state `found`."""
        now, last = self._seconds(), self._writes.pop(key, None)
        fresh = _Write(said=_digest(content), over=_digest(found), at=now)
        if last is not None and last.said == fresh.said and now - last.at <= _quiet_s(last):
            fresh.times = last.times + 1
            fresh.again = last.again + 1 if last.over == fresh.over else last.again
        elif found is None:
            fresh.over = b""  # a creation: no digest matches, so the first deletion is not a contest
        self._writes[key] = fresh
        if len(self._writes) > MOST:
            self._writes.popitem(last=False)


def key_of(plural: str, namespace: str, name: str) -> str:
    """Return the key of an object, for logs too: `PLURAL NAMESPACE/NAME`, or `PLURAL NAME`."""
    return f"{plural} {namespace}/{name}" if namespace else f"{plural} {name}"


def content_of(obj: Object | None) -> Object | None:
    """Return an object without the metadata that every write changes: labels, annotations and finalizers stay."""
    if obj is None:
        return None
    meta = obj["metadata"]
    kept = {name: meta[name] for name in ("labels", "annotations", "finalizers") if meta.get(name)}
    return {**obj, "metadata": kept}


def _delay_s(last: _Write, over: bytes) -> float:
    """Return the delay before the same content may replace the state with digest `over`, in seconds."""
    steps = last.again + 1 if over == last.over else last.times - PATIENCE
    return min(FIRST_S * 2.0 ** min(steps - 1, 64), LIMIT_S) if steps > 0 else 0.0


def _quiet_s(last: _Write) -> float:
    """Return the time after a write from which the next one counts as the first again, in seconds."""
    return max(QUIET_S, _QUIET_DELAYS * max(_delay_s(last, last.over), _delay_s(last, b"")))


def _digest(content: Any) -> bytes:
    return blake2b(orjson.dumps(content, option=orjson.OPT_SORT_KEYS), digest_size=_DIGEST_BYTES).digest()
