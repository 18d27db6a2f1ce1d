"""Events in a log, at once and by a thread (reference AUDIT-11, AUDIT-17, AUDIT-19)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import Clock, deferLater
from twisted.trial.unittest import SynchronousTestCase, TestCase

from orchtw.audit.batches import PLUGIN, Batches, BatchSettings
from orchtw.audit.buffer import WaitingEvents
from orchtw.audit.counts import Counts
from orchtw.audit.event import Event, json_lines
from orchtw.audit.log import DirectLog, Form, ThreadLog
from orchtw.audit.log_file import LogFile, LogSettings
from tests.audit.events import numbered

reactor: Any = installed_reactor


def form(event: Event) -> bytes:
    """A line that says which event it is."""
    return f"{event.members['auditID']}\n".encode()


def failing(count: int) -> Callable[[int, Any], int]:
    """`os.write` that fails so many times."""
    write, left = os.write, [count]

    def fail(fd: int, data: Any) -> int:
        if left[0]:
            left[0] -= 1
            raise OSError(28, "No space left on device")
        return write(fd, data)

    return fail


class DirectLogTests(SynchronousTestCase):
    """Synchronous log writing (`DirectLog`)."""

    def test_written_at_once(self) -> None:
        """An event is in the file before its request goes on; one that cannot be written is counted."""
        path = self.mktemp()
        counts = Counts(Clock())
        log = DirectLog(LogFile(LogSettings(path=path), lambda: 0.0, self.fail), form, counts)
        log.start()
        self.assertIs(log.process(numbered(1)), True)
        self.assertEqual(Path(path).read_bytes(), b"id-1\n")
        with mock.patch("os.write", failing(1)):
            self.assertIs(log.process(numbered(2)), False)
        self.assertEqual(counts.errors, {"log": 1})
        self.successResultOf(Deferred.fromCoroutine(log.stop()))


class ThreadLogTests(TestCase):
    """Log writing in a thread (`ThreadLog`)."""

    timeout = 180

    def setUp(self) -> None:
        self.path = Path(self.mktemp())
        self.counts = Counts(reactor)

    def opened(self, max_bytes: int = 1 << 20, path: str = "", form: Form = form) -> ThreadLog:
        file = LogFile(LogSettings(path=path or str(self.path), max_bytes=max_bytes), lambda: 0.0, self.fail)
        log = ThreadLog(file, form, self.counts, reactor, gather_s=0.0)
        log.start()
        return log

    async def test_everything_is_written(self) -> None:
        """Events come in their order, and at the end all are there."""
        log = self.opened()
        for turn in range(20):
            log.deliver([numbered(turn * 50 + each) for each in range(50)])
            await deferLater(reactor, 0)
        await log.stop()
        lines = self.path.read_text().split()
        self.assertEqual(lines, [f"id-{number}" for number in range(1000)])
        self.assertEqual((log.events, log.bytes), (0, 0))

    async def test_rotated_under_load(self) -> None:
        """No event is lost when files change every few lines (reference AUDIT-18)."""
        log = self.opened(max_bytes=100)
        for turn in range(100):
            log.deliver([numbered(turn * 10 + each) for each in range(10)])
            while log.events and turn % 10 == 0:
                await deferLater(reactor, 0)
        await log.stop()
        found = sorted(self.path.parent.glob(f"{self.path.name}*"))
        lines = [line for each in found for line in each.read_text().split()]
        self.assertGreater(len(found), 3)
        self.assertEqual(sorted(lines), sorted(f"id-{number}" for number in range(1000)))

    async def test_waited_for(self) -> None:
        """In the modes that block, a request waits until its event is written, and learns if it is not."""
        log = self.opened()
        stored = log.process(numbered(1))
        self.assertIs(await stored, True)
        self.assertEqual(self.path.read_text(), "id-1\n")
        with mock.patch("os.write", failing(1)):
            refused = log.process(numbered(2))
            self.assertIs(await refused, False)
        self.assertEqual(self.counts.errors, {"log": 1})
        await log.stop()

    async def test_bounded(self) -> None:
        """Events queued for a pipe without a reader are bounded; the rest is lost and counted, the reactor free."""
        read_fd, write_fd = os.pipe()
        log = self.opened(path=f"/proc/self/fd/{write_fd}", form=json_lines("v1"))
        settings = BatchSettings(buffer_size=10**6, max_size=1, max_wait_s=0.0)
        room = WaitingEvents("log", log, self.counts, plugin=PLUGIN, limit_bytes=1 << 20)
        batches = Batches(settings, reactor, log, room)
        for number in range(3000):
            batches.process(numbered(number, 1000))
            if number % 100 == 0:
                await deferLater(reactor, 0)
        self.assertLessEqual(room.bytes, 1 << 20)
        lost = self.counts.errors["buffered"]
        self.assertGreater(lost, 1000)
        ended = Deferred.fromCoroutine(batches.stop())
        os.close(write_fd)
        text = b""
        os.set_blocking(read_fd, False)
        while not ended.called or text.count(b"\n") < 3000 - lost:
            try:
                text += os.read(read_fd, 1 << 16)
            except BlockingIOError:
                await deferLater(reactor, 0.001)
        os.close(read_fd)
        await gatherResults([ended])
        self.assertEqual(text.count(b"\n"), 3000 - lost)
