"""Lists of completion indexes (`orchtw.simulation.workloads.jobs.indexes`)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.workloads.jobs.indexes import indexes_text, parse_indexes


class IndexesTests(SynchronousTestCase):
    def test_text(self) -> None:
        """Three or more in a row are a range."""
        self.assertEqual(indexes_text({7, 1, 3, 4, 5}), "1,3-5,7")
        self.assertEqual(indexes_text({1, 2}), "1,2")
        self.assertEqual(indexes_text(set()), "")

    def test_round_trip(self) -> None:
        """A list is read as it was written."""
        for number in range(256):
            indexes = {bit for bit in range(8) if number >> bit & 1}
            self.assertEqual(parse_indexes(indexes_text(indexes)), indexes)
