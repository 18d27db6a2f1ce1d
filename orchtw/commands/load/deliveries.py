"""Comparison of writes with the events that watches deliver: lost, late, repeated and disordered ones.

An event is matched with the write that caused it by a key: the version of the object in the write's response, or the
object's uid where the response of a deletion or a binding does not tell the version.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import attrs
import msgspec

from orchtw.commands.load.histogram import Histogram

LATE_S: Final = 1.0
"""Delay after a write's response from which its event counts as late."""

EXPIRY_S: Final = 60.0
"""Delay after which a missing event counts as lost, and an event without a write as another client's."""

_IDENTITY: Final = re.compile(rb'"uid":"([^"]+)","resourceVersion":"(\d+)"')
_TYPE: Final = re.compile(rb'\{"type":"([A-Z]+)"')
_VERSION: Final = re.compile(rb'"resourceVersion":"(\d+)"')

Key = int | bytes


class SeenEvent(msgspec.Struct, frozen=True):
    """Event of a watch: its type, and uid and version of its object; a bookmark has no uid."""

    type: bytes
    uid: bytes
    version: int

    @property
    def keys(self) -> tuple[Key, ...]:
        """Return the keys of the writes that may have caused it."""
        if self.type == b"DELETED":
            return (deleted(self.uid),)
        return (self.version, appeared(self.uid)) if self.type == b"ADDED" else (self.version,)


def deleted(uid: bytes) -> bytes:
    """Return the key of an object's deletion."""
    return b"-" + uid


def appeared(uid: bytes) -> bytes:
    """Return the key of the write by which an object comes into the selection of a watch."""
    return b"+" + uid


def identity(body: bytes) -> tuple[bytes, int] | None:
    """Return the uid and version of the first object in JSON text without parsing it; None without an object."""
    found = _IDENTITY.search(body)
    return None if found is None else (found[1], int(found[2]))


def parsed(line: bytes) -> SeenEvent | None:
    """Return the event of a watch's line; None for one that is not an event of an object or a bookmark."""
    kind = _TYPE.match(line)
    if kind is None:
        return None
    if (found := identity(line)) is not None:
        return SeenEvent(kind[1], *found)
    version = _VERSION.search(line)
    return SeenEvent(kind[1], b"", int(version[1])) if version and kind[1] == b"BOOKMARK" else None


@attrs.define
class DeliveryCounts:
    """Numbers of deliveries, and their latencies from the sending of the write on."""

    events: int = 0
    compared: int = 0
    late: int = 0
    lost: int = 0
    repeated: int = 0
    disordered: int = 0
    relists: int = 0
    latencies: Histogram = attrs.field(factory=Histogram)

    def merge(self, other: DeliveryCounts) -> None:
        """Add the counts of another period."""
        for name in ("events", "compared", "late", "lost", "repeated", "disordered", "relists"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.latencies.merge(other.latencies)

    @property
    def wrong(self) -> int:
        """Return the number of violations: lost, repeated and disordered events."""
        return self.lost + self.repeated + self.disordered


class FollowedWatch:
    """One watch: the events that it is to deliver, and those that came before the response of their write."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._version: int | None = None
        self._last_uid = b""
        self._listed = 0
        self._expected: dict[Key, tuple[float, float]] = {}
        self._early: dict[Key, float] = {}

    @property
    def version(self) -> int | None:
        """Return the version that a watch is to go on from; None before a list."""
        return self._version

    @property
    def outstanding(self) -> int:
        """Return the number of events that are yet to come."""
        return len(self._expected)

    def listed(self, version: int) -> None:
        """Begin with a list: it has the effects of all writes before, whose events do not come any more."""
        if self._version is not None:
            self._ledger.counts.relists += 1
        self._version = self._listed = version
        self._expected.clear()
        self._early.clear()

    def expect(self, key: Key, version: int, sent_s: float, now_s: float) -> None:
        """Take note of a write that was sent at `sent_s` and answered now; `version` 0 is an unknown one."""
        if self._version is None or 0 < version <= self._listed:
            return
        seen_s = self._early.pop(key, None)
        if seen_s is None:
            self._expected[key] = (sent_s, now_s)
        else:
            self._delivered(seen_s - sent_s)

    def seen(self, event: SeenEvent, now_s: float) -> None:
        """Compare an event with the writes."""
        counts, last = self._ledger.counts, self._version or 0
        if event.version < last:
            counts.disordered += event.type != b"BOOKMARK"
        elif event.version == last and event.uid == self._last_uid and event.uid:
            counts.repeated += 1
        self._version = max(last, event.version)
        if event.type == b"BOOKMARK":
            return
        self._last_uid = event.uid
        counts.events += 1
        for key in event.keys:
            expected = self._expected.pop(key, None)
            if expected is None:
                self._early[key] = now_s
                continue
            sent_s, answered_s = expected
            counts.late += now_s - answered_s > LATE_S
            self._delivered(now_s - sent_s)

    def expire(self, now_s: float, after_s: float = EXPIRY_S) -> None:
        """Count expected events older than that as lost, and forget other clients' events."""
        while self._expected:
            key, (_, answered_s) = next(iter(self._expected.items()))
            if now_s - answered_s < after_s:
                break
            del self._expected[key]
            self._ledger.counts.lost += 1
        while self._early and now_s - next(iter(self._early.values())) >= after_s:
            del self._early[next(iter(self._early))]

    def _delivered(self, latency_s: float) -> None:
        self._ledger.counts.compared += 1
        self._ledger.counts.latencies.add(latency_s)


class Ledger:
    """All watches by their topic, such as `pods` or `pods of node-1`, and the counts of the interval and in total."""

    def __init__(self) -> None:
        self.counts = DeliveryCounts()
        self.total = DeliveryCounts()
        self._followers: defaultdict[str, list[FollowedWatch]] = defaultdict(list)

    def follower(self, topic: str) -> FollowedWatch:
        """Return a new watch of a topic."""
        made = FollowedWatch(self)
        self._followers[topic].append(made)
        return made

    def wrote(self, topics: Iterable[str], key: Key, version: int, sent_s: float, now_s: float) -> None:
        """Take note of an answered write, whose event all watches of the topics are to deliver."""
        for topic in topics:
            for follower in self._followers.get(topic, ()):
                follower.expect(key, version, sent_s, now_s)

    @property
    def outstanding(self) -> int:
        """Return the number of events that are yet to come, on all watches."""
        return sum(each.outstanding for each in self._all())

    def expire(self, now_s: float, after_s: float = EXPIRY_S) -> None:
        """Count events that have not come within that time as lost."""
        for each in self._all():
            each.expire(now_s, after_s)

    def take(self) -> DeliveryCounts:
        """Return the interval's counts, add them to the total and begin another interval."""
        taken, self.counts = self.counts, DeliveryCounts()
        self.total.merge(taken)
        return taken

    def _all(self) -> Iterable[FollowedWatch]:
        return (each for followers in self._followers.values() for each in followers)
