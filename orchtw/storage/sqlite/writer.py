"""Writer thread: group commit, and background work between the batches.

All writes that were queued while the last batch went to disk become the next transaction, and nothing is answered
before that is durable. The thread opens, uses and closes its own connection (reference STORE-7).
"""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorFromThreads
from twisted.logger import Logger

from orchtw import errors
from orchtw.storage.sqlite import scan
from orchtw.storage.sqlite.background import Background
from orchtw.storage.sqlite.checkpoint import Checkpoints, copy
from orchtw.storage.sqlite.errors import sentence
from orchtw.storage.sqlite.expiry import NOTHING, Due, Expiry
from orchtw.storage.sqlite.file import StoreFile
from orchtw.storage.sqlite.measured import Measured
from orchtw.storage.sqlite.plan import FENCED, Answers, Ticket, WritePlan, fields, insertion, report
from orchtw.storage.sqlite.reader import answer, read_head, read_rows, unreadable
from orchtw.storage.sqlite.schema import PAGE_BYTES
from orchtw.storage.store import Change, KeyValue, Op

T = TypeVar("T")
Deliver = Callable[[list[Change], Answers, int], None]
DeliverReplaced = Callable[[list[Change], int], None]

MAX_BATCH_OPS = 256  # one batch's answers run in one reactor turn: more would hold up everything else
MAX_BATCH_BYTES = 8 << 20
ROWS_A_STATEMENT = 64  # one step, so one trade of the interpreter lock, for all of them
READ_AT_ONCE = 64
MOST_CREATED = 1 << 14  # objects that are written again and again; some 3 MB
IDLE_S = 1.0  # without a write before the log is truncated, which would delay a write
ALIVE_S = 1.0  # since its last turn the thread counts as alive: waiting, it has one every LOOK_S
LOOK_S = 0.5  # between checks that the files exist: a write that is acknowledged in between may be lost

PROBE_BYTES = 64 << 10
REFUSAL = "writes are refused, since the next start would not find them"


class Errand(msgspec.Struct, eq=False):
    """Work for the writer thread between two batches, and the Deferred of its result."""

    work: Callable[[], object]
    waiting: Deferred[Any] | None
    last: bool = False


