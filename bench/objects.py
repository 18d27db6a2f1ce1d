"""Create, get and apply: single objects in closed loops."""

from __future__ import annotations

from bench.bodies import numbered
from bench.http1 import JSON
from bench.session import Bench

APPLY = "application/apply-patch+yaml"
APPLY_QUERY = "?fieldManager=bench"


def create(bench: Bench) -> None:
    """POST objects as JSON (ConfigMaps and Pods unless told otherwise), at each concurrency."""
    path = bench.namespace()
    for subject in bench.subjects("configmaps", "pods"):
        for workers in bench.options.conc:
            make = bench.creating(subject.within(path), subject, f"c{workers}")
            bench.measure(f"create_{subject.plural}", workers, make, count=bench.options.n_create)


def get(bench: Bench) -> None:
    """GET one object (a Pod) over and over, each worker its own, in each form."""
    path = bench.namespace()
    most = max(bench.options.conc)
    for subject in bench.subjects("pods"):
        collection = subject.within(path)
        bench.fill(collection, subject, "get", most)
        for form in subject.forms:
            accept = bench.types.of(form)
            requests = [
                bench.endpoint.request("GET", f"{collection}/{numbered('get', i)}", accept) for i in range(most)
            ]
            for workers in bench.options.conc:
                bench.measure(
                    f"get_{subject.singular}_{form}",
                    workers,
                    lambda worker, number, requests=requests: requests[worker],  # type: ignore[misc]
                    accept=accept,
                    seconds=bench.options.seconds,
                )


def apply(bench: Bench) -> None:
    """Apply one object (a ConfigMap, a Pod) over and over, each worker its own, with another number each time."""
    path = bench.namespace()
    for subject in bench.subjects("configmaps", "pods"):
        collection, template, endpoint = subject.within(path), subject.template, bench.endpoint

        def make(worker: int, number: int) -> bytes:
            name = numbered("own", worker)
            body = template.render(name, number, shard=worker)  # noqa: B023 - done with before the next subject
            where = f"{collection}/{name}{APPLY_QUERY}"  # noqa: B023
            return endpoint.request("PATCH", where, JSON, APPLY, body)  # noqa: B023

        for workers in bench.options.conc:
            bench.measure(f"apply_{subject.plural}", workers, make, count=bench.options.n_create)
