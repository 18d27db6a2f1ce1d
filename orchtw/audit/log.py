"""Log backends: one writes in a thread, the other at once, before the request goes on (reference AUDIT-11)."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from threading import Event as Signal
from threading import Thread
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread

from orchtw.audit.counts import Counts
from orchtw.audit.event import Event
from orchtw.audit.log_file import LogFile

PLUGIN: Final = "log"
GATHER_S: Final = 0.02
"""Delay before the thread takes the waiting events: a wake-up for each event would cost more than its writing."""

END_S: Final = 30.0
"""Longest wait for the last lines on shutdown, which a stalled reader of standard output must not prevent."""

WRITE_BYTES: Final = 256 * 1024
"""Size of the lines written with one call; a file may exceed its limit by that much before it is rotated."""

LINE_BYTES: Final = 1024
"""Approximate memory of a waiting line and its Deferred, beside its bytes."""

Form = Callable[[Event], bytes]
"""Encodes an event as a log line."""


class DirectLog:
    """Log written at once: for regular files, where that takes microseconds.

    If it is `strict`, a failure is reported to the request.
    """

    def __init__(self, file: LogFile, form: Form, counts: Counts, *, strict: bool = True) -> None:
        self._file = file
        self._form = form
        self._counts = counts
        self._strict = strict
        self.prompt = not strict

    def process(self, *events: Event) -> bool:
        """Write events in one call, and report whether they are in the file; always True unless strict."""
        try:
            self._file.write(b"".join(map(self._form, events)))
        except OSError as error:
            self._counts.lost(PLUGIN, len(events), str(error.strerror))
            return not self._strict
        return True

    def start(self) -> None:
        """Tidy up the old files of earlier runs."""
        self._file.tidy()

    async def stop(self) -> None:
        """Close the log file."""
        self._file.close()


class ThreadLog:
    """Log written in a thread, all waiting events with one call; a `Delivery` of mode batch, and an `AuditBackend`.

    `events` and `bytes` count what the thread has yet to write: each is the difference of two counters, each of which
    only one thread changes.
    """

    extra_bytes: Final = LINE_BYTES

    def __init__(
        self, file: LogFile, form: Form, counts: Counts, reactor: Any, *, gather_s: float = GATHER_S
    ) -> None:
        self._file = file
        self._form = form
        self._counts = counts
        self._reactor = reactor
        self._gather_s = gather_s
        self._lines: deque[tuple[bytes, int, Deferred[bool] | None]] = deque()
        self._idle = self._ending = False
        self._signal = Signal()
        self._given = self._given_bytes = 0
        self._taken = self._taken_bytes = 0
        self._thread = Thread(target=self._run, name="audit-log", daemon=True)

    @property
    def events(self) -> int:
        """Return the number of events not written yet."""
        return self._given - self._taken

    @property
    def bytes(self) -> int:
        """Return the bytes not written yet, `extra_bytes` for each line included."""
        return self._given_bytes - self._taken_bytes

    def deliver(self, batch: list[Event]) -> None:
        """Have events written by the thread."""
        for event in batch:
            self._put(event, None)

    def process(self, *events: Event) -> Deferred[bool]:
        """Have events written by the thread; fires with whether that succeeded.

        For the blocking modes: standard output may be a pipe that is full.
        """
        done: Deferred[bool] = Deferred()
        *others, last = events
        self.deliver(others)
        self._put(last, done)
        return done

    def start(self) -> None:
        """Start the thread that writes."""
        self._file.tidy()
        self._thread.start()

    async def stop(self) -> None:
        """Write what is left and close the file."""
        self._ending = True
        self._signal.set()
        if self._thread.is_alive():
            await deferToThread(self._thread.join, END_S)
        if self._thread.is_alive():
            self._counts.lost(PLUGIN, self.events, "the log is a pipe without a reader, or its disk hangs")
        else:
            self._file.close()

    def _put(self, event: Event, done: Deferred[bool] | None) -> None:
        line = self._form(event)
        size = len(line) + self.extra_bytes
        self._given += 1
        self._given_bytes += size
        self._lines.append((line, size, done))
        if self._idle:
            self._idle = False
            self._signal.set()

    # In the thread

    def _run(self) -> None:
        while True:
            self._idle = True
            if not self._lines:
                if self._ending:
                    return
                self._signal.wait()
            self._signal.clear()
            self._idle = False
            if not self._ending:
                time.sleep(self._gather_s)
            self._write_all()

    def _write_all(self) -> None:
        for _ in range(len(self._lines)):
            if not self._lines:
                return
            self._write_some()

    def _write_some(self) -> None:
        """Write about WRITE_BYTES of lines with one call; the file may be rotated between two calls."""
        taken, size = [], 0
        while self._lines and size < WRITE_BYTES:
            taken.append(self._lines.popleft())
            size += taken[-1][1]
        why = ""
        try:
            self._file.write(b"".join([line for line, _, _ in taken]))
        except OSError as error:
            why = str(error.strerror)
        self._taken_bytes += size
        self._taken += len(taken)
        waiting = [done for _, _, done in taken if done is not None]
        if why or waiting:
            self._reactor.callFromThread(self._told, len(taken), waiting, why)

    def _told(self, count: int, waiting: list[Deferred[bool]], why: str) -> None:
        """Report the outcome, back in the reactor thread."""
        if why:
            self._counts.lost(PLUGIN, count, why)
        for done in waiting:
            done.callback(not why)