class Writer:
    """Writer thread, which owns the write connection.

    `deliver(changes, answers, bytes)` is called on the reactor, once a batch. `index` is that of the opened file, for
    the first full read.
    """

    _log = Logger()

    def __init__(self, file: StoreFile, reactor: IReactorFromThreads, deliver: Deliver) -> None:
        self._file = file
        self._reactor = reactor
        self._deliver = deliver
        self._queue: queue.SimpleQueue[list[Ticket] | Errand] = queue.SimpleQueue()
        self._revision = 0
        self._live: dict[str, int] = {}  # key -> revision of its last write: decides a batch without a query
        self._created: dict[str, int] = {}  # key -> revision of its creation, of those updated lately
        self.shows_replaced = False
        self.index: scan.KeyIndex | None = None
        self._next_look = 0.0
        self._turned_at = 0.0
        self._wrote_at = 0.0
        self._inserts = [""] + [insertion(count) for count in range(1, ROWS_A_STATEMENT + 1)]
        self.failure = ""
        self.missing = ""
        self.measured = Measured()

    # On the reactor thread

    def start(self) -> Deferred[int]:
        """Open the file in a new thread; return the current revision. Fails with ConfigError."""
        opened: Deferred[int] = Deferred()
        threading.Thread(target=self._run, args=(opened,), name="store-write", daemon=True).start()
        return opened

    def submit(self, writes: list[Ticket]) -> None:
        """Queue writes for the next batch."""
        self._queue.put(writes)

    def replace(self, ops: Sequence[Op], revision: int, deliver: DeliverReplaced) -> Deferred[int]:
        """Write all of `ops` as one if the store is at `revision`, as `Store.replace`.

        `deliver(changes, bytes)` is called on the reactor before the result fires, if anything was written.
        """
        replaced: Deferred[int] = Deferred()
        self._queue.put(Errand(lambda: self._replace(ops, revision, deliver), replaced))
        return replaced

    def stop(self) -> Deferred[None]:
        """Stop the thread once everything queued is answered; the result fires when the connection is closed."""
        closed: Deferred[None] = Deferred()
        self._queue.put(Errand(lambda: None, closed, last=True))
        return closed

    def compact(self, revision: int) -> Deferred[None]:
        """Compact the history before `revision`; the result fires when nothing older is left in the file."""
        swept: Deferred[None] = Deferred()
        self._queue.put(Errand(lambda: self._background.compact(revision, swept), None))
        return swept

    def check(self) -> Deferred[None]:
        """Check the thread and the files.

        The result fires when both are fine and, after a failed write, a trial write has succeeded.
        """
        answered: Deferred[None] = Deferred()
        self._queue.put(Errand(self._probe, answered))
        return answered

    def alive(self) -> Deferred[None]:
        """Check that the files are there and that the thread answers, or was active just now.

        A busy reactor may keep a waiting thread from the interpreter for long, which is not a sign of trouble.
        """
        if not self.missing and time.monotonic() - self._turned_at < ALIVE_S:
            return succeed(None)
        answered: Deferred[None] = Deferred()
        self._queue.put(Errand(self._refuse_if_missing, answered))
        return answered

    def read(self, work: Callable[[sqlite3.Connection], T]) -> Deferred[T]:
        """Return the result of `work`, for a store that only this thread may read. Fails with InternalError (500)."""
        waiting: Deferred[T] = Deferred()
        self._queue.put(Errand(lambda: answer(work, self._connection), waiting))
        return waiting

    # In the writer thread

    def _run(self, opened: Deferred[int]) -> None:
        try:
            self._open()
        except Exception as exc:  # noqa: BLE001 - the thread ends here, and waiters must hear
            self._answer(opened, exc)
            return
        self._answer(opened, self._revision)
        while (last := self._turn()) is None:
            pass
        self._close(last.waiting)

    def _turn(self) -> Errand | None:
        """Process the queued work; return the last errand. Nothing of it is referenced while the next turn waits."""
        batch, size, errand = self._take()
        self._turned_at = time.monotonic()
        self._look()
        due = NOTHING if self.missing else self._expiry.due()
        if batch or due.revisions:
            self._commit(batch, size, due)
            self._wrote_at = time.monotonic()
        if errand is not None:
            if errand.last:
                return errand
            self._do(errand)
        if not self.missing:
            pages = len(batch) + size // PAGE_BYTES
            idle = time.monotonic() - self._wrote_at >= IDLE_S and errand is None
            pages += self._background.advance(idle and self._background.tidies and self._checkpoints.settled())
            if pages:
                self._checkpoints.wrote(self._connection, pages)
        return None

    def _open(self) -> None:
        self._connection = self._file.open()
        try:
            _, self._revision = read_head(self._connection)
            self.index = index = scan.whole(self._connection, self._revision)
            self._live = dict(zip(index.keys, index.revisions, strict=True))
            self._background = Background(
                self._connection, self._answer, measured=self.measured, erases=self._file.erases
            )
            self._expiry = Expiry(self._connection)
            self._checkpoints = Checkpoints(self._file.checkpointer, self.measured.checkpoints)
        except sqlite3.Error as exc:
            self._connection.close()
            why = self._file.why(exc)
            self._file.release()
            raise errors.ConfigError(f"{self._file.path}: {why}") from exc
        self._try_to_write()
        if not self._file.alone:
            self._checkpoints.start()

    def _try_to_write(self) -> None:
        """Find out at the start whether writes are possible; reads are, in any case."""
        try:
            self._write_trial()
        except sqlite3.Error as exc:
            self.failure = f"the store could not write: {sentence(exc)}"
            self._log.error("{why}", why=self.failure)

    def _close(self, closed: Deferred[Any] | None) -> None:
        self._background.compaction.abandon()
        self._checkpoints.stop()
        self._connection.close()
        self._file.release()
        self._answer(closed, None)

    def _look(self) -> None:
        """Check every LOOK_S that the files are in place: without them, writes are lost at the next start."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_S
        missing = self._file.missing()
        if missing and not self.missing:
            text = "{why}: {refusal}; all can still be read until the server ends"
            self._log.error(text, why=missing, refusal=REFUSAL)
            self._fold()
        elif self.missing and not missing:
            self._log.warn("the store's files are back in place; writes are accepted again")
        self.missing = missing

    def _fold(self) -> None:
        """Copy the log into the file: if the log was removed, the file still gets its contents."""
        self._checkpoints.wait()
        try:
            copy(self._connection)
        except sqlite3.Error as exc:
            self._log.error("failed to checkpoint the store's write-ahead log: {why}", why=sentence(exc))

    def _refuse_if_missing(self) -> None:
        if self.missing:
            raise errors.InternalError.of(f"{self.missing}: {REFUSAL}")

    def _answer(self, waiting: Deferred[Any] | None, result: object) -> None:
        if waiting is not None:
            answer = waiting.errback if isinstance(result, Exception) else waiting.callback
            self._reactor.callFromThread(answer, result)

    def _do(self, errand: Errand) -> None:
        try:
            result = errand.work()
        except Exception as exc:  # noqa: BLE001 - the waiter must hear, and the thread goes on
            result = exc
        self._answer(errand.waiting, result)

    def _take(self) -> tuple[list[Ticket], int, Errand | None]:
        """Take the queued writes, up to the caps or an errand; wait for some, but not past the next duty."""
        batch: list[Ticket] = []
        size = 0
        take = self._queue.get_nowait
        try:
            entry = waited_for(self._queue, self._patience_s())
            while type(entry) is list:
                batch += entry
                size += sum(len(op.value or b"") for op, _ in entry)
                if len(batch) >= MAX_BATCH_OPS or size >= MAX_BATCH_BYTES:
                    return batch, size, None
                entry = take()
        except queue.Empty:
            return batch, size, None
        assert isinstance(entry, Errand)
        return batch, size, entry

    def _patience_s(self) -> float:
        if self.missing:
            return LOOK_S
        patience_s = self._background.patience_s(min(IDLE_S, LOOK_S))
        return min(self._expiry.patience_s(), LOOK_S if patience_s is None else patience_s)

    def _commit(self, batch: list[Ticket], size: int, due: Due) -> None:
        """Commit and answer a batch, and delete expired values; after an error nothing of it has happened."""
        answers: Answers
        changes: list[Change] = []
        plan = WritePlan(ended=due.revisions)
        batch += [(Op(key, None, revision), None) for revision, key in due.keys.items()]
        try:
            changes, answers = self._write(batch, plan)
        except Exception as exc:  # noqa: BLE001 - the callers must hear, and the thread goes on
            if due.revisions:
                self._expiry.later()
            error = self._error(exc)
            answers = [(waiting, error) for _, waiting in batch if waiting is not None]
        self._reactor.callFromThread(self._deliver, changes, answers, size)

    def _replace(self, ops: Sequence[Op], revision: int, deliver: DeliverReplaced) -> int:
        if revision != self._revision:
            return 0
        try:
            changes, _ = self._write([(op, None) for op in ops], WritePlan())
        except Exception as exc:
            raise self._error(exc) from exc
        if changes:
            self._wrote_at = time.monotonic()
            self._reactor.callFromThread(deliver, changes, sum(len(op.value or b"") for op in ops))
        return self._revision

    def _write(self, batch: list[Ticket], plan: WritePlan) -> tuple[list[Change], Answers]:
        """Decide and write a batch; returns its changes and answers. After an error nothing of it has happened."""
        try:
            self._refuse_if_missing()
            began = time.perf_counter()
            self._decide(batch, plan)
            rows = self._known(batch, plan)
            self._insert(plan)
        except Exception:
            self._undo(plan)
            raise
        self.measured.batches.observe(len(batch))
        self.measured.commits.observe(time.perf_counter() - began)
        if plan.rows:
            self.failure = ""
            self._revision = plan.rows[-1][0]
            self._note_created(plan)
        self._expiry.written(plan.ends)
        return report(batch, plan, rows)

    def _decide(self, batch: list[Ticket], plan: WritePlan) -> None:
        """Check each precondition against the writes before it, also in the batch, and assign revisions.

        A row's `created` is left 0 where it must be looked up; `_known` fills it in.
        """
        live = self._live
        revision = self._revision
        for op, _ in batch:
            key, value, expected = op.key, op.value, op.expected
            held = live.get(key, 0)
            plan.found.append(held)
            if op.guard is not None and live.get(op.guard[0], 0) != op.guard[1]:
                plan.given.append(FENCED)
                continue
            if (expected is not None and expected != held) or (value is None and not held):
                plan.given.append(0)
                continue
            revision += 1
            plan.given.append(revision)
            if value is None:
                del live[key]
                plan.rows.append((revision, key, 0, held, 0, None))
            else:
                live[key] = revision
                plan.rows.append((revision, key, 0 if held else revision, held, len(value), value))
                if op.ttl_s:
                    plan.ends.append((revision, self._expiry.end_ms(op.ttl_s)))

    def _known(self, batch: list[Ticket], plan: WritePlan) -> dict[int, KeyValue]:
        """Return the writes that the batch replaces or refers to, by revision; damaged ones without their values.

        What a write replaces has no value either unless somebody asks for it: it need not be read then.
        """
        base, reads = self._revision, self.shows_replaced
        key_of: dict[int, str] = {}
        known: dict[int, KeyValue] = {}
        for (op, _), given, held in zip(batch, plan.given, plan.found, strict=True):
            if 0 < held <= base:
                created = 0 if reads or given <= 0 else self._created.get(op.key, 0)
                if created:
                    known[held] = KeyValue(op.key, b"", held, created)
                else:
                    key_of[held] = op.key
        wanted = sorted(key_of)
        for start in range(0, len(wanted), READ_AT_ONCE):
            part = {held: key_of[held] for held in wanted[start : start + READ_AT_ONCE]}
            rows = read_rows(self._connection, part)
            known |= rows.sound
            known |= {held: unreadable(part[held], held) for held in part.keys() - rows.sound.keys()}
        inside = {held for held in plan.found if held > base}
        if known or inside:
            for at, (revision, key, created, held, size, value) in enumerate(plan.rows):
                if held and value is not None:
                    created = known[held].create_revision
                    plan.rows[at] = (revision, key, created, held, size, value)
                if revision in inside and value is not None:
                    known[revision] = KeyValue(key, value, revision, created)
        return known

    def _note_created(self, plan: WritePlan) -> None:
        """Note the creation of what has been updated, which is likely to be updated again."""
        noted = self._created
        for _, key, created, held, _, value in plan.rows:
            if value is None:
                noted.pop(key, None)
            elif held and created and key not in noted:
                if len(noted) >= MOST_CREATED:
                    noted.clear()
                noted[key] = created

    def _insert(self, plan: WritePlan) -> None:
        """Write the rows in one transaction; a single statement is one by itself."""
        execute, rows = self._connection.execute, plan.rows
        if len(rows) <= ROWS_A_STATEMENT and not plan.ends and not plan.ended:
            if rows:
                execute(self._inserts[len(rows)], fields(rows))
            return
        execute("BEGIN IMMEDIATE")
        for start in range(0, len(rows), ROWS_A_STATEMENT):
            part = rows[start : start + ROWS_A_STATEMENT]
            execute(self._inserts[len(part)], fields(part))
        self._expiry.write(plan.ends, plan.ended)
        execute("COMMIT")

    def _undo(self, plan: WritePlan) -> None:
        """Undo the batch: roll the transaction back, and restore the live keys."""
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error:
            self._log.failure("rollback failed")
        for _, key, _, held, _, _ in reversed(plan.rows):
            if held:
                self._live[key] = held
            else:
                self._live.pop(key, None)

    def _error(self, exc: Exception) -> errors.StatusError:
        """Return what writers are told of a failed batch, and log it."""
        if isinstance(exc, errors.StatusError):
            return exc
        if isinstance(exc, sqlite3.Error):
            self.failure = f"the store could not write: {sentence(exc)}"
            self._log.error("{why}", why=self.failure)
        else:
            self.failure = f"the store could not write: {exc}"
            self._log.failure("a batch of writes failed")
        return errors.InternalError.of(self.failure)

    def _probe(self) -> None:
        self._refuse_if_missing()
        if not self.failure:
            return
        try:
            self._write_trial()
        except sqlite3.Error as exc:
            raise errors.InternalError.of(f"the store could not write: {sentence(exc)}") from exc
        self.failure = ""

    def _write_trial(self) -> None:
        """Write data that needs new space, twice its own size with the log."""
        self._connection.execute("UPDATE meta SET probe = randomblob(?)", (PROBE_BYTES,))
        self._connection.execute("UPDATE meta SET probe = NULL")


def waited_for(waiting: queue.SimpleQueue[T], patience_s: float) -> T:
    """Return the next item within that time; the thread must be the only consumer. Raises queue.Empty.

    A queued item is taken first: after a `get` that found something, one whose timeout passes before it waits waits
    for ever (CPython 3.11), and a compaction would stop until the next write.
    """
    try:
        return waiting.get_nowait()
    except queue.Empty:
        return waiting.get(timeout=patience_s)
