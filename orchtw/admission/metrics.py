"""Metrics of admission (reference ADM-15)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from orchtw.metrics.series import (
    ALPHA,
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
POLICY_BOUNDS_S: Final = (0.0000005, 0.001, 0.01, 0.1, 1.0)
CONDITION_BOUNDS_S: Final = (0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25)
MAX_SERIES: Final = 1000
"""Limit of series in one family of webhooks, whose names come and go. The oldest is dropped, as by a restart."""

HIGHEST_CODE: Final = 600


class Durations(Family[Histogram]):
    """Family of histograms of durations, which shows no series without observations."""

    def __init__(
        self,
        name: str,
        text: str,
        labels: tuple[str, ...],
        *,
        stability: str = STABLE,
        most: int = MAX_SERIES,
        bounds: tuple[float, ...] = BOUNDS_S,
    ) -> None:
        def make() -> Histogram:
            return Histogram(bounds)

        super().__init__(
            make, name, HISTOGRAM, text, labels, stability=stability, bounds=bounds, most=most, forgets=True
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


class PolicyMetrics:
    """Metrics of the policies of one kind; with `actions`, they say what was done about a failed check."""

    def __init__(self, word: str, *, actions: bool) -> None:
        labels = ("policy", "policy_binding", "error_type") + (("enforcement_action",) if actions else ())
        self.checks = _calls(
            f"apiserver_{word}_admission_policy_check_total",
            f"Checks by {word} admission policies, by policy, binding"
            + (", kind of error and action." if actions else " and kind of error."),
            labels,
        )
        self.durations = Durations(
            f"apiserver_{word}_admission_policy_check_duration_seconds",
            f"Latency of {word} admission policies in seconds, by policy, binding"
            + (", kind of error and action." if actions else " and kind of error."),
            labels,
            stability=ALPHA,
            bounds=POLICY_BOUNDS_S,
        )

    def checked(self, seconds: float, *values: str) -> None:
        """Count a check with these label values."""
        self.checks.of(*values).value += 1
        self.durations.of(*values).observe(seconds)


class ConditionSeries:
    """Counts of the match conditions of one policy or webhook in one kind of operation."""

    def __init__(self, metrics: ConditionMetrics, *values: str) -> None:
        self._metrics = metrics
        self._values = values

    def excluded(self) -> None:
        """Count a write that a condition excludes."""
        self._metrics.exclusions.of(*self._values).value += 1

    def failed(self, count: int) -> None:
        """Count conditions that could not be evaluated."""
        if count:
            self._metrics.errors.of(*self._values).value += count

    def took(self, seconds: float) -> None:
        """Count an evaluation of all conditions."""
        self._metrics.durations.of(*self._values).observe(seconds)


class ConditionMetrics:
    """Metrics of match conditions. `kind` is webhook or policy, `type` admit, validating or mutating."""

    def __init__(self) -> None:
        labels = ("name", "kind", "type", "operation")
        what = "by name, kind (webhook or policy), type and operation."
        prefix = "apiserver_admission_match_condition_"
        self.errors = _calls(
            prefix + "evaluation_errors_total", f"Match conditions that could not be evaluated, {what}", labels
        )
        self.exclusions = _calls(prefix + "exclusions_total", f"Writes that match conditions exclude, {what}", labels)
        self.durations = Durations(
            prefix + "evaluation_seconds",
            f"Latency of match conditions in seconds, {what}",
            labels,
            stability=ALPHA,
            bounds=CONDITION_BOUNDS_S,
        )

    def of(self, name: str, kind: str, type_: str, operation: str) -> ConditionSeries:
        """Return the series of a webhook or policy."""
        return ConditionSeries(self, name, kind, type_, operation)


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
        self.conditions = ConditionMetrics()
        self.validating_policies = PolicyMetrics("validating", actions=True)
        self.mutating_policies = PolicyMetrics("mutating", actions=False)
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
        conditions = self.conditions
        policies = [
            family
            for each in (self.validating_policies, self.mutating_policies)
            for family in (each.checks, each.durations)
        ]
        matched = (conditions.errors, conditions.exclusions, conditions.durations)
        return *shown, hooks.requests, hooks.rejections, hooks.failed_open, *policies, *matched, *self._own


def _calls(name: str, text: str, labels: tuple[str, ...]) -> Family[Number]:
    return counters(name, text, labels, most=MAX_SERIES, forgets=True)


def _code(code: int) -> str:
    """Return a status as a label, clamped, so that webhooks cannot multiply series."""
    return str(min(max(code, 0), HIGHEST_CODE))
