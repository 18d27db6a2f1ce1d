"""Statistics of requests by schema and level: each request costs a few additions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchtw.flowcontrol.marks import Marks
from orchtw.metrics.series import Histogram

TIMES_S: Final = (0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0)
LENGTHS: Final = (0.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0)

READ_ONLY: Final = "readOnly"
MUTATING: Final = "mutating"
READ_VERBS: Final = frozenset({"get", "list", "watch"})


class Stats:
    """Statistics of the requests of one schema in one level. Requests that did not wait are not in `waited`."""

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

    def touch(self, now: float) -> None:
        """Count one request more, and less again, which has come and gone in one step."""
        self.add(now)
        self.leave()

    def leave(self) -> None:
        """Count one request less."""
        self.count -= 1
        self.marks.see(self.count)

    def most(self, now: float) -> int:
        """Return the maximum of the last second; the present number, if none came for longer."""
        if now >= self._end:
            self._turn(now)
        return max(self._last, self.count)

    def _turn(self, now: float) -> None:
        self._last = self._peak if now < self._end + 1.0 else self.count
        self._peak = self.count
        self._end = now + 1.0


class InFlight:
    """Requests of both kinds that are being served and that wait, and the number of rejected ones."""

    def __init__(self) -> None:
        self.executing: Mapping[str, Watermark] = {READ_ONLY: Watermark(), MUTATING: Watermark()}
        self.waiting: Mapping[str, Watermark] = {READ_ONLY: Watermark(), MUTATING: Watermark()}
        self.dropped = {READ_ONLY: 0, MUTATING: 0}


def kind_of(verb: str) -> str:
    """Return the kind of a verb: readOnly or mutating."""
    return READ_ONLY if verb in READ_VERBS else MUTATING
