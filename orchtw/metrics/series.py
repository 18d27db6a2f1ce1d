"""Series and their families: a name, its labels, and a number or histogram for each combination of values.

A hot path looks up its series once and keeps them: then a count is one addition, and an observation a bisection.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final, Generic, Protocol, TypeVar

COUNTER, GAUGE, HISTOGRAM, SUMMARY = "counter", "gauge", "histogram", "summary"
STABLE, ALPHA = "STABLE", "ALPHA"

MOST_SERIES: Final = 1000
"""Default limit of a family's series; others count under OTHER."""

OTHER: Final = "other"
"""Label value in place of excess values, or of ones that a client made up (reference METRIC-8)."""

UNEXPECTED: Final = "unexpected"
"""Label value in place of those that `--allow-metric-labels` leaves out (reference METRIC-3)."""

Values = tuple[str, ...]


class Number:
    """Series of a counter or a gauge."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def reset(self) -> None:
        """Set the series back to zero."""
        self.value = 0


class Histogram:
    """Series of a histogram, with a count for each bound and one for values beyond the last."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.reset()

    def reset(self) -> None:
        """Set the series back to zero."""
        self.counts = [0] * (len(self.bounds) + 1)
        self.total: float = 0

    def observe(self, value: float) -> None:
        """Count one observation of `value`."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def observe_all(self, values: Iterable[float], times: int = 1) -> None:
        """Count several values, each `times` times."""
        counts, bounds = self.counts, self.bounds
        for value in values:
            counts[bisect_left(bounds, value)] += times
            self.total += value * times

    @property
    def count(self) -> int:
        """Number of observations so far."""
        return sum(self.counts)

    def cumulated(self) -> Iterator[int]:
        """Return for each bound, and beyond them all, how many values were no larger."""
        return accumulate(self.counts)


class Series(Protocol):
    """A number or a histogram, as a family holds it."""

    def reset(self) -> None:
        """Set the series back to zero."""


S = TypeVar("S", bound=Series)


class ShownFamily(ABC, Generic[S]):
    """A family as `/metrics` shows it: name, kind, help text and present series.

    `since` is the release that deprecated it (`1.23.0`), empty for none.
    """

    def __init__(self, name: str, kind: str, text: str, labels: Values = (), *, stability: str = ALPHA,
                 since: str = "", bounds: tuple[float, ...] = ()) -> None:  # fmt: skip
        self.name = name
        self.kind = kind
        self.labels = labels
        self.since = since
        self.bounds = bounds
        deprecated = f"(Deprecated since {since}) " if since else ""
        self.help = f"[{stability}] {deprecated}{text}"

    @abstractmethod
    def series(self) -> Iterable[tuple[Values, S]]:
        """Return every series by its labels' values."""

    def allow(self, label: str, values: frozenset[str]) -> None:
        """Show only these values of a label; called before there are any."""

    def reset(self) -> None:
        """Reset all counts; a gauge shows the present state, and stays."""


class Family(ShownFamily[S]):
    """A family whose series are made on first use.

    It has at most `most`: the labels of further ones become OTHER, or, if it `forgets`, the oldest is dropped.
    """

    def __init__(self, make: Callable[[], S], name: str, kind: str, text: str, labels: Values = (), *,
                 stability: str = ALPHA, since: str = "", bounds: tuple[float, ...] = (),
                 most: int = MOST_SERIES, forgets: bool = False) -> None:  # fmt: skip
        super().__init__(name, kind, text, labels, stability=stability, since=since, bounds=bounds)
        self._make = make
        self._most = most
        self._forgets = forgets
        self._allowed: dict[int, frozenset[str]] = {}
        self._series: dict[Values, S] = {}
        if not labels:
            self.of()

    def of(self, *values: str) -> S:
        """Return the series of these values, one for each label."""
        found = self._series.get(values)
        if found is None:
            values = self._fitting(values)
            found = self._series.get(values)
        if found is None:
            found = self._series[values] = self._make()
        return found

    def forget(self, *values: str) -> None:
        """Drop a series that will not change any more."""
        self._series.pop(values, None)

    def _fitting(self, values: Values) -> Values:
        if len(values) != len(self.labels):
            raise ValueError(f"{self.name} has labels {self.labels}")
        if self._allowed:
            values = tuple(
                value if value in self._allowed.get(at, (value,)) else UNEXPECTED for at, value in enumerate(values)
            )
        if len(self._series) >= self._most and values not in self._series:
            if not self._forgets:
                return (OTHER,) * len(values)
            del self._series[next(iter(self._series))]
        return values

    def series(self) -> Iterable[tuple[Values, S]]:
        """Return the series so far; see `ShownFamily`, also for the methods below."""
        return list(self._series.items())

    def allow(self, label: str, values: frozenset[str]) -> None:
        if label in self.labels:
            self._allowed[self.labels.index(label)] = values

    def reset(self) -> None:
        if self.kind != GAUGE:
            for each in self._series.values():
                each.reset()


