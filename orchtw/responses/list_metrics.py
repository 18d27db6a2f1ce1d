"""Metrics of lists: objects examined, and objects returned (reference METRIC-5)."""

from __future__ import annotations

from orchtw.metrics.registry import Registry
from orchtw.metrics.series import Number, counters
from orchtw.naming.naming import Naming
from orchtw.storage.metrics import resource_of

_CACHED = ("resource_prefix", "index")
_STORED = ("resource",)


class ListMetrics:
    """Metrics of lists answered from the cache, and from the history in the store."""

    def __init__(self, registry: Registry, naming: Naming) -> None:
        self._naming = naming
        add = registry.add
        self._cached = (
            add(counters("apiserver_cache_list_total", "Lists served from the cache.", _CACHED)),
            add(counters("apiserver_cache_list_fetched_objects_total", "Objects that these looked at.", _CACHED)),
            add(counters("apiserver_cache_list_returned_objects_total", "Objects that these gave.", _CACHED)),
        )
        self._stored = (
            add(counters("apiserver_storage_list_total", "Lists served from the store's history.", _STORED)),
            add(counters("apiserver_storage_list_fetched_objects_total", "Objects that these read.", _STORED)),
            add(counters("apiserver_storage_list_evaluated_objects_total", "Objects that these looked at.", _STORED)),
            add(counters("apiserver_storage_list_returned_objects_total", "Objects that these gave.", _STORED)),
        )
        self._bound: dict[tuple[str, str], tuple[Number, ...]] = {}

    def cached(self, prefix: str, index: str, fetched: int, returned: int) -> None:
        """Count a list from the cache; `index` is empty if none was used."""
        bound = self._bound.get((prefix, index))
        if bound is None:
            bound = tuple(family.of(prefix.rstrip("/"), index) for family in self._cached)
            if len(self._bound) < 4000:
                self._bound[prefix, index] = bound
        for number, more in zip(bound, (1, fetched, returned), strict=True):
            number.value += more

    def stored(self, prefix: str, fetched: int, returned: int) -> None:
        """Count a list from the history."""
        for family, more in zip(self._stored, (1, fetched, fetched, returned), strict=True):
            family.of(resource_of(prefix, self._naming)).value += more
