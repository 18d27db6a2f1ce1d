"""Series and their families: a name, its labels, and a number or histogram for each combination of values.

A hot path asks for its series once and keeps them: then a count is one addition, and an observation a bisection.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Final, Generic, Protocol, TypeVar

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"
STABLE, ALPHA = "STABLE", "ALPHA"

MOST_SERIES: Final = 1000
"""Of one family; what else comes is counted under OTHER."""

OTHER: Final = "other"
"""A label's value in place of those that are too many, or that a client has made up (reference METRIC-8)."""

UNEXPECTED: Final = "unexpected"
"""A label's value in place of those that `--allow-metric-labels` leaves out (reference METRIC-3)."""

Values = tuple[str, ...]


class Number:
    """The series of a counter or a gauge."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def reset(self) -> None:
        """Set the series back to zero."""
        self.value = 0


class Histogram:
    """The series of a histogram, with a count for each bound and one for what is beyond the last."""

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
        """Count several, each so many times."""
        counts, bounds = self.counts, self.bounds
        for value in values:
            counts[bisect_left(bounds, value)] += times
            self.total += value * times

    @property
    def count(self) -> int:
        """Return the number of observations."""
        return sum(self.counts)

    def cumulated(self) -> Iterator[int]:
        """For each bound, and beyond them all, how many were no larger."""
        return accumulate(self.counts)


class Series(Protocol):
    """A number or a histogram."""

    def reset(self) -> None:
        """Set the series back to zero."""


S = TypeVar("S", bound=Series)


class ShownSeries(ABC, Generic[S]):
    """A family as `/metrics` shows it: name, kind, words and what it holds at present.

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
        """Every series by its labels' values."""

    def allow(self, label: str, values: frozenset[str]) -> None:
        """Show no other values of this label than these; to be said before there are any."""

    def reset(self) -> None:
        """Let all counts begin anew; a gauge says what is so now, and stays."""


class Family(ShownSeries[S]):
    """A family whose series are made when they are first asked for.

    It has no more than `most`: then all labels of further ones are OTHER.
    """

    def __init__(self, make: Callable[[], S], name: str, kind: str, text: str, labels: Values = (), *,
                 stability: str = ALPHA, since: str = "", bounds: tuple[float, ...] = (),
                 most: int = MOST_SERIES) -> None:  # fmt: skip
        super().__init__(name, kind, text, labels, stability=stability, since=since, bounds=bounds)
        self._make = make
        self._most = most
        self._allowed: dict[int, frozenset[str]] = {}
        self._series: dict[Values, S] = {}
        if not labels:
            self.of()

    def of(self, *values: str) -> S:
        """The series of these values, one for each label."""
        found = self._series.get(values)
        if found is None:
            values = self._fitting(values)
            found = self._series.get(values)
        if found is None:
            found = self._series[values] = self._make()
        return found

    def forget(self, *values: str) -> None:
        """Let go of a series that will not change any more."""
        self._series.pop(values, None)

    def _fitting(self, values: Values) -> Values:
        if len(values) != len(self.labels):
            raise ValueError(f"{self.name} has labels {self.labels}")
        if self._allowed:
            values = tuple(
                value if value in self._allowed.get(at, (value,)) else UNEXPECTED for at, value in enumerate(values)
            )
        if len(self._series) >= self._most and values not in self._series:
            values = (OTHER,) * len(values)
        return values

    def series(self) -> Iterable[tuple[Values, S]]:
        """See `ShownSeries`, as those below."""
        return list(self._series.items())

    def allow(self, label: str, values: frozenset[str]) -> None:
        if label in self.labels:
            self._allowed[self.labels.index(label)] = values

    def reset(self) -> None:
        if self.kind != GAUGE:
            for each in self._series.values():
                each.reset()


class Read(ShownSeries[Number]):
    """A family that is read off something else whenever somebody asks: values and number for each series."""

    def __init__(self, read: Callable[[], Iterable[tuple[Values, float]]], name: str, kind: str, text: str,
                 labels: Values = (), *, stability: str = ALPHA, since: str = "") -> None:  # fmt: skip
        super().__init__(name, kind, text, labels, stability=stability, since=since)
        self._read = read
        self._allowed: dict[int, frozenset[str]] = {}

    def series(self) -> Iterable[tuple[Values, Number]]:
        """See `ShownSeries`; values that are not allowed are added up."""
        found: dict[Values, Number] = {}
        for values, number in self._read():
            shown = tuple(v if v in self._allowed.get(at, (v,)) else UNEXPECTED for at, v in enumerate(values))
            found.setdefault(shown, Number()).value += number
        return found.items()

    def allow(self, label: str, values: frozenset[str]) -> None:
        """Show only these values of a label; see `ShownSeries`."""
        if label in self.labels:
            self._allowed[self.labels.index(label)] = values


class Single(ShownSeries[Histogram]):
    """A histogram without labels, which somebody else keeps."""

    def __init__(self, histogram: Histogram, name: str, text: str) -> None:
        super().__init__(name, HISTOGRAM, text, bounds=histogram.bounds)
        self._histogram = histogram

    def series(self) -> Iterable[tuple[Values, Histogram]]:
        """Return the only series; see `ShownSeries`."""
        return (((), self._histogram),)

    def reset(self) -> None:
        """Set the histogram back to zero."""
        self._histogram.reset()


def counters(name: str, text: str, labels: Values = (), *, stability: str = ALPHA, since: str = "",
             most: int = MOST_SERIES) -> Family[Number]:  # fmt: skip
    """A family of counters."""
    return Family(Number, name, COUNTER, text, labels, stability=stability, since=since, most=most)


def gauges(name: str, text: str, labels: Values = (), *, stability: str = ALPHA, since: str = "",
           most: int = MOST_SERIES) -> Family[Number]:  # fmt: skip
    """A family of gauges that are set, or counted up and down."""
    return Family(Number, name, GAUGE, text, labels, stability=stability, since=since, most=most)


def histograms(name: str, text: str, bounds: tuple[float, ...], labels: Values = (), *, stability: str = ALPHA,
               since: str = "", most: int = MOST_SERIES) -> Family[Histogram]:  # fmt: skip
    """A family of histograms."""

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
    """Bounds of which each is `factor` times the one before."""
    return tuple(round(first * factor**power, 12) for power in range(count))
