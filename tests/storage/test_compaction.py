"""Retention of history: when it is cut, and by how much."""

from __future__ import annotations

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw import errors
from orchtw.storage.compaction import Retention, check_revision


class RetentionTests(SynchronousTestCase):
    """Compaction by time, and earlier by size."""

    def setUp(self) -> None:
        """Begin at revision 1, with an interval of ten seconds and a limit of 100 bytes."""
        self.clock = Clock()
        self.cuts: list[int] = []
        self.retention = self.made(10.0)

    def made(self, interval_s: float) -> Retention:
        """Return one that has begun."""
        retention = Retention(self.compact, self.clock, interval_s=interval_s, limit_bytes=100)
        retention.start(1)
        return retention

    def compact(self, revision: int) -> Deferred[None]:
        """Note the revision that is to be the oldest."""
        self.cuts.append(revision)
        return succeed(None)

    def test_one_interval_is_kept(self) -> None:
        """Each interval the state of one interval ago becomes the oldest (reference STORE-4)."""
        self.retention.wrote(5, 1)
        self.clock.advance(10)
        self.retention.wrote(9, 1)
        self.clock.advance(10)
        self.assertEqual(self.cuts, [1, 5])

    def test_flood_is_cut_early(self) -> None:
        """When more than the limit has been written, the history is cut at once, and the interval begins anew."""
        self.clock.advance(9)
        self.retention.wrote(5, 101)
        self.clock.advance(9)
        self.assertEqual(self.cuts, [1])
        self.clock.advance(1)
        self.assertEqual(self.cuts, [1, 5])

    def test_nothing_is_cut_without_interval(self) -> None:
        """With an interval of 0, and after a stop, nothing is forgotten."""
        self.made(0.0).wrote(5, 1000)
        self.retention.stop()
        self.clock.advance(100)
        self.assertEqual((self.cuts, self.clock.getDelayedCalls()), ([], []))

    def test_failure_is_logged_and_tried_again(self) -> None:
        """A compaction that fails is logged; the next interval tries again."""
        failing = Retention(lambda revision: fail(ValueError("no")), self.clock, interval_s=10.0, limit_bytes=1)
        failing.start(1)
        self.clock.advance(10)
        self.clock.advance(10)
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 2)

    def test_readable_revisions(self) -> None:
        """The compacted revision, later ones up to the head and the latest can be read; others are refused."""
        for revision in (0, 5, 9):
            check_revision(revision, 5, 9)
        self.assertRaises(errors.Expired, check_revision, 4, 5, 9)
        self.assertRaises(errors.Timeout, check_revision, 10, 5, 9)
