from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from bench.tails import buckets, longer

TEXT = """
# TYPE orchtw_reactor_lag_seconds histogram
orchtw_reactor_lag_seconds_bucket{le="0.005"} 90
orchtw_reactor_lag_seconds_bucket{le="0.1"} 99
orchtw_reactor_lag_seconds_bucket{le="+Inf"} 100
orchtw_other_seconds_bucket{le="0.1"} 7
orchtw_reactor_lag_seconds_count 100
"""


class TailsTests(SynchronousTestCase):
    def test_longer(self) -> None:
        """Waits are counted at each step that they are beyond; steps that none was are left out."""
        self.assertEqual(longer([1_000_000, 10_000_000, 10_000_001, 60_000_000]), {"10": 2, "20": 1, "50": 1})

    def test_buckets(self) -> None:
        """Of what the server shows only what could hold up a writer is read."""
        found = buckets(TEXT)
        self.assertEqual(found["reactor_lag"], {0.005: 90, 0.1: 99, float("inf"): 100})
        self.assertEqual(found["commit"], {})
