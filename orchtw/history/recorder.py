"""Recorder of writes: a subscriber of the store's feed, and the readers that wait for its records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred

from orchtw.errors import Expired, TooManyRequests
from orchtw.faults.struck import StruckFault
from orchtw.history.origin import UNKNOWN, WriteNote, WriteOrigin
from orchtw.history.resource import RecordedResources
from orchtw.history.ring import RecordedFault, RecordedWrite, Ring
from orchtw.metrics.series import COUNTER, GAUGE, Read, ShownFamily, one
from orchtw.naming.naming import Naming
from orchtw.registry.targets import Targets
from orchtw.storage.store import Change, Locked, Store
from orchtw.watch.turns import ReactorTurns

MOST_READERS: Final = 64
"""Readers of records at the same time. Each holds a position and a piece of text."""

MOST_STATE_READERS: Final = 4
"""Readers of past states at the same time. Each may hold on to records and objects that are gone by now."""


class Readers:
    """Count of readers, at most `limit`."""

    def __init__(self, limit: int) -> None:
        self.count = 0
        self._limit = limit

    def enter(self) -> Callable[[], None]:
        """Count a reader until the result is called. Raises TooManyRequests (429)."""
        if self.count >= self._limit:
            raise TooManyRequests("too many readers of the history", {"retryAfterSeconds": 1})
        self.count += 1
        return self._leave

    def _leave(self) -> None:
        self.count -= 1


class Recorder:
    """Record of the store's writes in memory, and of the faults after which nothing was stored, from `start` on.

    Writes of this process's write path have an origin. On a store that no other process uses, all others are the
    server's own. `seconds` returns the time since the epoch; readers are woken in `turns`.
    """

    def __init__(
        self,
        store: Store,
        targets: Targets,
        naming: Naming,
        turns: ReactorTurns,
        seconds: Callable[[], float],
        limit_bytes: int,
    ) -> None:
        self.resources = RecordedResources(targets, naming)
        self.ring = Ring(limit_bytes)
        self.head = 0
        self.turns = turns
        self._store = store
        self._targets = targets
        self.seconds = seconds
        self._limit_bytes = limit_bytes
        self._others = UNKNOWN if store.shared else WriteOrigin(naming.api_server_user)
        self._waiting: dict[Deferred[None], None] = {}
        self._waking = False
        self.readers = Readers(MOST_READERS)
        self.state_readers = Readers(MOST_STATE_READERS)

    async def start(self, revision: int) -> None:
        """Record every write after `revision`, which the caches have reached; before this server writes anything."""
        self.head = revision
        self.ring = Ring(self._limit_bytes, floor=revision)
        self._store.show_replaced()
        await self._store.subscribe(revision, self.deliver)

    def deliver(self, changes: Sequence[Change]) -> None:
        """Record a batch of committed writes, before their writers are answered."""
        now, resource = self.seconds(), None
        for change in changes:
            self.head = change.revision
            if resource is None or not change.key.startswith(resource.prefix):
                resource = self.resources.of(change.key)
            if resource is None:
                continue  # the server's own bookkeeping, or a mark that a revision has been reached
            note, previous = change.note, change.previous
            self.ring.append(RecordedWrite(
                revision=change.revision,
                time=now,
                key=change.key,
                resource=resource,
                value=change.value,
                previous=None if previous is None else previous.value,
                previous_revision=0 if previous is None else previous.revision,
                origin=note.origin if type(note) is WriteNote else self._others,
                unreadable=note.why if type(note) is Locked else "",
            ))  # fmt: skip
        self._wake_later()  # not now: the writers are answered first

    @property
    def position(self) -> int:
        """Return the number of the next record."""
        return self.ring.end

    def struck(self, fault: StruckFault, since: int) -> None:
        """Record a fault, as `FaultRecord.struck`; a write of its request names its rules itself."""
        ring = self.ring
        for number in range(max(since, ring.start), ring.end):
            record = ring.at(number)
            if type(record) is RecordedWrite and record.origin.audit_id == fault.audit_id:
                return
        target = self._targets.find(fault.group, fault.version, fault.resource)
        kind = "" if target is None else target.resource.kind
        ring.append_fault(RecordedFault(self.head, self.seconds(), fault, kind))
        self._wake_later()

    def _wake_later(self) -> None:
        if self._waiting and not self._waking:
            self._waking = True
            self.turns.later(self._wake)

    def more(self) -> Deferred[None]:
        """Return a Deferred that fires when more has been recorded; it may be cancelled."""
        waiting: Deferred[None] = Deferred(lambda cancelled: self._waiting.pop(cancelled, None))
        self._waiting[waiting] = None
        return waiting

    def _wake(self) -> None:
        self._waking = False
        waiting, self._waiting = self._waiting, {}
        for each in waiting:
            if not each.called:  # one may have ended another
                each.callback(None)

    def check_kept(self, revision: int) -> None:
        """Raise Expired (410) unless every write after `revision` is still recorded."""
        if revision < self.ring.floor:
            raise Expired(f"revision {revision} is no longer recorded: the record begins at {self.ring.floor}")

    def families(self) -> Iterable[ShownFamily[Any]]:
        """Return the metrics of the record."""
        return (
            Read(one(lambda: self.ring.used_bytes), "orchtw_history_bytes", GAUGE,
                 "Bytes of the recorded writes, out of --history-max-bytes."),
            Read(one(lambda: len(self.ring)), "orchtw_history_records", GAUGE, "Recorded writes and faults."),
            Read(one(lambda: self.ring.start), "orchtw_history_dropped_total", COUNTER,
                 "Recorded writes dropped to make room for others."),
            Read(one(lambda: self.readers.count + self.state_readers.count), "orchtw_history_readers", GAUGE,
                 "Responses being streamed from the record."),
        )  # fmt: skip
