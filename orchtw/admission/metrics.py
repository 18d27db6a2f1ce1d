"""Metrics of admission (reference ADM-15)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from orchtw.metrics.series import (
    HISTOGRAM,
    STABLE,
    Family,
    Histogram,
    Number,
    ShownFamily,
    Summary,
    Values,
    counters,
)

BOUNDS_S: Final = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
MAX_SERIES: Final = 1000
"""Limit of series in one family of webhooks, whose names come and go. The oldest is dropped, as by a restart."""

HIGHEST_CODE: Final = 600


class Durations(Family[Histogram]):
    """Family of histograms of durations, which shows no series without observations."""

    def __init__(
        self, name: str, text: str, labels: tuple[str, ...], *, stability: str = STABLE, most: int = MAX_SERIES
    ) -> None:
        def make() -> Histogram:
            return Histogram(BOUNDS_S)

        super().__init__(
            make, name, HISTOGRAM, text, labels, stability=stability, bounds=BOUNDS_S, most=most, forgets=True
        )

    def series(self) -> Iterable[tuple[Values, Histogram]]:
        """Return the series that have observations; see `ShownFamily`."""
        return [(values, series) for values, series in super().series() if series.count]


class Outcomes(msgspec.Struct, frozen=True, eq=False):
    """Series of passed and of refused writes."""

    passed: Histogram
    refused: Histogram


def outcomes(family: Durations, *values: str) -> Outcomes:
    """Return the two series of a family whose last label is `rejected`."""
    return Outcomes(family.of(*values, "false"), family.of(*values, "true"))


class WebhookMetrics:
    """Metrics of webhook calls. `kind` is admit or validating."""

    def __init__(self) -> None:
        labels = ("name", "type", "operation")
        self.durations = Durations(
            "apiserver_admission_webhook_admission_duration_seconds",
            "Latency of admission webhook calls in seconds, by webhook, operation and type "
            "(admit or validating).",
            (*labels, "rejected"),
        )
        self.requests = _calls(
            "apiserver_admission_webhook_request_total",
            "Admission webhook calls, by webhook, operation, type, HTTP status and whether the request was "
            "rejected.",
            (*labels, "code", "rejected"),
        )
        self.rejections = _calls(
            "apiserver_admission_webhook_rejection_count",
            "Requests rejected by admission webhooks, by webhook, operation, type, kind of error "
            "(calling_webhook_error, apiserver_internal_error or no_error) and response status.",
            (*labels, "error_type", "rejection_code"),
        )
        self.failed_open = _calls(
            "apiserver_admission_webhook_fail_open_count",
            "Requests admitted although a webhook could not be called, by webhook and type.",
            ("name", "type"),
        )

    def called(self, name: str, kind: str, operation: str, seconds: float, code: int, *, rejected: bool) -> None:
        """Count a call of a webhook; `code` is the status of the HTTP response, or of the refusal."""
        shown = "true" if rejected else "false"
        self.durations.of(name, kind, operation, shown).observe(seconds)
        self.requests.of(name, kind, operation, _code(code), shown).value += 1

    def rejected(self, name: str, kind: str, operation: str, error_type: str, code: int = 0) -> None:
        """Count a request refused by a webhook; `code` is that of its response, or 0 if the call failed."""
        self.rejections.of(name, kind, operation, error_type, _code(code)).value += 1

    def failed(self, name: str, kind: str) -> None:
        """Count a failed call of a webhook with failure policy Ignore."""
        self.failed_open.of(name, kind).value += 1


class AdmissionMetrics:
    """Metric families of admission."""

    def __init__(self) -> None:
        self.steps = Durations(
            "apiserver_admission_step_admission_duration_seconds",
            "Admission latency in seconds, by operation and phase (admit or validate).",
            ("type", "operation", "rejected"),
        )
        self.controllers = Durations(
            "apiserver_admission_controller_admission_duration_seconds",
            "Latency of admission plugins in seconds, by plugin, operation and phase (admit or validate).",
            ("name", "type", "operation", "rejected"),
        )
        self.webhooks = WebhookMetrics()
        self._own: list[Family[Number]] = []

    def counter(self, name: str, text: str, labels: tuple[str, ...]) -> Family[Number]:
        """Return a new counter for a plugin, shown with the others; its labels must have few values."""
        found = counters(name, text, labels)
        self._own.append(found)
        return found

    def families(self) -> tuple[ShownFamily[Any], ...]:
        """Return the families, for a registry."""
        hooks = self.webhooks
        summary = Summary(self.steps, "Admission latency in seconds, by operation and phase.")
        shown = (self.steps, summary, self.controllers, hooks.durations)
        return *shown, hooks.requests, hooks.rejections, hooks.failed_open, *self._own


def _calls(name: str, text: str, labels: tuple[str, ...]) -> Family[Number]:
    return counters(name, text, labels, most=MAX_SERIES, forgets=True)


def _code(code: int) -> str:
    """Return a status as a label, clamped, so that webhooks cannot multiply series."""
    return str(min(max(code, 0), HIGHEST_CODE))
