"""Events in a log: written by a thread in mode batch, before the request goes on otherwise (reference AUDIT-11)."""

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
"""That the thread sleeps before it takes what waits: a wake-up for each event would cost more than its writing."""

END_S: Final = 30.0
"""For what is left at the end; a reader of standard output that stands still does not hold up the end for ever."""

WRITE_BYTES: Final = 256 * 1024
"""Of lines that are written with one call; what comes before a new file may be that much too long."""

LINE_BYTES: Final = 1024
"""About what a line takes that waits, beside its bytes, and whoever waits for it."""

Form = Callable[[Event], bytes]
"""The line of an event."""


class DirectLog:
    """Writes events at once: for files, where that takes microseconds.

    Requests are told of a failure if it is `strict`.
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
        """Look after what earlier runs have left."""
        self._file.tidy()

    async def stop(self) -> None:
        """Close the log file."""
        self._file.close()


class ThreadLog:
    """Writes in a thread what it is given, all that waits with one call; a `Delivery` of mode batch, and a `Backend`.

    `events` and `bytes` are what the thread has yet to write: each number in them is changed by one thread only.
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
        """That are not written yet."""
        return self._given - self._taken

    @property
    def bytes(self) -> int:
        """Return the bytes that wait."""
        return self._given_bytes - self._taken_bytes

    def deliver(self, batch: list[Event]) -> None:
        """Have them written soon."""
        for event in batch:
            self._put(event, None)

    def process(self, *events: Event) -> Deferred[bool]:
        """Wait for their lines to be written, in the modes that block: standard output may be a pipe that is full."""
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
            self._counts.lost(PLUGIN, self.events, "nobody reads the log")
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
        """As many lines as go into one call; the file may be rotated between two of them."""
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
        """In the reactor again."""
        if why:
            self._counts.lost(PLUGIN, count, why)
        for done in waiting:
            done.callback(not why)
