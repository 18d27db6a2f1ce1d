# mypy: disallow-untyped-calls=False
"""The change feed's reactor side, without a store."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw import errors
from orchtw.storage.feed import Feed
from orchtw.storage.store import Change
from orchtw.storage.testing import Recorder


def change(revision: int) -> Change:
    """A write of `revision`."""
    return Change(revision, "/a", b"", None)


class FeedTests(SynchronousTestCase):
    """Catching up, going live, leaving."""

    def setUp(self) -> None:
        """A feed at revision 5 whose history answers when told to."""
        self.feed = Feed()
        self.feed.publish([change(5)])
        self.asked: list[tuple[int, int, Deferred[Sequence[Change]]]] = []
        self.recorder = Recorder()

    def history(self, after: int, upto: int) -> Deferred[Sequence[Change]]:
        """Note the question; the test answers it."""
        answer: Deferred[Sequence[Change]] = Deferred()
        self.asked.append((after, upto, answer))
        return answer

    def follow(self, after: int) -> Deferred[object]:
        """Subscribe the recorder to the store."""
        return Deferred.fromCoroutine(self.feed.follow(after, self.recorder.deliver, self.history))

    def test_writes_during_catching_up_are_neither_lost_nor_doubled(self) -> None:
        """Writes while history is read come out of history, later ones are live."""
        following = self.follow(2)
        self.feed.publish([change(6)])
        self.asked[0][2].callback([change(3), change(4)])
        self.feed.publish([change(7), change(8)])
        self.asked[1][2].callback([change(5), change(6)])
        self.assertNoResult(following)
        self.asked[2][2].callback([change(7), change(8)])
        self.successResultOf(following)
        self.feed.publish([change(9)])
        self.assertEqual([entry[:2] for entry in self.asked], [(2, 5), (4, 6), (6, 8)])
        self.assertEqual(self.recorder.revisions, [3, 4, 5, 6, 7, 8, 9])

    def test_range_without_changes_is_passed_over(self) -> None:
        """A new store's revision 1 is not a write: catching up over it delivers nothing and ends."""
        following = self.follow(4)
        self.asked[0][2].callback([])
        self.successResultOf(following)
        self.assertEqual(self.recorder.changes, [])

    def test_cancelled_subscriber_never_goes_live(self) -> None:
        """A subscription cancelled while history is read gets nothing afterwards (reference STORE-12)."""
        following = self.follow(2)
        following.addErrback(lambda failure: None)
        following.cancel()
        self.feed.publish([change(6)])
        self.assertEqual(self.recorder.changes, [])

    def test_revision_to_come_is_refused(self) -> None:
        """Following from beyond the present raises Timeout (504)."""
        self.failureResultOf(self.follow(6), errors.Timeout)
