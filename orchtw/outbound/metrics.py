"""Metrics of calls to other servers (reference METRIC-5)."""

from __future__ import annotations

from typing import Final

from orchtw.metrics.registry import Registry
from orchtw.metrics.request_labels import code_of
from orchtw.metrics.series import counters, histograms

_BOUNDS_S: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60)

FAILED: Final = "<error>"
"""Code label of a call without a response."""


class CallMetrics:
    """Metrics of calls by host: only hosts that configuration and stored objects name."""

    def __init__(self, registry: Registry) -> None:
        self._requests = registry.add(counters(
            "rest_client_requests_total", "Outbound requests, by response code, method and host.",
            ("code", "method", "host")))  # fmt: skip
        self._durations = registry.add(histograms(
            "rest_client_request_duration_seconds", "Latency of outbound requests in seconds, by method and host.",
            _BOUNDS_S, ("verb", "url")))  # fmt: skip

        self.missing_names = registry.add(counters(
            "apiserver_webhooks_x509_missing_san_total",
            "Outbound requests failed because the certificate has no alternative names.")).of()  # fmt: skip

    def called(self, method: str, host: str, code: int, seconds: float) -> None:
        """Count a call that has ended; `code` 0: without a response."""
        self._requests.of(code_of(code) if code else FAILED, method, host).value += 1
        self._durations.of(method, host).observe(seconds)
