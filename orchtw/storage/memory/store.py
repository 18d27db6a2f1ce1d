"""The store in memory: writes are gathered for a turn of the reactor, decided in order and answered in the next."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, Final

import msgspec
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from orchtw import errors
from orchtw.config.storage import StorageOptions
from orchtw.metrics.series import GAUGE, Read, ShownFamily, one
from orchtw.storage.compaction import Retention
from orchtw.storage.feed import Feed
from orchtw.storage.keys import is_text, is_valid
from orchtw.storage.memory.expiry import Lifetimes
from orchtw.storage.memory.versions import Versions
from orchtw.storage.store import Change, KeyValue, Op, Page, Store, StoreHost, Subscription, Wanted, WriteOutcome

MAX_QUEUED_OPS: Final = 20_000
MAX_QUEUED_BYTES: Final = 64 << 20
MAX_BATCH_OPS: Final = 64
"""Limit of writes in one turn, with their events and answers: 64 take 5 to 20 ms, 256 would take up to 80 ms."""

HISTORY_BYTES: Final = 64 << 20
"""Size written since the last mark from which the history is cut early: it is kept in memory."""

CHANGE_BYTES: Final = 400
"""Size of a change in the history beside its value: key, numbers, and its places in lists."""

SWEEP_CHANGES: Final = 2000
"""Changes that are freed in one turn: some milliseconds."""

PAGE_ITEMS: Final = 5000
"""Keys that are listed in one turn: some milliseconds."""

EXPIRY_PAUSE_S: Final = 1.0
"""Interval between looks for ended values, so that those that end in one second share a turn."""

Answers = list[tuple[Deferred[WriteOutcome], WriteOutcome]]
Changes = list[Change]
Items = list[KeyValue]


class _Ticket(msgspec.Struct, frozen=True, eq=False):
    """A queued write; nobody waits for the end of a value."""

    op: Op
    waiting: Deferred[WriteOutcome] | None


Batch = list[_Ticket]


class _Replacement(msgspec.Struct, frozen=True, eq=False):
    """A queued replacement of the whole state."""

    ops: Sequence[Op]
    revision: int
    waiting: Deferred[int]


class MemoryStore(Store):
    """Store that ends with the process (reference STORE-39). See `Store`.

    `clock` runs the turns, times compaction and ends values. Every `compaction_interval_s` (0: never) the history is
    cut back to what was current one interval ago; when more than `history_bytes` have been written since, that is
    done before the interval is over. `max_queued_ops` and `max_queued_bytes` bound writes not yet answered.
    """

    _log = Logger()

    def __init__(
        self,
        *,
        clock: IReactorTime,
        compaction_interval_s: float = 300.0,
        max_queued_ops: int = MAX_QUEUED_OPS,
        max_queued_bytes: int = MAX_QUEUED_BYTES,
        history_bytes: int = HISTORY_BYTES,
    ) -> None:
        self._clock = clock
        self._versions = Versions()
        self._lifetimes = Lifetimes()
        self._feed = Feed()
        self._retention = Retention(
            self._compact, clock, interval_s=compaction_interval_s, limit_bytes=history_bytes
        )
        self._open = False
        self._queue: deque[_Ticket | _Replacement] = deque()
        self._queued_ops = self._queued_bytes = 0
        self._max_ops, self._max_bytes = max_queued_ops, max_queued_bytes
        self._turn: IDelayedCall | None = None
        self._sweep: IDelayedCall | None = None
        self._expiry: IDelayedCall | None = None

    @property
    def shared(self) -> bool:
        """Report False, as `Store.shared`: no other process can reach it."""
        return False

    async def start(self) -> None:
        """Implement `Store.start` for this store."""
        self._feed.revision = self._versions.revision
        self._retention.start(self._versions.revision)
        self._open = True
        self._log.warn("objects are stored in memory only: nothing is kept when this server ends")

    async def stop(self) -> None:
        """Implement `Store.stop` for this store."""
        if not self._open:
            return
        self._open = False
        self._retention.stop()
        for call in (self._turn, self._sweep, self._expiry):
            if call is not None:
                call.cancel()
        while self._queue:
            self._take_turn()

    async def get(self, key: str, revision: int = 0) -> KeyValue | None:
        """Implement `Store.get` for this store."""
        self._check_open()
        return self._versions.get(key, revision)

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, start: str = "") -> Page:
        """Implement `Store.list` for this store."""
        self._check_open()
        if not is_text(prefix + start):
            raise errors.BadRequest("the key is not valid text")
        if limit:
            return self._versions.page(prefix, revision, limit, start)
        items: Items = []
        async for page in self._pages(prefix, revision, start):
            items += page.items
            revision = page.revision
        return Page(items, revision)

    def scan(self, prefix: str, *, revision: int = 0, wanted: Wanted = None) -> AsyncIterator[Page]:
        """Implement `Store.scan` for this store."""
        return self._pages(prefix, revision, "")

    async def _pages(self, prefix: str, revision: int, start: str) -> AsyncIterator[Page]:
        """Yield the pages from `start` on, each in a turn of its own."""
        more = True
        while more:
            self._check_open()
            page = self._versions.page(prefix, revision, PAGE_ITEMS, start)
            yield page
            revision, more = page.revision, page.more
            if more:
                start = page.items[-1].key + "\0"
                await deferLater(self._clock, 0)

    def commit(self, op: Op) -> Deferred[WriteOutcome]:
        """Implement `Store.commit` for this store."""
        refusal = self._refusal(op)
        if refusal is not None:
            return fail(refusal)
        waiting: Deferred[WriteOutcome] = Deferred()
        self._queue_write(_Ticket(op, waiting))
        return waiting

    def replace(self, ops: Sequence[Op], revision: int) -> Deferred[int]:
        """Implement `Store.replace` for this store."""
        if not self._open:
            return fail(_closed())
        waiting: Deferred[int] = Deferred()
        self._queue.append(_Replacement(ops, revision, waiting))
        self._turn_soon()
        return waiting

    async def subscribe(self, after_revision: int, deliver: Callable[[Sequence[Change]], None]) -> Subscription:
        """Subscribe, as `Store.subscribe`; the whole history has been delivered when this returns."""
        self._check_open()
        return await self._feed.follow(after_revision, deliver, self._history)

    async def revision(self) -> int:
        """Implement `Store.revision` for this store."""
        self._check_open()
        return self._feed.revision

    async def compact(self, revision: int) -> None:
        """Compact, as `Store.compact`; what older states held is freed in the next turns."""
        self._check_open()
        if revision > self._feed.revision:
            raise errors.Timeout.future_version(revision, self._feed.revision)
        await self._compact(revision)

    async def check(self) -> None:
        """Check that the store is open, as `Store.check`."""
        self._check_open()

    async def alive(self) -> None:
        """Check that the store is open, as `Store.alive`."""
        self._check_open()

    def metrics(self) -> Iterable[ShownFamily[Any]]:
        """Implement `Store.metrics` for this store."""
        return (
            Read(one(lambda: self._queued_ops), "orchtw_store_queued_writes", GAUGE, "Writes in progress."),
            Read(one(lambda: self._queued_bytes), "orchtw_store_queued_bytes", GAUGE, "Bytes of writes in progress."),
            Read(one(lambda: self._versions.changes), "orchtw_store_history_changes", GAUGE,
                 "Writes in the history of the store in memory."),
        )  # fmt: skip

    def _check_open(self) -> None:
        if not self._open:
            raise _closed()

    def _refusal(self, op: Op) -> errors.StatusError | None:
        if not self._open:
            return _closed()
        if self._queued_ops >= self._max_ops or self._queued_bytes >= self._max_bytes:
            return errors.TooManyRequests("too many writes are waiting for the store", {"retryAfterSeconds": 1})
        if not is_valid(op.key):
            return errors.BadRequest("the key is not valid text")
        return None

    def _queue_write(self, ticket: _Ticket) -> None:
        self._queued_ops += 1
        self._queued_bytes += len(ticket.op.value or b"")
        self._queue.append(ticket)
        self._turn_soon()

    def _turn_soon(self) -> None:
        if self._turn is None:
            self._turn = self._clock.callLater(0, self._take_turn)

    def _take_turn(self) -> None:
        """Decide what has been queued, as much as one turn takes; the rest follows in the next ones."""
        self._turn = None
        batch: Batch = []
        replacement: _Replacement | None = None
        while self._queue and len(batch) < MAX_BATCH_OPS:
            entry = self._queue.popleft()
            if isinstance(entry, _Replacement):
                replacement = entry
                break
            batch.append(entry)
        if batch:
            self._commit(batch)
        if replacement is not None:
            self._replace(replacement)
        if self._queue and self._open:
            self._turn_soon()

    def _commit(self, batch: Sequence[_Ticket]) -> None:
        """Commit a batch, and tell of it: first the subscribers, then the writers."""
        changes: Changes = []
        answers: Answers = []
        size = 0
        for ticket in batch:
            outcome = self._write(ticket.op, changes)
            size += len(ticket.op.value or b"")
            if ticket.waiting is not None:
                answers.append((ticket.waiting, outcome))
        self._queued_ops -= len(batch)
        self._queued_bytes -= size
        self._publish(changes)
        for waiting, outcome in answers:
            waiting.callback(outcome)

    def _replace(self, asked: _Replacement) -> None:
        """Commit all of it, in a batch of its own, or nothing."""
        if asked.revision != self._versions.revision:
            asked.waiting.callback(0)
            return
        changes = self._versions.replace(asked.ops)
        if self._lifetimes or any(op.ttl_s for op in asked.ops):
            ttls_s = {op.key: op.ttl_s for op in asked.ops}
            for change in changes:
                self._note_end(ttls_s[change.key], change)
        self._publish(changes)
        asked.waiting.callback(self._versions.revision)

    def _write(self, op: Op, changes: Changes) -> WriteOutcome:
        outcome, change = self._versions.write(op)
        if change is not None:
            changes.append(change)
            self._note_end(op.ttl_s, change)
        return outcome

    def _note_end(self, ttl_s: float, change: Change) -> None:
        """Note when a value that has just been written ends, if it does."""
        if ttl_s:
            self._lifetimes.put(change.key, change.revision, self._clock.seconds() + ttl_s)
            self._expire_later()
        elif self._lifetimes:
            self._lifetimes.drop(change.key)

    def _publish(self, changes: Sequence[Change]) -> None:
        if changes:
            self._feed.publish(changes)
            size = sum(len(change.value or b"") for change in changes) + CHANGE_BYTES * len(changes)
            self._retention.wrote(self._feed.revision, size)

    async def _history(self, after: int, upto: int) -> Sequence[Change]:
        return self._versions.since(after, upto)

    def _compact(self, revision: int) -> Deferred[None]:
        self._versions.compact(revision)
        if self._sweep is None and self._versions.sweeps:
            self._sweep = self._clock.callLater(0, self._sweep_some)
        return succeed(None)

    def _sweep_some(self) -> None:
        self._versions.sweep(SWEEP_CHANGES)
        self._sweep = self._clock.callLater(0, self._sweep_some) if self._versions.sweeps else None

    def _expire_later(self, least_s: float = 0.0) -> None:
        """Look for ended values when the first one ends, but not before `least_s` have passed."""
        end_s = self._lifetimes.next_s()
        if end_s is None or not self._open:
            return
        wait_s = max(least_s, end_s - self._clock.seconds(), 0.0)
        if self._expiry is None:
            self._expiry = self._clock.callLater(wait_s, self._expire)
        elif not least_s and self._clock.seconds() + wait_s < self._expiry.getTime() - EXPIRY_PAUSE_S:
            self._expiry.reset(wait_s)

    def _expire(self) -> None:
        """Delete the keys whose end has come, unless they have been written since."""
        self._expiry = None
        due = self._lifetimes.due(self._clock.seconds(), MAX_BATCH_OPS)
        for key, revision in due:
            self._queue_write(_Ticket(Op(key, None, revision), None))
        self._expire_later(0.0 if len(due) == MAX_BATCH_OPS else EXPIRY_PAUSE_S)


def _closed() -> errors.ServiceUnavailable:
    return errors.ServiceUnavailable("the store is not open")


def in_process(host: StoreHost, options: StorageOptions) -> MemoryStore:
    """Return an empty store for this process."""
    return MemoryStore(clock=host.reactor, compaction_interval_s=options.etcd.compaction_interval_s)
