"""Occupancy of priority levels, sampled ten times a second (reference METRIC-13)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchtw.flowcontrol.levels import Level
from orchtw.flowcontrol.live import Live
from orchtw.flowcontrol.marks import Marks
from orchtw.flowcontrol.queueset import Seating
from orchtw.flowcontrol.stats import InFlight
from orchtw.metrics.series import Family, Histogram, ShownFamily, Values, histograms

INTERVAL_S: Final = 0.1
SHARES: Final = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
EXECUTING, WAITING = "executing", "waiting"

_PREFIX: Final = "apiserver_flowcontrol_"


class _Pair:
    """Two families: a count at each sample, and its extremes between two samples."""

    def __init__(self, what: str, text: str, labels: Values) -> None:
        self.samples: Family[Histogram] = histograms(
            f"{_PREFIX}{what}_count_samples", f"{text}, sampled ten times a second.", SHARES, labels)  # fmt: skip
        self.marks: Family[Histogram] = histograms(
            f"{_PREFIX}{what}_count_watermarks", f"{text}: maximum and minimum between two samples.", SHARES,
            ("mark", *labels))  # fmt: skip
        self._series: dict[Values, tuple[Histogram, Histogram, Histogram]] = {}

    def look(self, values: Values, count: int, marks: Marks, limit: int) -> None:
        """Record a count of at most `limit`, and its extremes since the last sample."""
        high, low = marks.anew(count)
        limit = limit or 1
        series = self._series.get(values)
        if series is None:
            series = self._series[values] = (
                self.samples.of(*values), self.marks.of("high", *values), self.marks.of("low", *values)
            )  # fmt: skip
        for each, number in zip(series, (count, high, low), strict=True):
            each.observe(number / limit)

    def forget(self, *values: str) -> None:
        """Drop series that no longer exist."""
        self._series.pop(values, None)
        self.samples.forget(*values)
        for mark in ("high", "low"):
            self.marks.forget(mark, *values)


class Samples(Service):
    """Sampler of the levels, if there are any, and of all requests.

    `limits` are those of reads and of writes, if there are limits; 1 shows plain numbers.
    """

    def __init__(
        self, clock: IReactorTime, in_flight: InFlight, live: Live | None = None, limits: Sequence[int] = (1, 1)
    ) -> None:
        self._clock = clock
        self._in_flight = in_flight
        self._live = live
        self._limits = limits
        text = "Requests of a priority level, as a fraction of its limit"
        self._requests = _Pair("priority_level_request", text, ("phase", "priority_level"))
        text = "Seats that requests of a priority level occupy, as a fraction of its limit"
        self._seats = _Pair("priority_level_seat", text, ("priority_level",))
        self._kinds = _Pair("read_vs_write_request", "Requests of a kind", ("phase", "request_kind"))
        self._known: set[str] = set()
        self._call: IDelayedCall | None = None

    def families(self) -> Iterable[ShownFamily[Any]]:
        """Return the families for `/metrics`."""
        pairs = (self._kinds,) if self._live is None else (self._requests, self._seats, self._kinds)
        return [family for pair in pairs for family in (pair.samples, pair.marks)]

    def startService(self) -> None:
        """Begin to sample the levels."""
        super().startService()  # type: ignore[no-untyped-call]
        self._call = self._clock.callLater(INTERVAL_S, self._again)

    def stopService(self) -> None:
        """Stop sampling the levels."""
        super().stopService()  # type: ignore[no-untyped-call]
        if self._call is not None:
            self._call.cancel()
            self._call = None

    def _again(self) -> None:
        self._call = self._clock.callLater(INTERVAL_S, self._again)
        self.look()

    def look(self) -> None:
        """Take one sample of each level."""
        for kind, limit in zip(self._in_flight.executing, self._limits, strict=True):
            executing, waiting = self._in_flight.executing[kind], self._in_flight.waiting[kind]
            self._kinds.look((EXECUTING, kind), executing.count, executing.marks, limit)
            if self._live is not None:
                self._kinds.look((WAITING, kind), waiting.count, waiting.marks, limit)
        if self._live is not None:
            self._look_at(self._live.levels)

    def _look_at(self, levels: dict[str, Level]) -> None:
        for name, level in levels.items():
            if level.seating is not None:
                self._known.add(name)
                self._look_at_level(name, level.seating)
        for name in self._known - levels.keys():
            self._known.discard(name)
            self._seats.forget(name)
            for phase in (EXECUTING, WAITING):
                self._requests.forget(phase, name)

    def _look_at_level(self, name: str, seating: Seating) -> None:
        queuing, executing, waiting, seats = seating.queuing, *seating.marks
        places = queuing.queues * queuing.length if queuing is not None else 0
        self._requests.look((EXECUTING, name), seating.executing, executing, seating.limit)
        self._requests.look((WAITING, name), seating.waiting, waiting, places)
        self._seats.look((name,), seating.in_use, seats, seating.limit)
