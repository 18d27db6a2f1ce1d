"""Metrics of audit events and losses (reference METRIC-1), and log lines about losses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from orchtw.audit.policy import LEVELS

LOG_INTERVAL_S: Final = 1.0
"""Between two lines about losses: events may come in thousands while a disk is full."""


class Counts(Collector):
    """Plain numbers, since requests wait for them; a metric is made of them when somebody asks."""

    _log = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self.events = 0
        self.rejected = 0
        self.levels = [0] * len(LEVELS)
        self.errors: dict[str, int] = {}
        self.waiting: dict[str, Callable[[], int]] = {}
        self._silent_until_s = 0.0
        self._unsaid = 0

    def lost(self, plugin: str, count: int, why: str) -> None:
        """So many events have not arrived where they belong, and why."""
        self.errors[plugin] = self.errors.get(plugin, 0) + count
        self._unsaid += count
        now = self._clock.seconds()
        if now >= self._silent_until_s:
            self._silent_until_s = now + LOG_INTERVAL_S
            self._log.error(
                "error in audit plugin {plugin} affecting {count} audit events: {why}",
                plugin=plugin,
                count=self._unsaid,
                why=why,
            )
            self._unsaid = 0

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """The families of the release, and how much waits for each backend."""
        yield _counter("event_total", "Audit events generated and sent to the audit backend.", self.events)
        errors = CounterMetricFamily(
            "apiserver_audit_error_total",
            "[ALPHA] Audit events that failed to be audited properly, by the plugin affected by the error.",
            labels=("plugin",),
        )
        for plugin, count in sorted(self.errors.items()):
            errors.add_metric((plugin,), count)
        yield errors
        levels = CounterMetricFamily(
            "apiserver_audit_level_total",
            "[ALPHA] Policy levels for audit events (1 per request).",
            labels=("level",),
        )
        for level, count in zip(LEVELS, self.levels, strict=True):
            if count:
                levels.add_metric((level,), count)
        yield levels
        text = "API requests rejected due to an error in the audit logging backend."
        yield _counter("requests_rejected_total", text, self.rejected)
        waiting = GaugeMetricFamily(
            "apiserver_audit_waiting_bytes",
            "[ALPHA] Bytes of audit events that have not arrived yet, by backend.",
            labels=("backend",),
        )
        for backend, size in self.waiting.items():
            waiting.add_metric((backend,), size())
        yield waiting


def _counter(name: str, text: str, value: int) -> CounterMetricFamily:
    return CounterMetricFamily(f"apiserver_audit_{name}", f"[ALPHA] {text}", value=value)
