"""Metrics of authentication methods (reference METRIC-1, AUTHN-27, AUTHN-59).

Only the reactor's thread adds; the library makes families of it when somebody asks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from orchtw.metrics.token_cache import TokenCache

_HOUR_S, _DAY_S = 3600, 86400
BOUNDS_S: Final = (
    0, _HOUR_S // 2, _HOUR_S, 2 * _HOUR_S, 6 * _HOUR_S, 12 * _HOUR_S,
    _DAY_S, 2 * _DAY_S, 4 * _DAY_S, 7 * _DAY_S, 30 * _DAY_S, 90 * _DAY_S, 180 * _DAY_S, 360 * _DAY_S,
)  # fmt: skip


class AuthenticationMetrics(Collector):
    """Uses of service account tokens, by kind, and how long the certificates of clients still hold.

    `cache` is about tokens of others; its families are not among those that are collected here.
    """

    def __init__(self) -> None:
        self.cache = TokenCache()
        self.legacy_tokens = self.stale_tokens = self.valid_tokens = 0
        self._lifetimes = [0] * (len(BOUNDS_S) + 1)
        self._lifetimes_s = 0.0

    def certificate(self, left_s: float) -> None:
        """A request with a certificate that holds for so long."""
        self._lifetimes[bisect_left(BOUNDS_S, left_s)] += 1
        self._lifetimes_s += left_s

    def collect(self) -> Iterator[Metric]:
        """The families at present."""
        for name, text, value in (
            ("legacy", "Uses of tokens of Secrets.", self.legacy_tokens),
            ("stale", "Uses of tokens that should have been renewed.", self.stale_tokens),
            ("valid", "Uses of tokens that should be renewed later.", self.valid_tokens),
        ):
            yield CounterMetricFamily(f"serviceaccount_{name}_tokens", f"[ALPHA] {text}", value)
        bounds = [*(f"{bound:g}" for bound in BOUNDS_S), "+Inf"]
        yield HistogramMetricFamily(
            "apiserver_client_certificate_expiration_seconds",
            "[ALPHA] For how long the certificate of a request still holds.",
            buckets=list(zip(bounds, map(float, accumulate(self._lifetimes)), strict=True)),
            sum_value=self._lifetimes_s,
        )
