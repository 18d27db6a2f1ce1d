"""The simulated time: faster than real time, or standing until it is advanced (reference SIM-2)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.clock import FEW_CANCELLED, TURN_S, SimulationClock
from tests.properties import examples


class ClockTestCase(SynchronousTestCase):
    """A clock of a speed over a reactor's time, and what was called when."""

    speed = 10.0

    def setUp(self) -> None:
        self.reactor = Clock()
        self.clock = SimulationClock(self.reactor, 1000.0, self.speed)
        self.called: list[tuple[str, float]] = []

    def note(self, name: str) -> None:
        """Note the simulated second of a call."""
        self.called.append((name, round(self.clock.seconds(), 6)))

    def advance(self, seconds: float) -> None:
        """Advance the time; no work follows a timer."""
        self.successResultOf(Deferred.fromCoroutine(self.clock.advance(seconds, lambda: succeed(None))))


class SpeedTests(ClockTestCase):
    """A time that runs ten times as fast."""

    def test_now(self) -> None:
        """One second of the reactor is ten simulated ones."""
        self.reactor.advance(3)
        self.assertEqual((self.clock.seconds(), self.clock.now()), (30.0, 1030.0))

    def test_timers(self) -> None:
        """Timers are called in the order in which they are due, whatever the order in which they were set."""
        self.clock.call_later(20, self.note, "late")
        self.clock.call_later(5, self.note, "early")
        self.reactor.pump([0.4, 0.2, 2.0])
        self.assertEqual([name for name, _ in self.called], ["early", "late"])
        self.assertEqual(self.reactor.getDelayedCalls(), [])

    def test_cancel(self) -> None:
        """A cancelled timer is not called; a timer may set another for the same moment."""
        first = self.clock.call_later(1, self.note, "cancelled")
        self.clock.call_later(1, lambda: self.clock.call_later(0, self.note, "next"))
        first.cancel()
        self.assertFalse(first.active)
        self.reactor.pump([0.2, 0.0])
        self.assertEqual([name for name, _ in self.called], ["next"])

    def test_advance(self) -> None:
        """An advance is added to the time that runs."""
        self.reactor.advance(1)
        self.clock.call_later(100, self.note, "due")
        self.advance(60)
        self.assertEqual((self.clock.seconds(), self.called), (70.0, []))
        self.reactor.advance(4)
        self.assertEqual(self.called, [("due", 110.0)])

    def test_error(self) -> None:
        """A call that raises is logged; other timers are called all the same, in that turn and later."""
        for due in (1, 3):
            self.clock.call_later(due, lambda: 1 / 0)
            self.clock.call_later(due + 0.5, self.note, "next")
        self.reactor.advance(0.2)
        self.assertEqual(self.called, [("next", 2.0)])
        self.advance(2)
        self.assertEqual([name for name, _ in self.called], ["next", "next"])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 2)

    def test_failed_advance(self) -> None:
        """After an advance that fails the time runs on, from the timer to which it had come."""
        self.clock.call_later(30, lambda: None)
        self.clock.call_later(50, self.note, "due")
        settled = iter((succeed(None), fail(ValueError())))
        self.failureResultOf(Deferred.fromCoroutine(self.clock.advance(60, lambda: next(settled))), ValueError)
        self.assertEqual(self.clock.seconds(), 30.0)
        self.reactor.advance(2)
        self.assertEqual(self.called, [("due", 50.0)])

    def work(self) -> None:
        """Do work for a whole turn of the reactor."""
        self.reactor.rightNow += TURN_S
        self.note("worked")

    def test_turns(self) -> None:
        """Calls that take long leave room for others, at the pace of the reactor."""
        for _ in range(3):
            self.clock.call_later(10, self.work)
        self.reactor.callLater(1, self.note, "other")
        self.reactor.advance(1)
        self.assertEqual([name for name, _ in self.called], ["worked", "other", "worked", "worked"])

    def test_turns_of_advance(self) -> None:
        """Calls that take long leave room for others, in an advance."""
        for _ in range(3):
            self.clock.call_later(10, self.work, settles=False)
        done = Deferred.fromCoroutine(self.clock.advance(100, lambda: succeed(None)))
        self.assertEqual(len(self.called), 1)
        self.reactor.pump([0, 0, 0])
        self.assertEqual(len(self.called), 3)
        self.successResultOf(done)

    def test_cancelled_timers_are_forgotten(self) -> None:
        """Timers that were cancelled long before they are due do not pile up."""
        kept = [self.clock.call_later(1e6 + each, self.note, str(each)) for each in range(10)]
        for _ in range(10 * FEW_CANCELLED):
            self.clock.call_later(1e6, self.note, "never").cancel()
        self.assertLess(len(self.clock._timers), 3 * FEW_CANCELLED)
        kept[0].cancel()
        self.advance(2e6)
        self.assertEqual([name for name, _ in self.called], [str(each) for each in range(1, 10)])

    def test_stop(self) -> None:
        """After `stop` nothing is called."""
        self.clock.call_later(1, self.note, "never")
        self.clock.stop()
        self.reactor.advance(10)
        self.assertEqual((self.called, self.reactor.getDelayedCalls()), ([], []))


class StandingTests(ClockTestCase):
    """A time that only advances."""

    speed = 0.0

    def test_stands(self) -> None:
        """The reactor's time does not move it, but what is due at once is called."""
        self.clock.call_later(1, self.note, "later")
        self.clock.call_later(0, self.note, "now")
        self.reactor.advance(3600)
        self.assertEqual(self.called, [("now", 0.0)])

    def test_order(self) -> None:
        """An advance goes through all timers on the way, each at its own time, those set on the way included."""
        self.clock.call_later(30, self.note, "b")
        self.clock.call_later(10, lambda: self.clock.call_later(10, self.note, "a"))
        self.clock.call_later(61, self.note, "after")
        self.advance(60)
        self.assertEqual(self.called, [("a", 20.0), ("b", 30.0)])
        self.assertEqual(self.clock.now(), 1060.0)

    def test_settles(self) -> None:
        """Before the next timer is called, the work of the one before is waited for, unless it is bookkeeping."""
        waits: list[Deferred[None]] = []

        def settle() -> Deferred[None]:
            waits.append(Deferred())
            return waits[-1]

        self.clock.call_later(1, self.note, "lease", settles=False)
        self.clock.call_later(2, self.note, "work")
        self.clock.call_later(3, self.note, "next")
        done = Deferred.fromCoroutine(self.clock.advance(10, settle))
        waits.pop().callback(None)
        self.assertEqual([name for name, _ in self.called], ["lease", "work"])
        waits.pop().callback(None)
        self.assertEqual([name for name, _ in self.called], ["lease", "work", "next"])
        self.assertNoResult(done)
        waits.pop().callback(None)
        self.successResultOf(done)


class OrderTests(SynchronousTestCase):
    """A property of all timers."""

    @examples(100)
    @given(st.lists(st.integers(1, 100)), st.lists(st.integers(0, 40), max_size=4))
    def test_all_in_order(self, delays: list[int], steps: list[int]) -> None:
        """Whatever the steps of the advance, all that is due is called once, and in order."""
        clock = SimulationClock(Clock(), 0.0, 0.0)
        called: list[int] = []
        for delay in delays:
            clock.call_later(delay, called.append, delay)
        for step in steps:
            self.successResultOf(Deferred.fromCoroutine(clock.advance(step, lambda: succeed(None))))
        self.assertEqual(called, sorted(delay for delay in delays if delay <= sum(steps)))
