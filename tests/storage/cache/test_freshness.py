"""Waits of readers, on a store of one process and on a shared one."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred, ensureDeferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Timeout
from orchtw.storage.cache.freshness import MOST_RECENT, WAIT_S, Freshness
from orchtw.watch.event_log import HeadRevision
from tests.client.world import MemoryStore

ANY = 0


class FreshnessCase(SynchronousTestCase):
    """A cache at revision 5 of a store."""

    shared = False

    def setUp(self) -> None:
        self.clock = Clock()
        self.store = MemoryStore(self.clock)
        self.store.now = 5
        self.store.shared = self.shared
        self.head = HeadRevision(5)
        self.freshness = Freshness(self.store, self.head, self.clock)

    def waiting(self, wanted: int | None) -> Deferred[None]:
        """A reader's wait, which there must be."""
        wait = self.freshness.due(wanted)
        assert wait is not None
        return ensureDeferred(wait)  # type: ignore[arg-type]

    def advance(self, revision: int) -> None:
        """The cache comes to `revision`."""
        self.head.revision = revision
        self.freshness.advanced()


class OwnStoreTests(FreshnessCase):
    """A store that only this process writes."""

    def test_costs_nothing(self) -> None:
        """The most recent state, any state and a past one are there: nothing is awaited, the store is not asked."""
        self.store.now = 6
        for wanted in (MOST_RECENT, ANY, 1, 5):
            self.assertIsNone(self.freshness.due(wanted), wanted)

    def test_future(self) -> None:
        """A revision to come is waited for, and refused with 504 if it does not come (reference READ-8)."""
        comes, fails = self.waiting(6), self.waiting(7)
        self.advance(6)
        self.successResultOf(comes)
        self.clock.advance(WAIT_S - 0.1)
        self.assertNoResult(fails)
        self.clock.advance(0.2)
        error = self.failureResultOf(fails, Timeout).value
        self.assertEqual(error.message, "Timeout: Too large resource version: 7, current: 6")
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_exact_future(self) -> None:
        """An exact state to come cannot be anybody's yet: 504 at once."""
        self.successResultOf(ensureDeferred(self.freshness.exactly(5)))
        self.failureResultOf(ensureDeferred(self.freshness.exactly(6)), Timeout)

    def test_stop(self) -> None:
        """Waits end with the server."""
        waiting = self.waiting(6)
        self.freshness.stop()
        self.failureResultOf(waiting, CancelledError)
        self.assertEqual(self.clock.getDelayedCalls(), [])


class SharedStoreTests(FreshnessCase):
    """A store that others write too."""

    shared = True

    def test_most_recent(self) -> None:
        """The most recent state is that of the store when the read began, however much is written afterwards."""
        self.store.now = 7
        waiting = self.waiting(MOST_RECENT)
        self.store.now = 9
        self.advance(6)
        self.assertNoResult(waiting)
        self.advance(7)
        self.successResultOf(waiting)

    def test_up_to_date(self) -> None:
        """A cache that is as far as the store answers as soon as the store has said so."""
        self.successResultOf(self.waiting(MOST_RECENT))

    def test_any(self) -> None:
        """Any state is there at once, and so is one that is old enough."""
        self.store.now = 7
        self.assertIsNone(self.freshness.due(ANY))
        self.assertIsNone(self.freshness.due(5))

    def test_feed_stands_still(self) -> None:
        """A cache that does not catch up in time is a 504 with the usual text."""
        self.store.now = 7
        waiting = self.waiting(MOST_RECENT)
        self.clock.advance(WAIT_S + 0.1)
        error = self.failureResultOf(waiting, Timeout).value
        self.assertEqual(error.message, "Timeout: Too large resource version: 7, current: 5")

    def test_exact(self) -> None:
        """An exact state that another process has told of is waited for."""
        waiting = ensureDeferred(self.freshness.exactly(6))
        self.assertNoResult(waiting)
        self.advance(6)
        self.successResultOf(waiting)
