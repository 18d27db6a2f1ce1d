"""Many things, a bounded number at a time."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.client.concurrency import each


class EachTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.running: dict[int, Deferred[None]] = {}
        self.ended: list[int] = []

    async def act(self, item: int) -> None:
        """Runs until the test lets it end."""
        self.running[item] = Deferred()
        await self.running[item]
        self.ended.append(item)

    def begin(self, count: int, at_a_time: int) -> Deferred[None]:
        """Work on the numbers below `count`."""
        return Deferred.fromCoroutine(each(range(count), self.act, at_a_time))

    def test_bound(self) -> None:
        """No more than so many run at a time; each end lets the next begin."""
        done = self.begin(5, 2)
        self.assertEqual(list(self.running), [0, 1])
        self.running[1].callback(None)
        self.assertEqual(list(self.running), [0, 1, 2])
        for item in (0, 2, 3, 4):
            self.assertNoResult(done)
            self.running[item].callback(None)
        self.successResultOf(done)
        self.assertEqual(sorted(self.ended), [0, 1, 2, 3, 4])

    def test_cancellation(self) -> None:
        """A cancellation ends the items under way, begins no further one, and is told as such."""
        done = self.begin(5, 2)
        done.cancel()
        self.failureResultOf(done, CancelledError)
        self.assertEqual((list(self.running), self.ended), ([0, 1], []))

    def test_fewer_than_the_bound(self) -> None:
        """Fewer items than places, or none, cause no trouble."""
        self.successResultOf(self.begin(0, 3))
        done = self.begin(1, 3)
        self.running[0].callback(None)
        self.successResultOf(done)

    def test_failures(self) -> None:
        """All are tried in spite of failures, of which the first is raised at the end."""
        done = self.begin(3, 1)
        self.running[0].errback(ValueError("first"))
        self.running[1].errback(ValueError("second"))
        self.assertNoResult(done)
        self.running[2].callback(None)
        self.assertEqual(str(self.failureResultOf(done, ValueError).value), "first")
        self.assertEqual(self.ended, [2])
