"""The gate in front of all writes."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import TooManyRequests
from orchtw.writes.gate import WriteGate


class WriteGateTests(SynchronousTestCase):
    """Writes before, during and after a restore."""

    def setUp(self) -> None:
        """An open gate, and writes that end when the test says so."""
        self.clock = Clock()
        self.gate = WriteGate(self.clock)
        self.writes: dict[str, Deferred[str]] = {}

    def write(self, name: str) -> Deferred[str]:
        """Ask for a write to begin."""

        async def work() -> str:
            self.writes[name] = Deferred()
            return await self.writes[name]

        return Deferred.fromCoroutine(self.gate.run(work))

    def close(self, patience_s: float = 1.0) -> Deferred[None]:
        """Begin to close the gate."""
        return Deferred.fromCoroutine(self.gate.close(patience_s))

    def test_open(self) -> None:
        """Through an open gate writes go at once; their results and errors are their own."""
        first, second = self.write("a"), self.write("b")
        self.assertEqual(self.gate.under_way, 2)
        self.writes["a"].callback("done")
        self.writes["b"].errback(ValueError("no"))
        self.assertEqual(self.successResultOf(first), "done")
        self.failureResultOf(second, ValueError)
        self.assertEqual(self.gate.under_way, 0)

    def test_closing_waits(self) -> None:
        """Closing waits for writes under way, in a turn of its own; later ones begin when it opens, in order."""
        self.write("a")
        closing = self.close()
        later = [self.write("b"), self.write("c")]
        self.assertEqual(list(self.writes), ["a"])
        self.writes["a"].callback("done")
        self.assertNoResult(closing)
        self.clock.advance(0)
        self.successResultOf(closing)
        self.assertEqual(list(self.writes), ["a"])
        self.gate.open()
        self.assertEqual(list(self.writes), ["a", "b", "c"])
        self.assertNoResult(later[0])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_patience_ends(self) -> None:
        """A write that takes longer does not hold up the restore; its request is refused when it comes to its end."""
        self.write("a")
        begun = self.gate.times_opened
        closing = self.close(1.0)
        self.clock.advance(1.0)
        self.clock.advance(0)
        self.successResultOf(closing)
        self.gate.check(begun)
        self.gate.open()
        error = self.assertRaises(TooManyRequests, self.gate.check, begun)
        self.assertEqual(error.retry_after_s, 1)
        self.gate.check(self.gate.times_opened)
        self.writes["a"].callback("done")
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_writers_leave(self) -> None:
        """A writer that gives up counts no longer, whether it waits at the gate or is under way."""
        under_way = self.write("a")
        closing = self.close()
        waiting = self.write("b")
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        under_way.cancel()
        self.failureResultOf(under_way, CancelledError)
        self.clock.advance(0)
        self.successResultOf(closing)
        self.gate.open()
        self.assertEqual((self.gate.under_way, list(self.writes)), (0, ["a"]))

    def test_nothing_under_way(self) -> None:
        """Without writes the gate is closed at once."""
        self.successResultOf(self.close())
        self.gate.open()