class Read(ShownFamily[Number]):
    """A family whose values are read from elsewhere on demand: label values and number for each series."""

    def __init__(self, read: Callable[[], Iterable[tuple[Values, float]]], name: str, kind: str, text: str,
                 labels: Values = (), *, stability: str = ALPHA, since: str = "") -> None:  # fmt: skip
        super().__init__(name, kind, text, labels, stability=stability, since=since)
        self._read = read
        self._allowed: dict[int, frozenset[str]] = {}

    def series(self) -> Iterable[tuple[Values, Number]]:
        """Read the series; values that are not allowed are added up. See `ShownFamily`."""
        found: dict[Values, Number] = {}
        for values, number in self._read():
            shown = tuple(v if v in self._allowed.get(at, (v,)) else UNEXPECTED for at, v in enumerate(values))
            found.setdefault(shown, Number()).value += number
        return found.items()

    def allow(self, label: str, values: frozenset[str]) -> None:
        """Show only these values of a label; see `ShownFamily`."""
        if label in self.labels:
            self._allowed[self.labels.index(label)] = values


class Single(ShownFamily[Histogram]):
    """A histogram without labels, which is kept elsewhere."""

    def __init__(self, histogram: Histogram, name: str, text: str) -> None:
        super().__init__(name, HISTOGRAM, text, bounds=histogram.bounds)
        self._histogram = histogram

    def series(self) -> Iterable[tuple[Values, Histogram]]:
        """Return the only series; see `ShownFamily`."""
        return (((), self._histogram),)

    def reset(self) -> None:
        """Set the histogram back to zero."""
        self._histogram.reset()


class ReadHistograms(ShownFamily[Histogram]):
    """A family of histograms with equal bounds that are kept elsewhere, read on demand."""

    def __init__(self, read: Callable[[], Iterable[tuple[Values, Histogram]]], name: str, text: str,
                 bounds: tuple[float, ...], labels: Values) -> None:  # fmt: skip
        super().__init__(name, HISTOGRAM, text, labels, bounds=bounds)
        self._read = read

    def series(self) -> Iterable[tuple[Values, Histogram]]:
        """Read the series; see `ShownFamily`."""
        return self._read()


class Summary(ShownFamily[Histogram]):
    """Counts and sums of a family of histograms, without its buckets."""

    def __init__(self, histograms: ShownFamily[Histogram], text: str) -> None:
        super().__init__(f"{histograms.name}_summary", SUMMARY, text, histograms.labels)
        self._histograms = histograms

    def series(self) -> Iterable[tuple[Values, Histogram]]:
        """Return the series of the histograms; see `ShownFamily`."""
        return self._histograms.series()


def counters(name: str, text: str, labels: Values = (), *, stability: str = ALPHA, since: str = "",
             most: int = MOST_SERIES, forgets: bool = False) -> Family[Number]:  # fmt: skip
    """Return a family of counters."""
    return Family(
        Number, name, COUNTER, text, labels, stability=stability, since=since, most=most, forgets=forgets
    )


def gauges(name: str, text: str, labels: Values = (), *, stability: str = ALPHA, since: str = "",
           most: int = MOST_SERIES) -> Family[Number]:  # fmt: skip
    """Return a family of gauges that are set, or counted up and down."""
    return Family(Number, name, GAUGE, text, labels, stability=stability, since=since, most=most)


def histograms(name: str, text: str, bounds: tuple[float, ...], labels: Values = (), *, stability: str = ALPHA,
               since: str = "", most: int = MOST_SERIES) -> Family[Histogram]:  # fmt: skip
    """Return a family of histograms."""

    def make() -> Histogram:
        return Histogram(bounds)

    return Family(make, name, HISTOGRAM, text, labels, stability=stability, since=since, bounds=bounds, most=most)


def one(read: Callable[[], float]) -> Callable[[], Iterable[tuple[Values, float]]]:
    """Adapt a function for `Read` of a family without labels."""
    return lambda: (((), read()),)


def each(read: Callable[[], Mapping[str, float]]) -> Callable[[], Iterable[tuple[Values, float]]]:
    """Adapt a function for `Read` of a family with one label."""
    return lambda: [((value,), number) for value, number in read().items()]


def doubling(first: float, count: int, factor: float = 2) -> tuple[float, ...]:
    """Return bounds of which each is `factor` times the one before."""
    return tuple(round(first * factor**power, 12) for power in range(count))
