"""Latencies and errors by verb and resource, of the current interval and in total."""

from __future__ import annotations

from collections import Counter

import attrs

from orchtw.commands.load.histogram import Histogram


@attrs.define
class Figures:
    """DeliveryCounts of a period: latencies of good answers, and errors, by operation such as `create pods`.

    Errors are counted by operation and code; code 0 is a request without an answer.
    """

    latencies: dict[str, Histogram] = attrs.field(factory=dict)
    errors: Counter[tuple[str, int]] = attrs.field(factory=Counter)

    def answered(self, operation: str, latency_s: float) -> None:
        """Count a good answer."""
        histogram = self.latencies.get(operation)
        if histogram is None:
            histogram = self.latencies[operation] = Histogram()
        histogram.add(latency_s)

    def merge(self, other: Figures) -> None:
        """Add the counts of another period."""
        for operation, histogram in other.latencies.items():
            self.latencies.setdefault(operation, Histogram()).merge(histogram)
        self.errors += other.errors

    @property
    def failed(self) -> int:
        """Return the number of errors."""
        return self.errors.total()


class Statistics:
    """Figures of a run; `interval` collects until it is taken."""

    def __init__(self) -> None:
        self.interval = Figures()
        self.total = Figures()

    def take(self) -> Figures:
        """Return the interval's figures, add them to the total and begin another interval."""
        taken, self.interval = self.interval, Figures()
        self.total.merge(taken)
        return taken

    def forget(self) -> None:
        """Drop all figures, as of the set-up."""
        self.interval, self.total = Figures(), Figures()
