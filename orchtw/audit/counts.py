"""Metrics of audit events and losses (reference METRIC-1), and log lines about losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from orchtw.audit.policy import LEVELS
from orchtw.metrics.series import COUNTER, GAUGE, Read, each, one

_PREFIX: Final = "apiserver_audit_"

LOG_INTERVAL_S: Final = 1.0
"""Minimum time between two log lines about losses: thousands of events may be lost while a disk is full."""


class Counts:
    """Counters as plain numbers, which cost requests little; metrics are made of them on demand."""

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
        """Count lost events; logs their number and the reason, at most every LOG_INTERVAL_S."""
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

    def families(self) -> tuple[Read, ...]:
        """Return the metric families of the release, and the bytes that wait for each backend, for a registry."""
        return (
            Read(one(lambda: self.events), f"{_PREFIX}event_total", COUNTER,
                 "Audit events generated and sent to the audit backend."),
            Read(each(lambda: dict(sorted(self.errors.items()))), f"{_PREFIX}error_total", COUNTER,
                 "Audit events that failed to be audited properly, by the plugin affected by the error.",
                 ("plugin",)),
            Read(each(self._levels), f"{_PREFIX}level_total", COUNTER,
                 "Policy levels for audit events (1 per request).", ("level",)),
            Read(one(lambda: self.rejected), f"{_PREFIX}requests_rejected_total", COUNTER,
                 "API requests rejected due to an error in the audit logging backend."),
            Read(each(lambda: {name: size() for name, size in self.waiting.items()}), f"{_PREFIX}waiting_bytes",
                 GAUGE, "Bytes of audit events not yet delivered, by backend.", ("backend",)),
        )  # fmt: skip

    def _levels(self) -> dict[str, int]:
        return {level: count for level, count in zip(LEVELS, self.levels, strict=True) if count}
