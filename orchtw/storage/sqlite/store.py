"""The embedded store: one SQLite file, one writer thread, a few reader threads.

This module is the reactor's side of it: limits, subscribers, the compaction timer. The other `sqlite_*` modules are
the threads' side.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads, IReactorTime
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw import errors
from orchtw.config import Config
from orchtw.metrics.series import GAUGE, Read, ShownSeries, Single, one
from orchtw.storage.feed import Feed
from orchtw.storage.interface import (
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
from orchtw.storage.sqlite import reader, scan
from orchtw.storage.sqlite.counts import Counts
from orchtw.storage.sqlite.file import StoreFile
from orchtw.storage.sqlite.plan import Answers
from orchtw.storage.sqlite.reader import Readers
from orchtw.storage.sqlite.writer import Writer

T = TypeVar("T")

CHECK_TIMEOUT_S = 5.0
MAX_QUEUED_OPS = 20_000
MAX_QUEUED_BYTES = 64 << 20
HISTORY_BYTES = 512 << 20  # written since the last mark: 8 minutes of 6 KiB objects at 180 a second
ROW_BYTES = 260  # what a row takes beside its value: key, numbers, and its entry in the index

FILE = "store.sqlite"
SUFFIXES = ("", "-wal", "-shm", ".lock")
"""Of the store's own name, and of the files that lie beside it."""


