"""Metrics of the availability of APIServices (reference METRIC-5)."""

from __future__ import annotations

from collections.abc import Iterator

from orchtw.metrics.registry import Registry
from orchtw.metrics.series import GAUGE, Read, Values, counters
from orchtw.registry.aggregation.services import ApiService, ApiServices


class AvailabilityMetrics:
    """Metrics of the APIServices that lead to other servers, from their conditions."""

    def __init__(self, registry: Registry, services: ApiServices) -> None:
        self._services = services
        registry.add(Read(
            self._unavailable, "aggregator_unavailable_apiservice", GAUGE,
            "APIServices that are not available, by name.", ("name",)))  # fmt: skip
        self._lost = registry.add(counters(
            "aggregator_unavailable_apiservice_total", "Times that an APIService became unavailable, by name.",
            ("name", "reason")))  # fmt: skip
        services.listen(self._changed)

    def _unavailable(self) -> Iterator[tuple[Values, float]]:
        return (((each.name,), 0 if each.available else 1) for each in self._services.all.values() if each.backend)

    def _changed(self, old: ApiService | None, new: ApiService | None) -> None:
        if new is not None and new.backend is not None and not new.available and (old is None or old.available):
            self._lost.of(new.name, new.reason).value += 1
