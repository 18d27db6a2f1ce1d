"""Number of differences between the events that a churn watcher expected and those it received."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bench.churn import Seen, differences

EVENTS = [Seen("ADDED", "churn-0000001"), Seen("MODIFIED", "churn-0000001"), Seen("DELETED", "churn-0000001")]


class DifferencesTests(SynchronousTestCase):
    def test_none(self) -> None:
        """The same events in the same order."""
        self.assertEqual(differences(EVENTS, list(EVENTS)), 0)

    def test_lost(self) -> None:
        """An event that never came."""
        self.assertEqual(differences(EVENTS, EVENTS[:2]), 1)

    def test_doubled(self) -> None:
        """An event that came twice."""
        self.assertEqual(differences(EVENTS, [*EVENTS, EVENTS[-1]]), 1)

    def test_order(self) -> None:
        """Two events that changed places."""
        self.assertEqual(differences(EVENTS, [EVENTS[1], EVENTS[0], EVENTS[2]]), 2)
