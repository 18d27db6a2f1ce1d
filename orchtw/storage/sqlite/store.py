"""The embedded store: one SQLite file, one writer thread, a few reader threads.

This module is the reactor's side: limits, subscribers, the compaction timer. The other modules of the package are
the threads' side.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IReactorTime

from orchtw import errors
from orchtw.config.storage import StorageOptions
from orchtw.metrics.series import GAUGE, Read, ShownFamily, Single, one
from orchtw.storage.compaction import Retention
from orchtw.storage.counts import Counts
from orchtw.storage.feed import Feed
from orchtw.storage.keys import is_text, is_valid
from orchtw.storage.sqlite import reader, scan
from orchtw.storage.sqlite.file import StoreFile
from orchtw.storage.sqlite.gathering import Gathering
from orchtw.storage.sqlite.plan import Answers
from orchtw.storage.sqlite.reader import Readers
from orchtw.storage.sqlite.writer import Writer
from orchtw.storage.store import (
    Change,
    KeyValue,
    Op,
    Page,
    Store,
    StoreHost,
    Subscription,
    Translation,
    Wanted,
    WriteOutcome,
)

T = TypeVar("T")

CHECK_TIMEOUT_S = 5.0
MAX_QUEUED_OPS = 20_000
MAX_QUEUED_BYTES = 64 << 20
HISTORY_BYTES = 512 << 20  # written since the last mark: 8 minutes of 6 KiB objects at 180 a second
ROW_BYTES = 260  # what a row takes beside its value: key, numbers, and its entry in the index

FILE = "store.sqlite"
SUFFIXES = ("", "-wal", "-shm", ".lock")
"""Suffixes of the store's own file, and of the files beside it."""


