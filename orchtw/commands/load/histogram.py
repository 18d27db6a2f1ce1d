"""Bounded record of durations: counts in buckets whose width is 2 % of their value."""

from __future__ import annotations

from math import exp, log
from typing import Final

_STEP: Final = log(1.02)
_SMALLEST_S: Final = 1e-6


class Histogram:
    """DeliveryCounts of durations; its size depends on their range, not on their number."""

    def __init__(self) -> None:
        self.count = 0
        self.largest_s = 0.0
        self._buckets: dict[int, int] = {}

    def add(self, duration_s: float) -> None:
        """Count a duration; negative ones count as the smallest."""
        place = int(log(max(duration_s, _SMALLEST_S) / _SMALLEST_S) / _STEP)
        self._buckets[place] = self._buckets.get(place, 0) + 1
        self.count += 1
        self.largest_s = max(self.largest_s, duration_s)

    def merge(self, other: Histogram) -> None:
        """Add the counts of another histogram."""
        for place, count in other._buckets.items():
            self._buckets[place] = self._buckets.get(place, 0) + count
        self.count += other.count
        self.largest_s = max(self.largest_s, other.largest_s)

    def percentile_s(self, share: float) -> float:
        """Return the nearest-rank percentile within 2 %; 0 of an empty histogram."""
        rank, passed = max(1, -int(-share * self.count // 1)), 0
        for place in sorted(self._buckets):
            passed += self._buckets[place]
            if passed >= rank:
                return min(self.largest_s, _SMALLEST_S * exp((place + 0.5) * _STEP))
        return 0.0
