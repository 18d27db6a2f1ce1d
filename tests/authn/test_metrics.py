"""Authentication metrics (reference AUTHN-59)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn.metrics import BOUNDS_S, AuthenticationMetrics
from tests.metrics.shown import text_of


class MetricsTests(SynchronousTestCase):
    def test_text(self) -> None:
        """Counters and the histogram of lifetimes, with the bounds as Go writes them (reference AUTHN-59)."""
        metrics = AuthenticationMetrics()
        metrics.legacy_tokens.value += 2
        for left_s in (60.0, 3600.0, 8e6, 1e9):
            metrics.certificate(left_s)
        lines = text_of(metrics.families).splitlines()
        name = "apiserver_client_certificate_expiration_seconds"
        for expected in (
            "serviceaccount_legacy_tokens_total 2",
            "serviceaccount_stale_tokens_total 0",
            "serviceaccount_valid_tokens_total 0",
            f'{name}_bucket{{le="0"}} 0',
            f'{name}_bucket{{le="1800"}} 1',
            f'{name}_bucket{{le="3600"}} 2',
            f'{name}_bucket{{le="2.592e+06"}} 2',
            f'{name}_bucket{{le="1.5552e+07"}} 3',
            f'{name}_bucket{{le="+Inf"}} 4',
            f"{name}_count 4",
        ):
            self.assertIn(expected, lines)
        self.assertEqual(len([line for line in lines if f"{name}_bucket" in line]), len(BOUNDS_S) + 1)
