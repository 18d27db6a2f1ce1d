"""Metrics of the store, its caches and their watches (reference METRIC-5, METRIC-7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from orchtw.metrics.registry import Registry
from orchtw.metrics.series import COUNTER, GAUGE, STABLE, Histogram, Read, Values, histograms, one
from orchtw.naming.naming import Naming
from orchtw.storage.cache.resource_cache import ResourceCache
from orchtw.storage.cache.watch_cache import ROOT, Cacher
from orchtw.storage.store import Op, Store

BOUNDS_S: Final = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60
)  # fmt: skip

_RESOURCE: Final = ("resource",)


def resource_of(prefix: str, naming: Naming) -> str:
    """Return the name of a stored resource: `pods` or `deployments.apps`, of `/registry/apps/deployments/`."""
    group, _, plural = prefix.removeprefix(ROOT).strip("/").rpartition("/")
    return f"{plural}.{naming.group(group)}" if group else plural


class StoreTimes:
    """Durations of writes in the store, by operation and resource."""

    def __init__(self, registry: Registry, naming: Naming) -> None:
        self._naming = naming
        self._family = registry.add(histograms(
            "etcd_request_duration_seconds", "Latency of store operations in seconds, by operation and resource.",
            BOUNDS_S, ("operation", "type")))  # fmt: skip
        self._series: dict[tuple[str, str], Histogram] = {}

    def took(self, prefix: str, op: Op, seconds: float) -> None:
        """Observe the duration of a write to the resource with this prefix."""
        operation = "delete" if op.value is None else "create" if op.expected == 0 else "update"
        series = self._series.get((operation, prefix))
        if series is None:
            series = self._family.of(operation, resource_of(prefix, self._naming))
            if len(self._series) < 4000:
                self._series[operation, prefix] = series
        series.observe(seconds)


def show_store(registry: Registry, store: Store, backend: str) -> None:
    """Register the metrics of a store."""
    def sizes() -> list[tuple[Values, float]]:
        taken = store.sizes() or {backend: store.size_bytes()}
        return [((where,), size) for where, size in taken.items()]

    registry.add(Read(
        sizes, "etcd_db_total_size_in_bytes", GAUGE,
        "Size of the store on disk in bytes.", ("endpoint",)))  # fmt: skip
    for family in store.metrics():
        registry.add(family)


def show_caches(registry: Registry, cacher: Cacher, naming: Naming) -> None:
    """Register metrics of the caches' contents and watchers."""

    def by_resource(count: Callable[[ResourceCache], float]) -> Callable[[], Iterator[tuple[Values, float]]]:
        return lambda: (((resource_of(cache.prefix, naming),), count(cache)) for cache in cacher.caches)

    def watchers() -> list[tuple[Values, float]]:
        found = [cache.dispatcher.members() for cache in cacher.caches]
        members, behind = (sum(column) for column in zip(*found, strict=True)) if found else (0, 0)
        return [(("current",), members - behind), (("behind",), behind)]

    def held() -> list[tuple[Values, float]]:
        return [((what,), size) for what, size in cacher.held_bytes().items()]

    objects = "Stored objects of each resource."
    for family in (
        Read(by_resource(len), "apiserver_storage_objects", GAUGE, objects, _RESOURCE, stability=STABLE),
        Read(by_resource(len), "etcd_object_counts", GAUGE, objects, _RESOURCE, since="1.22.0"),
        Read(one(lambda: cacher.damaged), "apiserver_storage_damaged_objects", GAUGE,
             "Stored objects that are damaged and set aside; the log names them."),
        Read(by_resource(lambda cache: len(cache.log)), "watch_cache_capacity", GAUGE,
             "Events of each resource in the watch history.", _RESOURCE),
        Read(one(lambda: 0 if cacher.ready or cacher.loading is None else cacher.loading.left),
             "orchtw_cache_objects_to_load", GAUGE, "Objects still to be read at startup, if known."),
        Read(by_resource(lambda cache: cache.loaded), "apiserver_init_events_total", COUNTER,
             "Objects read to fill a resource's cache.", _RESOURCE),
        Read(by_resource(lambda cache: cache.dispatcher.expired), "apiserver_terminated_watchers_total", COUNTER,
             "Watches that ended because they had fallen behind the history.", _RESOURCE),
        Read(by_resource(lambda cache: cache.raw_bytes), "orchtw_cache_object_bytes", GAUGE,
             "Bytes of the objects in the cache as they are stored.", _RESOURCE),
        Read(held, "orchtw_cache_held_bytes", GAUGE,
             "Bytes held for readers beside the objects: plain and packed JSON, other forms and Table rows, earlier"
             " states of the history, snapshots that are read, recent batches, indexes, compressed lists;"
             " --watch-cache-bytes bounds the sum.",
             ("what",)),
        Read(watchers, "orchtw_watchers", GAUGE, "Watches that are up to date, and watches that are catching up.",
             ("state",)),
        Read(by_resource(lambda cache: cache.dispatcher.lag_s), "orchtw_watch_lag_seconds", GAUGE,
             "Age of the oldest event that a watch of the resource has not been sent; 0: all are up to date.",
             _RESOURCE),
        Read(one(lambda: sum(cache.dispatcher.groups for cache in cacher.caches)), "orchtw_watch_groups", GAUGE,
             "Groups of equal watches, which share their events."),
        Read(one(lambda: cacher.revision), "orchtw_cache_revision", GAUGE, "Revision of the store that is served."),
    ):  # fmt: skip
        registry.add(family)
