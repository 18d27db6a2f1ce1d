"""Metrics of flow control (reference METRIC-5), read from its statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from orchtw.flowcontrol.live import Live
from orchtw.flowcontrol.stats import LENGTHS, TIMES_S, InFlight, Stats
from orchtw.metrics.series import COUNTER, GAUGE, STABLE, Histogram, Read, ReadHistograms, ShownFamily, Values

_PREFIX: Final = "apiserver_flowcontrol_"
_LABELS: Final = ("priority_level", "flow_schema")
_KIND: Final = ("request_kind",)

Value = Callable[[Stats], float]

_NUMBERS: Final[tuple[tuple[str, str, str, Value], ...]] = (
    (
        "dispatched_requests_total", COUNTER,
        "Requests dispatched, by priority level and flow schema.", lambda stats: stats.dispatched,
    ),
    ("current_inqueue_requests", GAUGE, "Requests waiting in queues.", lambda stats: stats.waiting),
    ("current_executing_requests", GAUGE, "Requests being executed.", lambda stats: stats.executing),
    ("request_concurrency_in_use", GAUGE, "Seats occupied by requests.", lambda stats: stats.seats),
)  # fmt: skip


def in_flight_families(in_flight: InFlight, seconds: Callable[[], float]) -> tuple[Read, ...]:
    """Return the families of requests in flight, with or without priority and fairness."""

    def executing() -> list[tuple[Values, float]]:
        return [((kind,), mark.most(seconds())) for kind, mark in in_flight.executing.items()]

    def waiting() -> list[tuple[Values, float]]:
        return [((kind,), mark.most(seconds())) for kind, mark in in_flight.waiting.items()]

    return (
        Read(executing, "apiserver_current_inflight_requests", GAUGE,
             "Maximum number of requests executing at once in the last second, by kind.", _KIND,
             stability=STABLE),
        Read(waiting, "apiserver_current_inqueue_requests", GAUGE,
             "Maximum number of requests queued at once in the last second, by kind.", _KIND),
        Read(lambda: [((kind,), count) for kind, count in in_flight.dropped.items()],
             "apiserver_dropped_requests_total", COUNTER,
             "Requests rejected with 'Try again later', by kind.", _KIND, since="1.24.0"),
    )  # fmt: skip


class FlowMetrics:
    """Metrics by priority level and flow schema."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def families(self) -> Iterator[ShownFamily[Any]]:
        """Yield the families, for a registry."""
        for name, kind, text, value in _NUMBERS:
            yield Read(self._reader(value), _PREFIX + name, kind, text, _LABELS)
        yield Read(self._rejected, f"{_PREFIX}rejected_requests_total", COUNTER,
                   "Requests rejected, by reason.", (*_LABELS, "reason"))  # fmt: skip
        yield Read(self._limits, f"{_PREFIX}request_concurrency_limit", GAUGE, "Number of seats of a priority level.",
                   _LABELS[:1])  # fmt: skip
        yield ReadHistograms(self._waited, f"{_PREFIX}request_wait_duration_seconds",
                             "Time that a request waited in its queue.", TIMES_S,
                             (*_LABELS, "execute"))  # fmt: skip
        yield ReadHistograms(lambda: [(labels, stats.durations) for labels, stats in self._stats()],
                             f"{_PREFIX}request_execution_seconds",
                             "Execution time of a request; for a watch, until it has started.", TIMES_S,
                             _LABELS)  # fmt: skip
        yield ReadHistograms(lambda: [(labels, stats.lengths) for labels, stats in self._stats()],
                             f"{_PREFIX}request_queue_length_after_enqueue",
                             "Length of a queue, as seen by each request that joins it.", LENGTHS,
                             _LABELS)  # fmt: skip

    def _stats(self) -> list[tuple[tuple[str, str], Stats]]:
        self._live.settled()
        return list(self._live.stats.items())

    def _reader(self, value: Value) -> Callable[[], list[tuple[Values, float]]]:
        return lambda: [(labels, value(stats)) for labels, stats in self._stats()]

    def _rejected(self) -> Iterator[tuple[Values, float]]:
        for labels, stats in self._stats():
            for reason, count in stats.rejected.items():
                yield (*labels, reason), count

    def _limits(self) -> Iterator[tuple[Values, float]]:
        self._live.settled()
        for name, level in self._live.levels.items():
            if level.seating is not None:
                yield (name,), level.limit

    def _waited(self) -> Iterator[tuple[Values, Histogram]]:
        for labels, stats in self._stats():
            waited = Histogram(TIMES_S)
            waited.counts = list(stats.waited.counts)
            waited.counts[0] += stats.dispatched - stats.waited.count  # those that began without waiting
            waited.total = stats.waited.total
            yield (*labels, "true"), waited
            if stats.rejected:
                yield (*labels, "false"), stats.gave_up
