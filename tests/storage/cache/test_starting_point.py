"""From where a server follows a store when it starts (READ-28)."""

from __future__ import annotations

from unittest import mock

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Expired
from orchtw.storage.cache.starting_point import starting_point
from orchtw.storage.store import Store

RECENT = 10_000
KEY = "/registry/namespaces/default"


class StartingPointTests(SynchronousTestCase):
    """A store at a revision whose history goes back to some other."""

    def start(self, now: int, kept: int, looks_back: int = RECENT) -> tuple[int, int]:
        """Where a server starts, and how many questions that took."""
        store = mock.create_autospec(Store, instance=True)
        store.looks_back = looks_back
        store.revision = mock.AsyncMock(return_value=now)
        store.get = mock.AsyncMock(
            side_effect=lambda key, revision: _expired(revision, kept) if revision < kept else None
        )
        found = self.successResultOf(Deferred.fromCoroutine(starting_point(store, KEY)))
        return found, store.get.await_count

    def test_own_store(self) -> None:
        """A store that does not ask for it gives the latest state (READ-28)."""
        self.assertEqual(self.start(50_000, 1, 0), (0, 0))

    def test_whole_history(self) -> None:
        """The state of so many revisions ago, or the first one of a young store (READ-28)."""
        self.assertEqual(self.start(50_000, 1), (50_000 - RECENT, 1))
        self.assertEqual(self.start(300, 1), (1, 1))

    def test_compacted(self) -> None:
        """Part of what is kept where less is kept; the latest state where it is next to nothing (READ-28)."""
        self.assertEqual(self.start(50_000, 46_000), (50_000 - RECENT // 4, 3))
        self.assertEqual(self.start(50_000, 49_999), (0, 10))


def _expired(revision: int, kept: int) -> None:
    raise Expired.watch(revision, kept)