class SqliteStore(Store):
    """See `Store`; started and stopped once.

    The threads cross to `reactor`; `clock` times compaction and health checks. Every `compaction_interval_s`
    (0: never) the history is cut back to what was current one interval ago; when more than `history_bytes` have been
    written since, that is done before the interval is over. `quota_bytes` bounds the file
    (0: only the disk does). `max_queued_ops` and `max_queued_bytes` bound writes not yet answered. A store of another
    vocabulary is rewritten once by what `translation` gives for that one; without it such a store is refused.
    With `erases` nothing that was deleted stays in the file (reference STORE-37).
    """

    _log = Logger()

    @property
    def shared(self) -> bool:
        """See `Store.shared`: the file is taken."""
        return False

    def __init__(
        self,
        path: str,
        vocabulary: str = "orch",
        *,
        reactor: IReactorFromThreads,
        clock: IReactorTime,
        compaction_interval_s: float = 300.0,
        readers: int = 2,
        quota_bytes: int = 0,
        max_queued_ops: int = MAX_QUEUED_OPS,
        max_queued_bytes: int = MAX_QUEUED_BYTES,
        history_bytes: int = HISTORY_BYTES,
        translation: Callable[[str], Translation] | None = None,
        erases: bool = False,
    ) -> None:
        self._reactor = reactor
        self._clock = clock
        self._file = StoreFile(
            path=path, vocabulary=vocabulary, quota_bytes=quota_bytes, translation=translation, erases=erases
        )
        self._writer = Writer(self._file, reactor, self._deliver)
        self._counts = Counts()
        self._readers = Readers(self._file, reactor, readers)
        self._feed = Feed()
        self._open = False
        self._interval_s = compaction_interval_s
        self._timer = LoopingCall(self._compact_to_last_mark)
        self._timer.clock = clock
        self._mark = 0
        self._since_mark, self._history_bytes = 0, history_bytes
        self._max_ops, self._max_bytes = max_queued_ops, max_queued_bytes
        self._queued_ops = self._queued_bytes = 0

    def probe(self) -> None:
        """See `Store.probe`: take and open the file, or create it, and close it again."""
        self._file.open().close()

    def release(self) -> None:
        """Implement `Store.release` for this store."""
        if not self._open:
            self._file.release()

    async def start(self) -> None:
        """Implement `Store.start` for this store."""
        self._feed.revision = self._mark = await self._writer.start()
        if not self._file.alone:
            self._readers.start()
        self._open = True
        if self._interval_s:
            self._timer.start(self._interval_s, now=False)

    async def stop(self) -> None:
        """Implement `Store.stop` for this store."""
        if not self._open:
            self.release()
            return
        self._open = False
        if self._timer.running:
            self._timer.stop()
        self._readers.stop()  # before the writer: the last to close folds the log into the file
        await self._writer.stop()

    async def get(self, key: str, revision: int = 0) -> KeyValue | None:
        """Implement `Store.get` for this store."""
        if not _is_text(key):
            return None
        return await self._read(lambda connection: reader.get(connection, key, revision))

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, start: str = "") -> Page:
        """Implement `Store.list` for this store."""
        if not _is_text(prefix + start):
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
        waiting: Deferred[WriteOutcome] = Deferred()
        refusal = self._refusal(op)
        if refusal is not None:
            waiting.errback(refusal)
            return waiting
        self._queued_ops += 1
        self._queued_bytes += len(op.value or b"")
        self._writer.submit(op, waiting)
        return waiting

    async def subscribe(self, after_revision: int, deliver: Callable[[Sequence[Change]], None]) -> Subscription:
        """See `Store.subscribe`. The whole history has been delivered when this returns."""
        if not self._open:
            raise _closed()
        return await self._feed.follow(after_revision, deliver, self._history)

    async def revision(self) -> int:
        """Implement `Store.revision` for this store."""
        if not self._open:
            raise _closed()
        return self._feed.revision

    async def compact(self, revision: int) -> None:
        """See `Store.compact`. Returns when the rows are gone from the file, too."""
        if not self._open:
            raise _closed()
        if revision > self._feed.revision:
            raise errors.Timeout.future_version(revision, self._feed.revision)
        await self._writer.compact(revision)

    async def check(self) -> None:
        """See `Store.check`. After a failed write, tries one; waits for the writer thread CHECK_TIMEOUT_S at most."""
        await self._in_time(self._writer.check)

    async def alive(self) -> None:
        """See `Store.alive`. Waits as `check` does."""
        await self._in_time(self._writer.alive)

    def size_bytes(self) -> int:
        """See `Store.size_bytes`: the file and its log."""
        return self._file.file_bytes() + self._file.wal_bytes()

    def metrics(self) -> Iterable[ShownSeries[Any]]:
        """Implement `Store.metrics` for this store."""
        measured, file = self._writer.measured, self._file
        return (
            Read(one(lambda: self._queued_ops), "orchtw_store_queued_writes", GAUGE, "Writes yet to be answered."),
            Read(one(lambda: self._queued_bytes), "orchtw_store_queued_bytes", GAUGE, "Bytes of these writes."),
            Read(one(file.wal_bytes), "orchtw_store_log_bytes", GAUGE, "Bytes of the store's log."),
            Single(measured.batches, "orchtw_store_batch_writes", "Writes that are committed together."),
            Single(measured.commits, "orchtw_store_commit_seconds", "Time that a commit takes in seconds."),
            Single(measured.checkpoints, "orchtw_store_checkpoint_seconds", "Time to fold the log into the file."),
            Single(measured.cuts, "orchtw_store_log_cut_seconds", "Time to cut the log back to nothing."),
            Single(measured.slices, "orchtw_store_background_seconds", "Time of a slice of background work."),
        )

    def _refusal(self, op: Op) -> errors.StatusError | None:
        if not self._open:
            return _closed()
        if self._queued_ops >= self._max_ops or self._queued_bytes >= self._max_bytes:
            return errors.TooManyRequests("too many writes are waiting for the store", {"retryAfterSeconds": 1})
        if not op.key or "\0" in op.key or not _is_text(op.key):
            return errors.BadRequest("the key is not valid text")
        return None

    def _deliver(self, changes: Sequence[Change], answers: Answers, size: int) -> None:
        """A batch is durable (or has failed): first the subscribers are told, then the writers."""
        self._queued_ops -= len(answers)
        self._queued_bytes -= size
        if changes:
            self._feed.publish(changes)
            self._bound_history(size + ROW_BYTES * len(changes))
        for waiting, answer in answers:
            if isinstance(answer, WriteOutcome):
                waiting.callback(answer)
            else:
                waiting.errback(answer)

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

    def _bound_history(self, written: int) -> None:
        """So much more has been written: cut the history back if that makes too much since the last time."""
        self._since_mark += written
        if self._since_mark > self._history_bytes and self._timer.running:
            self._timer.reset()
            self._compact_to_last_mark()

    def _compact_to_last_mark(self) -> Deferred[None]:
        self._since_mark = 0
        mark, self._mark = self._mark, self._feed.revision
        return self._writer.compact(mark).addErrback(self._compaction_failed)

    def _compaction_failed(self, failure: Failure) -> None:
        """The next interval tries again; a store that closes meanwhile has nothing to complain of."""
        if self._open:
            self._log.failure("compaction failed", failure)


def _closed() -> errors.ServiceUnavailable:
    return errors.ServiceUnavailable("the store is not open")


def _is_text(key: str) -> bool:
    """Report whether `key` has a UTF-8 form at all."""
    if key.isascii():
        return True
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def in_folder(host: StoreHost, config: Config) -> SqliteStore:
    """The store in the data folder. Raises ConfigError if one of its files is a link."""
    for suffix in SUFFIXES:
        host.check_path(config.data_dir / f"{FILE}{suffix}")
    return SqliteStore(
        str(config.data_dir / FILE),
        host.vocabulary,
        reactor=host.reactor,
        clock=host.reactor,
        compaction_interval_s=config.etcd_compaction_interval_s,
        translation=host.translation,
        erases=config.encryption_provider_config is not None,
    )
