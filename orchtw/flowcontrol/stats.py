"""Statistics of requests by schema and level: each request costs a few additions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Final

from orchtw.flowcontrol.marks import Marks

TIMES_S: Final = (0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0)
LENGTHS: Final = (0.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0)

READ_ONLY: Final = "readOnly"
MUTATING: Final = "mutating"
READ_VERBS: Final = frozenset({"get", "list", "watch"})


class Histogram:
    """Observations, counted between bounds."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value in."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def buckets(self, more: int = 0) -> list[tuple[str, float]]:
        """Return cumulative counts by bound, with `more` zeros counted in."""
        total, found = more, []
        for bound, count in zip((*map(_shown, self.bounds), "+Inf"), self.counts, strict=True):
            total += count
            found.append((bound, float(total)))
        return found


def _shown(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) else str(bound)


class Stats:
    """Of the requests of one schema in one level. What began at once is not in `waited`, which would be zeros."""

    __slots__ = (
        "dispatched", "durations", "executing", "gave_up", "lengths", "rejected", "seats", "waited", "waiting",
    )  # fmt: skip

    def __init__(self) -> None:
        self.dispatched = self.executing = self.waiting = self.seats = 0
        self.rejected: dict[str, int] = {}
        self.durations = Histogram(TIMES_S)
        self.waited = Histogram(TIMES_S)
        self.gave_up = Histogram(TIMES_S)
        self.lengths = Histogram(LENGTHS)

    def reject(self, reason: str) -> None:
        """Count a rejected request by reason."""
        self.rejected[reason] = self.rejected.get(reason, 0) + 1


class Watermark:
    """Number of requests of a kind, and its maximum over the last whole second."""

    __slots__ = ("_end", "_last", "_peak", "count", "marks")

    def __init__(self) -> None:
        self.marks = Marks()
        self.count = self._peak = self._last = 0
        self._end = 0.0

    def add(self, now: float) -> None:
        """Count one request more."""
        if now >= self._end:
            self._turn(now)
        self.count += 1
        if self.count > self._peak:
            self._peak = self.count
        self.marks.see(self.count)

    def leave(self) -> None:
        """Count one request less."""
        self.count -= 1
        self.marks.see(self.count)

    def most(self, now: float) -> int:
        """The most of the last second; what is there at present, if nothing came for longer."""
        if now >= self._end:
            self._turn(now)
        return max(self._last, self.count)

    def _turn(self, now: float) -> None:
        self._last = self._peak if now < self._end + 1.0 else self.count
        self._peak = self.count
        self._end = now + 1.0


class InFlight:
    """Requests that are being served and that wait, of both kinds, and those that were sent away."""

    def __init__(self) -> None:
        self.executing: Mapping[str, Watermark] = {READ_ONLY: Watermark(), MUTATING: Watermark()}
        self.waiting: Mapping[str, Watermark] = {READ_ONLY: Watermark(), MUTATING: Watermark()}
        self.dropped = {READ_ONLY: 0, MUTATING: 0}


def kind_of(verb: str) -> str:
    """Return the kind of a verb: readOnly or mutating."""
    return READ_ONLY if verb in READ_VERBS else MUTATING
