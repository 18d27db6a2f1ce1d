"""The one thread that writes: group commit, and background work between the batches.

Everything that piled up while the last batch went to disk becomes the next transaction, and nothing is
answered before that is durable. The thread opens, uses and closes its own connection (reference STORE-7).
"""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import attrs
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IReactorFromThreads
from twisted.logger import Logger

from orchtw import errors
from orchtw.storage.interface import Change, KeyValue, Op, WriteOutcome
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

T = TypeVar("T")
Deliver = Callable[[list[Change], Answers, int], None]

MAX_BATCH_OPS = 256  # one batch's answers run in one reactor turn: more would hold up everything else
MAX_BATCH_BYTES = 8 << 20
ROWS_A_STATEMENT = 64  # one step, so one trade of the interpreter lock, for all of them
READ_AT_ONCE = 64
IDLE_S = 1.0  # without a write before the log is cut back, for which a write would have to wait
ALIVE_S = 1.0  # since its last turn the thread counts as alive: waiting, it has one every LOOK_S
LOOK_S = 0.5  # between looks at whether the files are there: what is noticed late was acknowledged in vain

PROBE_BYTES = 64 << 10
REFUSAL = "the store takes no writes, which the next start would not find"


@attrs.define(slots=True, eq=False)
class Errand:
    """Work for the writer thread between two batches, and the Deferred of its result."""

    work: Callable[[], object]
    waiting: Deferred[Any] | None
    last: bool = False


