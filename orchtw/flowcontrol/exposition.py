"""Flow control as metrics (reference METRIC-5). They are made when somebody asks, out of what is counted anyway."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from orchtw.flowcontrol.live import Live
from orchtw.flowcontrol.stats import InFlight, Stats

_PREFIX: Final = "apiserver_flowcontrol_"
_LABELS: Final = ("priority_level", "flow_schema")

Value = Callable[[Stats], float]

_COUNTERS: Final[tuple[tuple[str, str, Value], ...]] = (
    ("dispatched_requests", "Requests that have begun, by priority level and flow schema.", lambda s: s.dispatched),
)
_GAUGES: Final[tuple[tuple[str, str, Value], ...]] = (
    ("current_inqueue_requests", "Requests that wait in queues.", lambda stats: stats.waiting),
    ("current_executing_requests", "Requests that are being served.", lambda stats: stats.executing),
    ("request_concurrency_in_use", "Seats that requests occupy.", lambda stats: stats.seats),
)


class InFlightMetrics:
    """Metrics of requests in flight, with or without priority and fairness."""

    def __init__(self, in_flight: InFlight, seconds: Callable[[], float]) -> None:
        self._in_flight = in_flight
        self._seconds = seconds

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families."""
        now, kind = self._seconds(), ("request_kind",)
        text = "[STABLE] The most requests that were being served at once in the last second, by kind."
        executing = GaugeMetricFamily("apiserver_current_inflight_requests", text, labels=kind)
        text = "[ALPHA] The most requests that waited at once in the last second, by kind."
        waiting = GaugeMetricFamily("apiserver_current_inqueue_requests", text, labels=kind)
        text = "[ALPHA] (Deprecated since 1.24.0) Requests that were answered with 'Try again later', by kind."
        dropped = CounterMetricFamily("apiserver_dropped_requests", text, labels=kind)
        for name, mark in self._in_flight.executing.items():
            executing.add_metric((name,), mark.most(now))
            waiting.add_metric((name,), self._in_flight.waiting[name].most(now))
            dropped.add_metric((name,), self._in_flight.dropped[name])
        return iter((executing, waiting, dropped))


class FlowMetrics:
    """Metrics by priority level and flow schema."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families."""
        live = self._live
        live.settled()
        for name, text, value in _COUNTERS:
            counter = CounterMetricFamily(_PREFIX + name, f"[ALPHA] {text}", labels=_LABELS)
            for labels, stats in live.stats.items():
                counter.add_metric(labels, value(stats))
            yield counter
        for name, text, value in _GAUGES:
            gauge = GaugeMetricFamily(_PREFIX + name, f"[ALPHA] {text}", labels=_LABELS)
            for labels, stats in live.stats.items():
                gauge.add_metric(labels, value(stats))
            yield gauge
        yield self._rejected()
        yield self._limits()
        yield from self._histograms()

    def _rejected(self) -> Metric:
        text = "[ALPHA] Requests that were sent away, and why."
        rejected = CounterMetricFamily(f"{_PREFIX}rejected_requests", text, labels=(*_LABELS, "reason"))
        for labels, stats in self._live.stats.items():
            for reason, count in stats.rejected.items():
                rejected.add_metric((*labels, reason), count)
        return rejected

    def _limits(self) -> Metric:
        text = "[ALPHA] Seats of a priority level."
        limits = GaugeMetricFamily(f"{_PREFIX}request_concurrency_limit", text, labels=_LABELS[:1])
        for name, level in self._live.levels.items():
            if level.seating is not None:
                limits.add_metric((name,), level.limit)
        return limits

    def _histograms(self) -> Iterator[Metric]:
        text = "[ALPHA] Time for which a request waited in its queue."
        waited = HistogramMetricFamily(
            f"{_PREFIX}request_wait_duration_seconds", text, labels=(*_LABELS, "execute")
        )
        text = "[ALPHA] Time for which a request was served; of a watch, until it had begun."
        took = HistogramMetricFamily(f"{_PREFIX}request_execution_seconds", text, labels=_LABELS)
        text = "[ALPHA] Length of a queue, as each request found it that joined it."
        lengths = HistogramMetricFamily(f"{_PREFIX}request_queue_length_after_enqueue", text, labels=_LABELS)
        for labels, stats in self._live.stats.items():
            at_once = stats.dispatched - sum(stats.waited.counts)
            waited.add_metric((*labels, "true"), stats.waited.buckets(at_once), stats.waited.sum)
            if stats.rejected:
                waited.add_metric((*labels, "false"), stats.gave_up.buckets(), stats.gave_up.sum)
            took.add_metric(labels, stats.durations.buckets(), stats.durations.sum)
            lengths.add_metric(labels, stats.lengths.buckets(), stats.lengths.sum)
        return iter((waited, took, lengths))
