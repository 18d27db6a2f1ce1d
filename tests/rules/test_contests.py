"""Writers that undo each other (reference CTRL-53)."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import Clock
from twisted.logger import LogEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules import contests
from orchtw.rules.contests import LIMIT_S, QUIET_S, Contests


class ContestTests(SynchronousTestCase):
    """A writer whose changes another writer reverts each time."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.contests = Contests(self.clock.seconds)
        self.logged: list[str] = []
        take: Any = self.take
        globalLogPublisher.addObserver(take)
        self.addCleanup(globalLogPublisher.removeObserver, take)

    def take(self, event: LogEvent) -> None:
        if "delay_s" in event:
            self.logged.append(f"{event['key']} {event['times']} {event['delay_s']:g}")

    def write(self, content: object = "x", key: str = "k", over: object = "theirs") -> float:
        """Write as soon as that may be; how long that took."""
        waited_s = self.contests.due_in_s(key, content, lambda: over)
        self.clock.advance(waited_s)
        self.assertEqual(self.contests.due_in_s(key, content, lambda: over), 0)
        self.contests.wrote(key, content, over)
        return waited_s

    def test_delays(self) -> None:
        """A reverted write is repeated after delays that grow to five minutes."""
        waited = [self.write() for _ in range(14)]
        self.assertEqual(waited[:8], [0, 1, 2, 4, 8, 16, 32, 64])
        self.assertEqual(waited[-3:], [LIMIT_S] * 3)

    def test_told(self) -> None:
        """Each delay is in the log, once."""
        for _ in range(4):
            self.write()
            for _ in range(2):
                self.contests.due_in_s("k", "x", lambda: "theirs")
        self.assertEqual(self.logged, ["k 1 1", "k 2 2", "k 3 4", "k 4 8"])

    def test_an_hour(self) -> None:
        """A contest of an hour costs some twenty writes."""
        count = 0
        while self.clock.seconds() < 3600:
            self.write()
            count += 1
        self.assertLess(count, 24)

    def test_taken_away(self) -> None:
        """A deleted object is recreated at once the first time, as it was new before."""
        self.assertEqual([self.write(over=None) for _ in range(5)], [0, 0, 1, 2, 4])

    def test_other_ways(self) -> None:
        """A write reverted in a different way each time is repeated at once, but not forever."""
        self.assertEqual([self.write(over=number) for number in range(9)], [0, 0, 0, 0, 0, 0, 1, 2, 4])

    def test_other_content(self) -> None:
        """Changed content of our own is written at once; the order of keys does not matter."""
        for _ in range(5):
            self.write({"a": 1, "b": 2})
        self.assertGreater(self.contests.due_in_s("k", {"b": 2, "a": 1}, lambda: "theirs"), 0)
        self.assertEqual([self.write({"a": 2}), self.write({"a": 3}), self.write({"a": 2})], [0, 0, 0])

    def test_quiet(self) -> None:
        """The delays start anew after a quiet period."""
        for _ in range(4):
            self.write()
        self.clock.advance(QUIET_S + 1)
        self.assertEqual([self.write(), self.write(), self.write()], [0, 1, 2])

    def test_other_objects(self) -> None:
        """Each object has its own."""
        for _ in range(4):
            self.write()
        self.assertEqual(self.write(key="other"), 0)

    def test_bounded(self) -> None:
        """Those written longest ago are forgotten when there are too many."""
        self.patch(contests, "MOST", 2)
        for _ in range(3):
            self.write(key="a")
        self.write(key="b")
        self.write(key="c")
        self.assertEqual(self.contests.due_in_s("a", "x", lambda: "theirs"), 0)
