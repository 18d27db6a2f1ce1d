"""`/metrics`: the server's metrics in the text form of Prometheus (reference METRIC-1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from orchtw.registry.offload import Offload
from orchtw.request import Request, RequestInfo, Response
from orchtw.schema.catalogue import ResourceType

PATH = "/metrics"


SAMPLE_BYTES: Final = 128
"""That a sample counts for among what is made off the reactor; writing it down takes some 5 µs."""


class _Collected(Collector):
    """What a registry held at one moment."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families
        self.size = sum(len(family.samples) for family in families)

    def collect(self) -> Iterable[Metric]:
        return self._families


class Metrics:
    """The registry and its endpoint. Help texts begin with the metric's stability, as the original's do.

    What many samples come to is written down by `offload`.
    """

    methods = frozenset({"GET"})

    def __init__(self, offload: Offload | None = None) -> None:
        self._offload = offload or Offload(None)
        self.registry = CollectorRegistry(auto_describe=True)
        self._bare: tuple[str, ...] = ()
        self._deprecated = Gauge(
            "apiserver_requested_deprecated_apis",
            "[STABLE] Deprecated APIs that have been requested, by API group, version, resource, subresource and "
            "release in which they are removed.",
            ("group", "version", "resource", "subresource", "removed_release"),
            registry=self.registry,
        )

    def count_damaged(self, count: Callable[[], int]) -> None:
        """Show how many stored objects `count` says are damaged, whenever somebody asks."""
        Gauge(
            "apiserver_storage_damaged_objects",
            "[ALPHA] Stored objects that cannot be read and are set aside; the log names them.",
            registry=self.registry,
        ).set_function(count)

    def show(self, collector: Collector, bare: Iterable[str] = ()) -> None:
        """Show what a collector finds whenever somebody asks; of its untyped families `bare` are counters."""
        self.registry.register(collector)
        self._bare += tuple(bare)

    def paths(self) -> Iterable[str]:
        """The one path."""
        return (PATH,)

    def aliases(self) -> Iterable[tuple[str, str]]:
        """None."""
        return ()

    async def handle(self, request: Request, path: str) -> Response:
        """All metrics, as OpenMetrics where the request prefers that."""
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        found = _Collected(list(self.registry.collect()))
        body = await self._offload.run(found.size * SAMPLE_BYTES, lambda: encode(found))
        for name in self._bare:
            # The library has no counters of such names, and nor has OpenMetrics; the older form has.
            body = body.replace(f"# TYPE {name} untyped\n".encode(), f"# TYPE {name} counter\n".encode())
        return Response(content_type=content_type, body=body)

    def deprecated_requested(self, info: RequestInfo, resource: ResourceType) -> None:
        """A deprecated version has been asked for (reference VER-8)."""
        self._deprecated.labels(
            info.group, info.version, info.resource, info.subresource, resource.removed or ""
        ).set(1)
