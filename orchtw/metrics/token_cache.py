"""Metrics of the cache of token reviews (reference METRIC-5)."""

from __future__ import annotations

from collections.abc import Awaitable
from time import perf_counter
from typing import Final, TypeVar

from orchtw.metrics.series import counters, gauges, histograms

T = TypeVar("T")

_BOUNDS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_STATUS: Final = ("status",)
_PREFIX: Final = "authentication_token_cache_"


class TokenCache:
    """Counts remembered tokens (hit) and others (miss), and the reviews that these lead to."""

    def __init__(self) -> None:
        requests = counters(f"{_PREFIX}request_total", "Token lookups: hit if cached, else miss.", _STATUS)
        durations = histograms(
            f"{_PREFIX}request_duration_seconds", "Time to authenticate a token in seconds.", _BOUNDS_S, _STATUS
        )
        fetched = counters(
            f"{_PREFIX}fetch_total", "Calls to authenticate a token: ok, or error if there was no response.", _STATUS
        )
        active = gauges(
            f"{_PREFIX}active_fetch_count",
            "Token lookups in progress: fetching, or blocked while waiting for an equal one.",
            _STATUS,
        )
        self.families = (requests, durations, fetched, active)
        self._hits, self._misses = requests.of("hit"), requests.of("miss")
        self._fast, self._slow = durations.of("hit"), durations.of("miss")
        self._good, self._bad = fetched.of("ok"), fetched.of("error")
        self._fetching, self._blocked = active.of("fetching"), active.of("blocked")

    def hit(self) -> None:
        """Count a remembered token."""
        self._hits.value += 1
        self._fast.observe(0.0)

    async def missed(self, answer: Awaitable[T], *, shared: bool) -> T:
        """Await the review of a token; `shared`: another request has asked for it already."""
        began, active = perf_counter(), self._blocked if shared else self._fetching
        self._misses.value += 1
        active.value += 1
        good = False
        try:
            found = await answer
            good = True
            return found
        finally:
            active.value -= 1
            self._slow.observe(perf_counter() - began)
            if not shared:
                (self._good if good else self._bad).value += 1
