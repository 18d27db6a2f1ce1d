"""Create and get: single objects in closed loops."""

from __future__ import annotations

from bench.bodies import numbered
from bench.options import FORMATS
from bench.session import Bench


def create(bench: Bench) -> None:
    """POST ConfigMaps and Pods as JSON, at each concurrency."""
    path = bench.namespace()
    for plural in ("configmaps", "pods"):
        for workers in bench.options.conc:
            make = bench.creating(f"{path}/{plural}", plural, f"c{workers}")
            bench.measure(f"create_{plural}", workers, make, count=bench.options.n_create)


def get(bench: Bench) -> None:
    """GET one Pod over and over, each worker its own, as JSON and as Protobuf."""
    path = bench.namespace()
    most = max(bench.options.conc)
    bench.fill(path, "pods", "get", most)
    for form in FORMATS:
        accept = bench.types.of(form)
        requests = [bench.endpoint.request("GET", f"{path}/pods/{numbered('get', i)}", accept) for i in range(most)]
        for workers in bench.options.conc:
            bench.measure(
                f"get_pod_{form}",
                workers,
                lambda worker, number, requests=requests: requests[worker],  # type: ignore[misc]
                accept=accept,
                seconds=bench.options.seconds,
            )
