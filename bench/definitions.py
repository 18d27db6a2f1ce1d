"""Many custom kinds: how soon each is served, what they cost together, and how a server starts that has them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import cast

import orjson

from bench.closed_loop import ClosedLoop, percentile_ms
from bench.custom import VERSION, definition, widget
from bench.http1 import JSON, BenchError, Connection, Endpoint
from bench.machine import Machine, cpu_s, rss_mib
from bench.options import Options
from bench.server import Server, data_directory
from bench.session import Emit
from orchtw.naming.naming import Naming

ALONE = 20  # definitions created one after the other, at most half of them
GROUP_SIZE = 10
CONNECTIONS = 8
SERVED_LIMIT_S = 60.0
POLL_S = 0.001
NAMESPACE = "default"

Kind = tuple[str, str]
"""A group and a plural."""


def define(endpoint: Endpoint, naming: Naming, plural: str, group: str) -> float:
    """Create a definition; the time from the answer to the first list of its objects that is served, in ms."""
    connection = Connection(endpoint)
    body = orjson.dumps(definition(naming, plural, group))
    answer = connection.call(endpoint.request("POST", definitions_path(naming), JSON, JSON, body))
    if answer.status not in (201, 409):
        raise BenchError(f"definition of {plural}.{group}: {answer.problem(JSON)}")
    served_ms = await_served(endpoint, connection, (group, plural))
    connection.close()
    return served_ms


def definitions(options: Options, emit: Emit) -> None:
    """Measure some definitions alone, the rest at once, discovery, OpenAPI, a start, an object of each, a start."""
    naming = Naming.of("orch")
    kinds = [(f"group{i // GROUP_SIZE}.bench.example.com", f"kind{i:04d}s") for i in range(options.definitions)]
    with data_directory() as directory:

        def start() -> Server:
            return Server(directory, options.server_flag)

        start().stop()
        without = [_once(start) for _ in range(options.starts)]
        for measure, scenario in ((_installed, "definitions_start"), (_used, "definitions_start_used")):
            server = start()
            try:
                measure(server, options.rest_seconds, naming, kinds, emit)
            finally:
                server.stop()
            starts = [_once(start, kinds[-1]) for _ in range(options.starts)]
            emit(scenario, {**_starts("_without", without), **_starts("", starts), "errors": 0})


def _installed(server: Server, rest_s: float, naming: Naming, kinds: Sequence[Kind], emit: Emit) -> None:
    """Create them, and read what tells of them."""
    endpoint, machine = server.endpoint, Machine((server.pid,), rest_s)
    rss = machine.settled_mib()
    count = min(ALONE, (len(kinds) + 1) // 2)
    alone = sorted(round(define(endpoint, naming, plural, group) * 1e6) for group, plural in kinds[:count])
    figures = {f"p{share}_ms": percentile_ms(alone, share / 100) for share in (50, 99)}
    emit("definition_served", {"definitions": len(alone), **figures, "max_ms": alone[-1] / 1e6, "errors": 0})
    emit("definitions_installed", _rest(endpoint, machine, naming, kinds[count:]) | _memory(machine, rss, len(kinds)))
    groups = [f"apis/{group}/{VERSION}" for group in dict(kinds)]
    documents = {
        "discovery": ["/apis", *(f"/{group}" for group in groups)],
        "openapi_v2": ["/openapi/v2"],
        "openapi_v3": ["/openapi/v3", *(f"/openapi/v3/{group}" for group in groups)],
    }
    for name, paths in documents.items():
        before = machine.snapshot()
        length = _read(endpoint, paths)
        emit(f"definitions_{name}", {"bytes": length, **machine.usage(before), **_memory(machine, rss, len(kinds))})


def _used(server: Server, rest_s: float, naming: Naming, kinds: Sequence[Kind], emit: Emit) -> None:
    """Create an object of each."""
    endpoint, machine = server.endpoint, Machine((server.pid,), rest_s)
    rss = machine.settled_mib()
    loop = ClosedLoop(endpoint, CONNECTIONS)

    def make(worker: int, number: int) -> bytes:
        return object_of(endpoint, kinds[number])

    before = machine.snapshot()
    result = loop.run(make, count=len(kinds))
    loop.close()
    fields = {"errors": result.errors, "first_error": result.first_error}
    emit("definitions_used", {**fields, **machine.usage(before, len(kinds)), **_memory(machine, rss, len(kinds))})


def _rest(endpoint: Endpoint, machine: Machine, naming: Naming, kinds: Sequence[Kind]) -> dict[str, object]:
    """Create all of these, as fast as some connections can, and wait until the last is served."""
    if not kinds:
        return {"errors": 0}
    loop = ClosedLoop(endpoint, CONNECTIONS)
    before, began = machine.snapshot(), time.monotonic()

    def make(worker: int, number: int) -> bytes:
        group, plural = kinds[number]
        body = orjson.dumps(definition(naming, plural, group))
        return endpoint.request("POST", definitions_path(naming), JSON, JSON, body)

    result = loop.run(make, count=len(kinds))
    loop.close()
    created_s = time.monotonic() - began
    connection = Connection(endpoint)
    for kind in kinds:
        await_served(endpoint, connection, kind)
    connection.close()
    served_s = time.monotonic() - began
    return {
        "errors": result.errors,
        "first_error": result.first_error,
        "created_secs": round(created_s, 2),
        "served_secs": round(served_s, 2),
        **machine.usage(before, len(kinds)),
    }


def definitions_path(naming: Naming) -> str:
    """Return the path of definitions."""
    return f"/apis/{naming.group('apiextensions.orch.io')}/v1/customresourcedefinitions"


def _collection(kind: Kind) -> str:
    group, plural = kind
    return f"/apis/{group}/{VERSION}/namespaces/{NAMESPACE}/{plural}"


def object_of(endpoint: Endpoint, kind: Kind, **spec: object) -> bytes:
    """Return the request for an object of a kind, with more in its spec."""
    group, plural = kind
    about = {"apiVersion": f"{group}/{VERSION}", "kind": plural.removesuffix("s").capitalize()}
    made = widget({"name": "one"}) | about
    made["spec"] = {**cast(dict[str, object], made["spec"]), **spec}
    body = orjson.dumps(made)
    return endpoint.request("POST", _collection(kind), JSON, JSON, body)


def await_served(endpoint: Endpoint, connection: Connection, kind: Kind) -> float:
    """Return the time in ms until the collection is there."""
    began = time.monotonic()
    request = endpoint.request("GET", f"{_collection(kind)}?limit=1")
    while connection.call(request).status != 200:
        if time.monotonic() - began > SERVED_LIMIT_S:
            raise BenchError(f"{_collection(kind)} is not served after {SERVED_LIMIT_S:.0f} s")
        time.sleep(POLL_S)
    return (time.monotonic() - began) * 1000


def _read(endpoint: Endpoint, paths: Sequence[str]) -> int:
    """Get them all; the bytes that came."""
    connection = Connection(endpoint)
    length = 0
    for path in paths:
        answer = connection.call(endpoint.request("GET", path, "application/json"))
        if problem := answer.problem(JSON):
            raise BenchError(f"{path}: {problem}")
        length += len(answer.content)
    connection.close()
    return length


def _memory(machine: Machine, before: float, count: int) -> dict[str, object]:
    """Resident memory once it has settled, and what there is more of it than before any definition."""
    now = machine.settled_mib()
    return {
        "rss_mib": round(now, 1),
        "rss_more_mib": round(now - before, 1),
        "kib_per_definition": round((now - before) * 1024 / count, 1),
    }


def _once(start: Callable[[], Server], kind: Kind | None = None) -> tuple[float, float, float, float]:
    """Return a start: ms to ready, ms until the kind is served, MiB and CPU seconds then."""
    began = time.monotonic()
    server = start()
    try:
        if kind is not None:
            connection = Connection(server.endpoint)
            await_served(server.endpoint, connection, kind)
            connection.close()
        served_ms = (time.monotonic() - began) * 1000
        return server.ready_s * 1000, served_ms, rss_mib(server.pid), cpu_s(server.pid)
    finally:
        server.stop()


def _starts(suffix: str, starts: Sequence[tuple[float, float, float, float]]) -> Mapping[str, object]:
    ready, served, memory, cpu = (median(values) for values in zip(*starts, strict=True))
    return {
        f"ready_ms{suffix}": round(ready),
        f"served_ms{suffix}": round(served),
        f"rss_mib{suffix}": round(memory, 1),
        f"cpu_s{suffix}": round(cpu, 2),
    }
