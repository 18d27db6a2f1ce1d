"""Metrics that a later release hides (reference METRIC-3, METRIC-4, METRIC-11)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.metrics.hidden import is_hidden


class HiddenTests(SynchronousTestCase):
    def test_releases(self) -> None:
        """A metric is hidden in the releases after the one that deprecated it, counted as numbers."""
        for since, release, hidden in (
            ("", (1, 24), False),
            ("1.24.0", (1, 24), False),
            ("1.23.0", (1, 24), True),
            ("1.9.0", (1, 24), True),
            ("1.30.0", (2, 1), True),
        ):
            self.assertEqual(is_hidden(since, release), hidden, since)
