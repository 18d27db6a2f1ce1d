"""Metrics of admission (reference ADM-15).

Every write counts in a dozen places: the series are plain lists that the reactor's thread alone adds to, and the
library makes families of them when somebody asks. That costs a third of a microsecond each, not two.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Final, Generic, TypeVar

import attrs
from prometheus_client.core import (
    CounterMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
    UnknownMetricFamily,
)
from prometheus_client.registry import Collector

BOUNDS_S: Final = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
MAX_SERIES: Final = 1000
"""Of one family of webhooks, whose names come and go. The oldest is forgotten first, as after a restart."""

HIGHEST_CODE: Final = 600

REJECTIONS: Final = "apiserver_admission_webhook_rejection_count"
FAILED_OPEN: Final = "apiserver_admission_webhook_fail_open_count"
BARE_COUNTERS: Final = (REJECTIONS, FAILED_OPEN)
"""Counters without `_total` at the end of their names: to the library they are of no known type."""


class Durations:
    """Series of a histogram."""

    __slots__ = ("counts", "total_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.total_s = 0.0

    def observe(self, seconds: float) -> None:
        """Count one observation of `seconds`."""
        self.counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.total_s += seconds


class Count:
    """Series of a counter."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


S = TypeVar("S")


class Family(Generic[S]):
    """The series of one name by their labels' values; a `bounded` family has MAX_SERIES at the most."""

    def __init__(
        self, name: str, help: str, labels: tuple[str, ...], make: Callable[[], S], *, bounded: bool = True
    ) -> None:
        self._bounded = bounded
        self.name = name
        self.help = help
        self.labels = labels
        self._make = make
        self._series: dict[tuple[str, ...], S] = {}

    def of(self, *values: str) -> S:
        """The series of these values."""
        found = self._series.get(values)
        if found is None:
            if self._bounded and len(self._series) >= MAX_SERIES:
                del self._series[next(iter(self._series))]
            found = self._series[values] = self._make()
        return found

    def __iter__(self) -> Iterator[tuple[tuple[str, ...], S]]:
        return iter(list(self._series.items()))


@attrs.frozen(slots=True, eq=False)
class Outcomes:
    """The series of what passed and of what was refused."""

    passed: Durations
    refused: Durations


def outcomes(family: Family[Durations], *values: str) -> Outcomes:
    """The two series of a family whose last label says whether there was a refusal."""
    return Outcomes(family.of(*values, "false"), family.of(*values, "true"))


class WebhookMetrics:
    """Metrics of webhook calls. `kind` is admit or validating."""

    def __init__(self) -> None:
        labels = ("name", "type", "operation")
        self.durations = Family(
            "apiserver_admission_webhook_admission_duration_seconds",
            "[STABLE] Time that calls of admission webhooks take in seconds, by webhook, operation and type "
            "(admit or validating).",
            (*labels, "rejected"),
            Durations,
        )
        self.requests = Family(
            "apiserver_admission_webhook_request",
            "[ALPHA] Calls of admission webhooks, by webhook, operation, type, HTTP status and whether the request "
            "was refused.",
            (*labels, "code", "rejected"),
            Count,
        )
        self.rejections = Family(
            REJECTIONS,
            "[ALPHA] Requests that admission webhooks refused, by webhook, operation, type, kind of error "
            "(calling_webhook_error, apiserver_internal_error or no_error) and status of the answer.",
            (*labels, "error_type", "rejection_code"),
            Count,
        )
        self.failed_open = Family(
            FAILED_OPEN,
            "[ALPHA] Requests that went on though a webhook could not be called, by webhook and type.",
            ("name", "type"),
            Count,
        )

    def called(self, name: str, kind: str, operation: str, seconds: float, code: int, *, rejected: bool) -> None:
        """A webhook was called; `code` is the status of its HTTP answer, or of its refusal."""
        shown = "true" if rejected else "false"
        self.durations.of(name, kind, operation, shown).observe(seconds)
        self.requests.of(name, kind, operation, _code(code), shown).value += 1

    def rejected(self, name: str, kind: str, operation: str, error_type: str, code: int = 0) -> None:
        """A request was refused by a webhook, with this code, or because of it."""
        self.rejections.of(name, kind, operation, error_type, _code(code)).value += 1

    def failed(self, name: str, kind: str) -> None:
        """A webhook could not be called, and its policy is to go on."""
        self.failed_open.of(name, kind).value += 1


class AdmissionMetrics(Collector):
    """All families, for a registry to collect."""

    def __init__(self) -> None:
        self.steps = Family(
            "apiserver_admission_step_admission_duration_seconds",
            "[STABLE] Time that admission takes in seconds, by operation and half (admit or validate).",
            ("type", "operation", "rejected"),
            Durations,
            bounded=False,
        )
        self.controllers = Family(
            "apiserver_admission_controller_admission_duration_seconds",
            "[STABLE] Time that admission plugins take in seconds, by plugin, operation and half "
            "(admit or validate).",
            ("name", "type", "operation", "rejected"),
            Durations,
            bounded=False,
        )
        self.webhooks = WebhookMetrics()
        self._own: list[Family[Count]] = []

    def counter(self, name: str, help: str, labels: tuple[str, ...]) -> Family[Count]:
        """A plugin's own counter, shown with the others. Its name is without `_total`; labels have few values."""
        found = Family(name, help, labels, Count, bounded=False)
        self._own.append(found)
        return found

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families, as a `Collector`."""
        yield _histogram(self.steps)
        yield _summary(self.steps)
        yield _histogram(self.controllers)
        yield _histogram(self.webhooks.durations)
        for counted in (self.webhooks.requests, self.webhooks.rejections, self.webhooks.failed_open, *self._own):
            yield _counter(counted)


def _histogram(family: Family[Durations]) -> Metric:
    found = HistogramMetricFamily(family.name, family.help, labels=family.labels)
    bounds = [*map(str, BOUNDS_S), "+Inf"]
    for values, series in family:
        if any(series.counts):
            buckets = list(zip(bounds, map(float, accumulate(series.counts)), strict=True))
            found.add_metric(values, buckets, series.total_s)
    return found


def _summary(family: Family[Durations]) -> Metric:
    help = family.help.replace("STABLE", "ALPHA")
    found = SummaryMetricFamily(f"{family.name}_summary", help, labels=family.labels)
    for values, series in family:
        if any(series.counts):
            found.add_metric(values, sum(series.counts), series.total_s)
    return found


def _counter(family: Family[Count]) -> Metric:
    kind = UnknownMetricFamily if family.name in BARE_COUNTERS else CounterMetricFamily
    found = kind(family.name, family.help, labels=family.labels)
    for values, series in family:
        found.add_metric(values, series.value)
    return found


def _code(code: int) -> str:
    """A code as a label, so that nobody makes more of them than there are."""
    return str(min(max(code, 0), HIGHEST_CODE))
