"""A start that waits for its cluster says so (reference STORE-33)."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.logger import LogEvent, formatEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase

from orchtw.storage.etcd.waiting import UnreachableLog


class WaitingTests(SynchronousTestCase):
    def test_lines(self) -> None:
        """The first reason is told at once, then the present one every five seconds, and nothing after the end."""
        lines: list[str] = []

        def observe(event: LogEvent) -> None:
            lines.append(formatEvent(event))

        globalLogPublisher.addObserver(observe)  # type: ignore[arg-type]
        self.addCleanup(globalLogPublisher.removeObserver, observe)  # type: ignore[arg-type]
        clock, trouble = Clock(), [""]
        waiting = UnreachableLog(clock, lambda: trouble[0])
        waiting.start()
        clock.pump([0.1] * 10)
        self.assertEqual(lines, [])
        steps = (("refused", 0.2, 1), ("silent", 4.8, 1), ("silent", 0.4, 2), ("silent", 5.2, 3))
        for reason, seconds, told in steps:
            trouble[0] = reason
            clock.pump([0.1] * round(seconds * 10))
            self.assertEqual(len(lines), told, lines)
        self.assertEqual(lines[1], "waiting for etcd, which cannot be reached: silent")
        waiting.stop()
        clock.advance(60)
        self.assertEqual(len(lines), 3)
