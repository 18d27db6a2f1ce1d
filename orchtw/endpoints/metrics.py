"""`/metrics`: the server's metrics in the Prometheus text format (reference METRIC-1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol

from orchtw.metrics.exposition import OPEN, PLAIN, parts
from orchtw.metrics.registry import Registry
from orchtw.metrics.several import merged
from orchtw.request import Request, Response

PATH = "/metrics"
_OPEN_TYPE = OPEN.partition(";")[0]


class Processes(Protocol):
    """All processes of this server."""

    def texts(self, open_metrics: bool) -> Awaitable[Sequence[bytes]]:
        """Return the metrics of each process."""

    def reset(self) -> Awaitable[None]:
        """Reset the metrics of all processes."""


class Metrics:
    """Endpoint of a registry, or of those of all `processes` if there are several.

    The exposition is produced in parts, so that a scrape does not hold up requests.
    """

    methods = frozenset({"GET", "DELETE"})

    def __init__(self, registry: Registry, processes: Callable[[], Processes | None] = lambda: None) -> None:
        self._registry = registry
        self._processes = processes

    def paths(self) -> Iterable[str]:
        """Return the path of the metrics."""
        return (PATH,)

    def aliases(self) -> Iterable[tuple[str, str]]:
        """Return no aliases for this path."""
        return ()

    async def handle(self, request: Request, path: str) -> Response:
        """Return all metrics, as OpenMetrics if the client prefers it; DELETE resets them."""
        processes = self._processes()
        if request.method == "DELETE":
            if processes is None:
                self._registry.reset()
            else:
                await processes.reset()
            return Response(content_type=PLAIN, body=b"metrics reset\n")
        preferred = _prefers_open(request.headers.get("accept", ""))
        if processes is None:
            made = parts(self._registry.families(), open_metrics=preferred)
        else:
            made = merged(await processes.texts(preferred), open_metrics=preferred)
        return Response(content_type=OPEN if preferred else PLAIN, parts=made)


def _prefers_open(accept: str) -> bool:
    """Report whether OpenMetrics is accepted at least as much as plain text."""
    weights = {"": 0.0}
    for entry in accept.split(","):
        name, _, parameters = entry.partition(";")
        weights[name.strip().lower()] = _weight(parameters)
    return weights.get(_OPEN_TYPE, 0.0) > 0 and weights[_OPEN_TYPE] >= weights.get("text/plain", 0.0)


def _weight(parameters: str) -> float:
    for parameter in parameters.split(";"):
        key, _, value = parameter.partition("=")
        if key.strip().lower() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
