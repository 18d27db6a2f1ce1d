"""A reactor that does not notice steps of the wall clock."""

from __future__ import annotations

from typing import Any

from twisted.internet.selectreactor import SelectReactor
from twisted.internet.task import Clock, LoopingCall
from twisted.python import runtime
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.monotonic import keep_monotonic_time

HOUR_S = 3600.0


class KeepMonotonicTimeTests(SynchronousTestCase):
    """`keep_monotonic_time`: a reactor that is turned by hand, and a wall clock that steps."""

    def setUp(self) -> None:
        self.wall_s = 1.7e9
        self.elapsed_s = 5000.0
        self.patch(runtime, "seconds", lambda: self.wall_s)
        self.patch(SelectReactor, "seconds", staticmethod(runtime.seconds))
        self.reactor: Any = SelectReactor()
        self.addCleanup(self.reactor.waker.connectionLost, None)
        self.called: list[str] = []

    def keep(self) -> None:
        keep_monotonic_time(self.reactor, lambda: self.elapsed_s)

    def advance(self, elapsed_s: float, step_s: float = 0.0) -> None:
        """Time passes; the wall clock is stepped besides."""
        self.elapsed_s += elapsed_s
        self.wall_s += elapsed_s + step_s
        self.reactor.runUntilCurrent()

    def test_steps(self) -> None:
        """A call comes when its time has passed, wherever the wall clock is put meanwhile (reference DESIGN-19)."""
        self.keep()
        for step_s in (-HOUR_S, HOUR_S):
            self.called.clear()
            self.reactor.callLater(2, self.called.append, "due")
            self.advance(1, step_s)
            self.assertEqual((self.called, self.reactor.timeout()), ([], 1.0))
            self.advance(1)
            self.assertEqual(self.called, ["due"])

    def test_wall_clock(self) -> None:
        """Without it, a step back stops the calls: what the test above relies on."""
        self.reactor.callLater(2, self.called.append, "due")
        self.advance(3, -HOUR_S)
        self.assertEqual(self.called, [])

    def test_scheduled_before(self) -> None:
        """Calls that were scheduled by the wall clock keep their distance and their order."""
        self.reactor.callLater(3, self.called.append, "third")
        self.reactor.callLater(5, self.called.append, "never").cancel()
        self.reactor.callLater(1, self.called.append, "first")
        self.reactor.runUntilCurrent()
        self.reactor.callLater(2, self.called.append, "second")
        self.keep()
        for count in range(4):
            self.assertEqual(self.called, ["first", "second", "third"][:count])
            self.advance(1, -HOUR_S)

    def test_moved(self) -> None:
        """Calls that are reset or delayed, and loops, go by the same clock."""
        self.keep()
        call = self.reactor.callLater(10, self.called.append, "reset")
        other = self.reactor.callLater(1, self.called.append, "delayed")
        loop = LoopingCall(self.called.append, "loop")
        loop.clock = self.reactor
        loop.start(2, now=False)
        self.advance(0, -HOUR_S)
        call.reset(1)
        other.delay(1)
        self.advance(1, -HOUR_S)
        self.assertEqual(self.called, ["reset"])
        self.advance(1, HOUR_S)
        self.assertEqual(sorted(self.called), ["delayed", "loop", "reset"])
        loop.stop()

    def test_twice(self) -> None:
        """A second time changes nothing."""
        self.keep()
        keep_monotonic_time(self.reactor, lambda: 0.0)
        self.assertEqual(self.reactor.seconds(), self.elapsed_s)

    def test_own_clock(self) -> None:
        """A reactor with a clock of its own keeps it."""
        clock = Clock()
        keep_monotonic_time(clock)
        self.assertEqual(clock.seconds(), 0.0)