class SqliteStore(Store):
    """Store in one SQLite file, started and stopped once. See `Store`.

    The threads cross to `reactor`, which runs this side; `clock` times compaction and health checks. Every
    `compaction_interval_s` (0: never) the history is cut back to what was current one interval ago; when more than
    `history_bytes` have been written since, that is done before the interval is over. `quota_bytes` bounds the file
    (0: only the disk does). `max_queued_ops` and `max_queued_bytes` bound writes not yet answered. A store of another
    vocabulary is rewritten once with the `translation` from it; without one it is refused. With `erases` nothing that
    was deleted stays in the file (reference STORE-37). Unless it is `durable`, writes are answered before they are on
    the disk.
    """

    @property
    def shared(self) -> bool:
        """Report False, as `Store.shared`: the file is locked."""
        return False

    def __init__(
        self,
        path: str,
        vocabulary: str = "orch",
        *,
        reactor: Any,
        clock: IReactorTime,
        compaction_interval_s: float = 300.0,
        readers: int = 2,
        quota_bytes: int = 0,
        max_queued_ops: int = MAX_QUEUED_OPS,
        max_queued_bytes: int = MAX_QUEUED_BYTES,
        history_bytes: int = HISTORY_BYTES,
        translation: Callable[[str], Translation] | None = None,
        erases: bool = False,
        durable: bool = True,
    ) -> None:
        self._reactor = reactor
        self._clock = clock
        self._file = StoreFile(
            path=path,
            vocabulary=vocabulary,
            quota_bytes=quota_bytes,
            translation=translation,
            erases=erases,
            durable=durable,
        )
        self._writer = Writer(self._file, reactor, self._deliver)
        self._gathering = Gathering(self._writer.submit, lambda work: reactor.callLater(0, work))
        self._counts = Counts()
        self._readers = Readers(self._file, reactor, readers)
        self._feed = Feed()
        self._open = False
        self._retention = Retention(
            self._writer.compact, clock, interval_s=compaction_interval_s, limit_bytes=history_bytes
        )
        self._max_ops, self._max_bytes = max_queued_ops, max_queued_bytes
        self._queued_ops = self._queued_bytes = 0

    def probe(self) -> None:
        """Lock the file, open or create it, and close it again, as `Store.probe`."""
        self._file.open().close()

    def release(self) -> None:
        """Implement `Store.release` for this store."""
        if not self._open:
            self._file.release()

    async def start(self) -> None:
        """Implement `Store.start` for this store."""
        self._feed.revision = await self._writer.start()
        if not self._file.alone:
            self._readers.start()
        self._open = True
        self._retention.start(self._feed.revision)

    async def stop(self) -> None:
        """Implement `Store.stop` for this store."""
        if not self._open:
            self.release()
            return
        self._open = False
        self._retention.stop()
        self._gathering.flush()
        self._readers.stop()  # before the writer: the last to close folds the log into the file
        await self._writer.stop()

    def show_replaced(self) -> None:
        """Implement `Store.show_replaced` for this store."""
        self._writer.shows_replaced = True

    async def get(self, key: str, revision: int = 0) -> KeyValue | None:
        """Implement `Store.get` for this store."""
        if not is_text(key):
            return None
        return await self._read(lambda connection: reader.get(connection, key, revision))

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, start: str = "") -> Page:
        """Implement `Store.list` for this store."""
        if not is_text(prefix + start):
            raise errors.BadRequest("the key is not valid text")
        return await self._read(
            lambda connection: reader.list_page(connection, prefix, revision, limit, start, self._counts)
        )

    def scan(self, prefix: str, *, revision: int = 0, wanted: Wanted = None) -> AsyncIterator[Page]:
        """Implement `Store.scan` for this store."""
        index, self._writer.index = self._writer.index, None
        if index is not None and (revision or self._feed.revision) != index.revision:
            index = None
        return scan.pages(self._ask, prefix, index.revision if index else revision, wanted, index)

    def commit(self, op: Op) -> Deferred[WriteOutcome]:
        """Implement `Store.commit` for this store."""
        waiting = self._accepted(op)
        self._gathering.proceed()
        return waiting

    def commit_all(self, ops: Sequence[Op]) -> Sequence[Deferred[WriteOutcome]]:
        """Implement `Store.commit_all` for this store."""
        waiting = [self._accepted(op) for op in ops]
        self._gathering.at_once()
        return waiting

    def replace(self, ops: Sequence[Op], revision: int) -> Deferred[int]:
        """Implement `Store.replace` for this store."""
        if not self._open:
            return fail(_closed())
        self._gathering.flush()
        return self._writer.replace(ops, revision, self._deliver_replaced)

    def _accepted(self, op: Op) -> Deferred[WriteOutcome]:
        waiting: Deferred[WriteOutcome] = Deferred()
        refusal = self._refusal(op)
        if refusal is not None:
            waiting.errback(refusal)
            return waiting
        self._queued_ops += 1
        self._queued_bytes += len(op.value or b"")
        self._gathering.add((op, waiting))
        return waiting

    def gather(self, busy: Callable[[], bool]) -> Callable[[], None]:
        """Implement `Store.gather` for this store."""
        self._gathering.busy = busy
        return self._gathering.proceed

    async def subscribe(self, after_revision: int, deliver: Callable[[Sequence[Change]], None]) -> Subscription:
        """Subscribe, as `Store.subscribe`; the whole history has been delivered when this returns."""
        if not self._open:
            raise _closed()
        return await self._feed.follow(after_revision, deliver, self._history)

    async def revision(self) -> int:
        """Implement `Store.revision` for this store."""
        if not self._open:
            raise _closed()
        return self._feed.revision

    async def compact(self, revision: int) -> None:
        """Compact, as `Store.compact`; returns when the rows are gone from the file, too."""
        if not self._open:
            raise _closed()
        if revision > self._feed.revision:
            raise errors.Timeout.future_version(revision, self._feed.revision)
        await self._writer.compact(revision)

    async def check(self) -> None:
        """Check the store, as `Store.check`: with a trial write after a failed one, for CHECK_TIMEOUT_S at most."""
        await self._in_time(self._writer.check)

    async def alive(self) -> None:
        """Check that the store works, as `Store.alive`, for as long as `check` at most."""
        await self._in_time(self._writer.alive)

    def size_bytes(self) -> int:
        """Return the bytes of the file and its log, as `Store.size_bytes`."""
        return self._file.file_bytes() + self._file.wal_bytes()

    def metrics(self) -> Iterable[ShownFamily[Any]]:
        """Implement `Store.metrics` for this store."""
        measured, file = self._writer.measured, self._file
        return (
            Read(one(lambda: self._queued_ops), "orchtw_store_queued_writes", GAUGE, "Writes in progress."),
            Read(one(lambda: self._queued_bytes), "orchtw_store_queued_bytes", GAUGE, "Bytes of writes in progress."),
            Read(one(file.wal_bytes), "orchtw_store_log_bytes", GAUGE, "Bytes of the write-ahead log."),
            Single(measured.batches, "orchtw_store_batch_writes", "Writes committed in one transaction."),
            Single(measured.commits, "orchtw_store_commit_seconds", "Commit latency in seconds."),
            Single(measured.checkpoints, "orchtw_store_checkpoint_seconds", "Time of a checkpoint of the log."),
            Single(measured.cuts, "orchtw_store_log_cut_seconds", "Time to truncate the write-ahead log."),
            Single(measured.slices, "orchtw_store_background_seconds", "Time of a slice of background work."),
        )

    def _refusal(self, op: Op) -> errors.StatusError | None:
        if not self._open:
            return _closed()
        if self._queued_ops >= self._max_ops or self._queued_bytes >= self._max_bytes:
            return errors.TooManyRequests("too many writes are waiting for the store", {"retryAfterSeconds": 1})
        if not is_valid(op.key):
            return errors.BadRequest("the key is not valid text")
        return None

    def _deliver(self, changes: Sequence[Change], answers: Answers, size: int) -> None:
        """Deliver a batch that is durable (or has failed): first to the subscribers, then to the writers."""
        self._queued_ops -= len(answers)
        self._queued_bytes -= size
        self._gathering.delivered(len(answers))
        if changes:
            self._feed.publish(changes)
            self._retention.wrote(self._feed.revision, size + ROW_BYTES * len(changes))
        for waiting, answer in answers:
            if isinstance(answer, WriteOutcome):
                waiting.callback(answer)
            else:
                waiting.errback(answer)
        self._gathering.proceed()

    def _deliver_replaced(self, changes: Sequence[Change], size: int) -> None:
        """Deliver a durable replacement to the subscribers, before it is answered."""
        self._feed.publish(changes)
        self._retention.wrote(self._feed.revision, size + ROW_BYTES * len(changes))

    async def _in_time(self, ask: Callable[[], Deferred[None]]) -> None:
        if not self._open:
            raise _closed()
        late = errors.ServiceUnavailable(f"the store did not answer within {CHECK_TIMEOUT_S:.0f} s")

        def give_up(result: object, timeout_s: float) -> None:
            raise late

        await ask().addTimeout(CHECK_TIMEOUT_S, self._clock, onTimeoutCancel=give_up)

    async def _read(self, work: Callable[[reader.Connection], T]) -> T:
        return await self._ask(work)

    def _ask(self, work: Callable[[reader.Connection], T]) -> Deferred[T]:
        if not self._open:
            raise _closed()
        return self._writer.read(work) if self._file.alone else self._readers.ask(work)

    async def _history(self, after: int, upto: int) -> Sequence[Change]:
        return await self._read(lambda connection: reader.changes_since(connection, after, upto))


def _closed() -> errors.ServiceUnavailable:
    return errors.ServiceUnavailable("the store is not open")


def in_folder(host: StoreHost, options: StorageOptions) -> SqliteStore:
    """Return the store in the data folder. Raises ConfigError if one of its files is a link."""
    for suffix in SUFFIXES:
        host.check_path(host.folder / f"{FILE}{suffix}")
    return SqliteStore(
        str(host.folder / FILE),
        host.vocabulary,
        reactor=host.reactor,
        clock=host.reactor,
        compaction_interval_s=options.etcd.compaction_interval_s,
        translation=host.translation,
        erases=options.encryption_provider_config is not None,
        durable=not options.unsafe_no_fsync,
    )
