"""Common parts of every scenario: a server, its meter, and a place for the lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import orjson

from bench.bodies import numbered
from bench.closed_loop import ClosedLoop, Done, Make, Result, percentile_ms
from bench.http1 import JSON, BenchError, Connection, Endpoint
from bench.machine import Machine
from bench.options import Options
from bench.subjects import CORE, Subject, subjects

Emit = Callable[[str, Mapping[str, object]], None]
"""Prints a line: the scenario's name and its fields."""

WARM_UP_S = 1.0
WARM_UP_CONNECTIONS = 4


@dataclass(frozen=True, slots=True)
class MediaTypes:
    """Accept headers: Protobuf, and JSON as a Table."""

    protobuf: str
    table: str

    def of(self, form: str) -> str:
        """Return the type of `json` or `pb`."""
        return JSON if form == "json" else self.protobuf


class Bench:
    """A server under measurement."""

    def __init__(
        self,
        options: Options,
        endpoint: Endpoint,
        machine: Machine,
        emit: Emit,
        types: MediaTypes,
        kinds: Sequence[str],
    ) -> None:
        self.kinds = kinds
        self.options = options
        self.endpoint = endpoint
        self.machine = machine
        self.emit = emit
        self.types = types
        self._subjects = subjects(options.kib)
        self._prefix = f"bench-{time.time_ns() // 1_000_000 % 10**9}"
        self._namespaces = 0

    def subject(self, plural: str) -> Subject:
        """Return the kind with this plural."""
        return self._subjects[plural]

    def subjects(self, *usual: str) -> list[Subject]:
        """Return the kinds that were asked for; the usual ones if none were."""
        return [self._subjects[plural] for plural in self.kinds or usual]

    def namespace(self) -> str:
        """Make a namespace, with the service account that some servers want before any Pod; returns its path."""
        self._namespaces += 1
        name = f"{self._prefix}-{self._namespaces}"
        path = f"{CORE}/namespaces/{name}"
        self.create(f"{CORE}/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        self.create(f"{path}/serviceaccounts", account)
        return path

    def create(self, path: str, body: object) -> None:
        """Create one object, or find it there; BenchError otherwise."""
        connection = Connection(self.endpoint)
        answer = connection.call(self.endpoint.request("POST", path, JSON, JSON, orjson.dumps(body)))
        connection.close()
        if answer.status not in (201, 409):
            raise BenchError(f"POST {path}: {answer.problem(JSON)}")

    def fill(self, path: str, subject: Subject, prefix: str, count: int, workers: int = 1) -> Result:
        """Create `count` objects in the collection at `path`; BenchError if one cannot be."""
        loop = ClosedLoop(self.endpoint, workers)
        result = loop.run(self.creating(path, subject, prefix), count=count)
        loop.close()
        if result.errors:
            raise BenchError(f"filling {path}: {result.first_error}")
        return result

    def creating(self, path: str, subject: Subject, prefix: str) -> Make:
        """Return the requests that create objects `prefix`-number in the collection at `path`."""
        template, endpoint = subject.template, self.endpoint

        def make(worker: int, number: int) -> bytes:
            return endpoint.request("POST", path, JSON, JSON, template.render(numbered(prefix, number), number))

        return make

    def warm_up(self) -> None:
        """Let the server compile and cache what its first requests need."""
        path = self.namespace()
        for subject in self.subjects("configmaps", "pods"):
            self.fill(subject.within(path), subject, "warm", 32)
        request = self.endpoint.request("GET", f"{subject.within(path)}/{numbered('warm', 0)}")
        loop = ClosedLoop(self.endpoint, WARM_UP_CONNECTIONS)
        loop.run(lambda worker, number: request, seconds=min(WARM_UP_S, self.options.seconds))
        loop.close()

    def measure(
        self,
        scenario: str,
        workers: int,
        make: Make,
        *,
        accept: str = JSON,
        count: int = 0,
        seconds: float = 0.0,
        done: Done | None = None,
    ) -> None:
        """Run a closed loop and print its line."""
        loop = ClosedLoop(self.endpoint, workers)
        self.machine.await_quiet(self.options.quiet)
        before = self.machine.snapshot()
        result = loop.run(make, accept=accept, count=count, seconds=seconds, done=done)
        usage = self.machine.usage(before, len(result.latencies_ns))
        loop.close()
        self.emit(scenario, {"conc": workers, **figures(result), **usage, "secs": round(result.wall_s, 3)})


def figures(result: Result) -> dict[str, object]:
    """Return the fields of a closed loop."""
    ops = len(result.latencies_ns)
    fields: dict[str, object] = {
        "ops": ops,
        "errors": result.errors,
        "ops_per_s": round(ops / result.wall_s, 1),
        "p50_ms": percentile_ms(result.latencies_ns, 0.5),
        "p99_ms": percentile_ms(result.latencies_ns, 0.99),
        "max_ms": percentile_ms(result.latencies_ns, 1.0),
        "bytes_per_op": result.bytes // max(1, ops),
    }
    if result.first_error:
        fields["first_error"] = result.first_error
    return fields