class Writer:
    """Writer thread, which owns the write connection. `deliver(changes, answers, bytes)` is called on the reactor,
    once a batch.

    `index` is as it was when the file was opened, for the first full read.
    """

    _log = Logger()

    def __init__(self, file: StoreFile, reactor: IReactorFromThreads, deliver: Deliver) -> None:
        self._file = file
        self._reactor = reactor
        self._deliver = deliver
        self._queue: queue.SimpleQueue[Ticket | Errand] = queue.SimpleQueue()
        self._revision = 0
        self._live: dict[str, int] = {}  # key -> revision of its last write: decides a batch without a query
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
        """Open the file in a new thread; the current revision. Fails with ConfigError."""
        opened: Deferred[int] = Deferred()
        threading.Thread(target=self._run, args=(opened,), name="store-write", daemon=True).start()
        return opened

    def submit(self, op: Op, waiting: Deferred[WriteOutcome]) -> None:
        """Queue a write for the next batch."""
        self._queue.put((op, waiting))

    def stop(self) -> Deferred[None]:
        """Fires when everything queued is answered and the connection is closed."""
        closed: Deferred[None] = Deferred()
        self._queue.put(Errand(lambda: None, closed, last=True))
        return closed

    def compact(self, revision: int) -> Deferred[None]:
        """Fires when nothing older than `revision` is left in the file."""
        swept: Deferred[None] = Deferred()
        self._queue.put(Errand(lambda: self._background.compact(revision, swept), None))
        return swept

    def check(self) -> Deferred[None]:
        """Fires when the thread answers, the files are there and, after a failed write, a trial write has worked."""
        answered: Deferred[None] = Deferred()
        self._queue.put(Errand(self._probe, answered))
        return answered

    def alive(self) -> Deferred[None]:
        """Fires when the thread answers, or has just shown itself, and the files are there.

        A thread that waits for work may be kept from the interpreter for long by a busy reactor, which is no sign
        of trouble.
        """
        if not self.missing and time.monotonic() - self._turned_at < ALIVE_S:
            return succeed(None)
        answered: Deferred[None] = Deferred()
        self._queue.put(Errand(self._refuse_if_missing, answered))
        return answered

    def read(self, work: Callable[[sqlite3.Connection], T]) -> Deferred[T]:
        """The answer of `work`, for a store that only this thread may read. Fails with InternalError (500)."""
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
        """Do what has come; returns the last errand. Nothing of it is held while the next turn waits."""
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
        """Know from the start on whether writes can be taken; reads are, in any case."""
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
        """Every LOOK_S: are the files still in their place? Without them a write is gone at the next start."""
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
            self._log.warn("the store's files are in their place again: it takes writes")
        self.missing = missing

    def _fold(self) -> None:
        """Save what is only in the log: if that is what was removed, the file still gets it."""
        self._checkpoints.wait()
        try:
            copy(self._connection)
        except sqlite3.Error as exc:
            self._log.error("the store's log could not be folded into its file: {why}", why=sentence(exc))

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
        """Take what has piled up, up to the caps or an errand; wait for something, but not past the next duty."""
        batch: list[Ticket] = []
        size = 0
        take = self._queue.get_nowait
        try:
            entry = waited_for(self._queue, self._patience_s())
            while type(entry) is tuple:
                batch.append(entry)
                size += len(entry[0].value or b"")
                if len(batch) == MAX_BATCH_OPS or size >= MAX_BATCH_BYTES:
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
        """Decide, write and answer a batch, and end what is due; after an error none of it has happened."""
        answers: Answers
        changes: list[Change] = []
        plan = WritePlan(ended=due.revisions)
        batch += [(Op(key, None, revision), None) for revision, key in due.keys.items()]
        try:
            self._refuse_if_missing()
            began = time.perf_counter()
            self._decide(batch, plan)
            rows = self._known(batch, plan)
            self._insert(plan)
            self.measured.batches.observe(len(batch))
            self.measured.commits.observe(time.perf_counter() - began)
        except Exception as exc:  # noqa: BLE001 - the callers must hear, and the thread goes on
            self._undo(plan)
            if due.revisions:
                self._expiry.later()
            answers = self._failed(batch, exc)
        else:
            if plan.rows:
                self.failure = ""
                self._revision = plan.rows[-1][0]
            self._expiry.written(plan.ends)
            changes, answers = report(batch, plan, rows)
        self._reactor.callFromThread(self._deliver, changes, answers, size)

    def _decide(self, batch: list[Ticket], plan: WritePlan) -> None:
        """Check each precondition against the writes before it, in the batch too, and give out revisions.

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
        """Every write that the batch replaces or refers to, by revision; damaged ones without their values."""
        base = self._revision
        key_of = {held: op.key for (op, _), held in zip(batch, plan.found, strict=True) if 0 < held <= base}
        wanted = sorted(key_of)
        known: dict[int, KeyValue] = {}
        for start in range(0, len(wanted), READ_AT_ONCE):
            part = {held: key_of[held] for held in wanted[start : start + READ_AT_ONCE]}
            rows = read_rows(self._connection, part)
            known |= rows.sound
            known |= {held: unreadable(part[held], held) for held in part.keys() - rows.sound.keys()}
        inside = {held for held in plan.found if held > base}
        if wanted or inside:
            for at, (revision, key, created, held, size, value) in enumerate(plan.rows):
                if held and value is not None:
                    created = known[held].create_revision
                    plan.rows[at] = (revision, key, created, held, size, value)
                if revision in inside and value is not None:
                    known[revision] = KeyValue(key, value, revision, created)
        return known

    def _insert(self, plan: WritePlan) -> None:
        """One transaction; a single statement is one by itself."""
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
        """Forget the batch: leave the transaction, and let the live keys be as before."""
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error:
            self._log.failure("the store could not roll back")
        for _, key, _, held, _, _ in reversed(plan.rows):
            if held:
                self._live[key] = held
            else:
                self._live.pop(key, None)

    def _failed(self, batch: list[Ticket], exc: Exception) -> Answers:
        if isinstance(exc, errors.StatusError):
            return [(waiting, exc) for _, waiting in batch if waiting is not None]
        if isinstance(exc, sqlite3.Error):
            self.failure = f"the store could not write: {sentence(exc)}"
            self._log.error("{why}", why=self.failure)
        else:
            self.failure = f"the store could not write: {exc}"
            self._log.failure("a batch of writes failed")
        why = self.failure
        return [(waiting, errors.InternalError.of(why)) for _, waiting in batch if waiting is not None]

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
        """Write something that needs new space, twice its own size with the log."""
        self._connection.execute("UPDATE meta SET probe = randomblob(?)", (PROBE_BYTES,))
        self._connection.execute("UPDATE meta SET probe = NULL")


def waited_for(waiting: queue.SimpleQueue[T], patience_s: float) -> T:
    """Return the next item within that time; the thread must be the only consumer. Raises queue.Empty.

    What is there is taken first: `get` with a timeout that has passed before it waits, after a `get` that found
    something, waits for ever (CPython 3.11), and a compaction would stand still until the next write.
    """
    try:
        return waiting.get_nowait()
    except queue.Empty:
        return waiting.get(timeout=patience_s)
