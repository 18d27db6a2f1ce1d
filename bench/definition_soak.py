"""Definitions that come, change and go, round after round: what changes cost, and whether memory grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import orjson

from bench.closed_loop import ClosedLoop, percentile_ms
from bench.custom import VERSION, definition
from bench.definitions import CONNECTIONS, SERVED_LIMIT_S, Kind, await_served, definitions_path, object_of
from bench.http1 import GOOD, JSON, BenchError, Connection, Endpoint
from bench.machine import Machine
from bench.options import Options
from bench.server import Server, data_directory
from bench.session import Emit
from orchtw.naming.naming import Naming

ROUNDS = 4
GROUP_SIZE = 10
CHANGED = 30  # of each round's definitions, at most: each is changed, and OpenAPI read after it
PATCH = "application/json-patch+json"
POLL_S = 0.05
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

Asked = Callable[[Kind], tuple[str, str, dict[str, object] | None]]
"""Method, path and body of a request about a kind."""


def definition_soak(options: Options, emit: Emit) -> None:
    """Emit a line for each round."""
    naming = Naming.of("orch")
    kinds = [(f"group{i // GROUP_SIZE}.soak.example.com", f"soak{i:04d}s") for i in range(options.definitions)]
    with data_directory() as directory:
        server = Server(directory, options.server_flag)
        try:
            machine = Machine((server.pid,), options.rest_seconds)
            began_mib = machine.rss_mib()
            for number in range(ROUNDS):
                fields = _Round(server.endpoint, machine, naming, kinds).figures()
                rss_mib = machine.settled_mib()
                more = {"rss_mib": round(rss_mib, 1), "rss_more_mib": round(rss_mib - began_mib, 1)}
                emit("definition_soak", {"round": number, "definitions": len(kinds), **fields, **more, "errors": 0})
        finally:
            server.stop()


class _Round:
    """Run one round of the soak."""

    def __init__(self, endpoint: Endpoint, machine: Machine, naming: Naming, kinds: Sequence[Kind]) -> None:
        self._endpoint = endpoint
        self._machine = machine
        self._naming = naming
        self._kinds = kinds
        self._path = definitions_path(naming)

    def figures(self) -> dict[str, object]:
        """Create all, change some, delete all; what that took."""
        count, figures = len(self._kinds), dict[str, object]()
        for name, step in (("create", self._create), ("change", self._change), ("delete", self._delete)):
            before, began = self._machine.snapshot(), time.monotonic()
            figures |= step()
            usage = self._machine.usage(before, count)
            figures |= {f"{name}_secs": round(time.monotonic() - began, 2)}
            figures[f"{name}_cpu_ms_each"] = usage["server_cpu_ms_per_op"]
        return figures

    def _create(self) -> dict[str, object]:
        self._all(lambda kind: ("POST", self._path, definition(self._naming, kind[1], kind[0])))
        connection = Connection(self._endpoint)
        for kind in self._kinds:
            await_served(self._endpoint, connection, kind)
        connection.close()
        return {}

    def _change(self) -> dict[str, object]:
        """Change definitions one after the other; each time an object has the new field, and OpenAPI is read."""
        connection = Connection(self._endpoint)
        took: dict[str, list[int]] = {name: [] for name in ("change", "v2", "v2_protobuf", "v3")}
        place = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/added"
        patch = orjson.dumps([{"op": "add", "path": place, "value": {"type": "string"}}])
        for kind in self._kinds[:: max(1, len(self._kinds) // CHANGED)]:
            group, plural = kind
            for name, request in (
                ("change", self._request("PATCH", f"{self._path}/{plural}.{group}", JSON, PATCH, patch)),
                ("", object_of(self._endpoint, kind, added="kept")),
                ("v2", self._request("GET", "/openapi/v2")),
                ("v2_protobuf", self._request("GET", "/openapi/v2", PROTOBUF)),
                ("v3", self._request("GET", f"/openapi/v3/apis/{group}/{VERSION}")),
            ):
                began = time.perf_counter_ns()
                answer = connection.call(request)
                if answer.status not in GOOD:
                    raise BenchError(f"{name or 'object'} of {plural}: {answer.problem(JSON)}")
                if name:
                    took[name].append(time.perf_counter_ns() - began)
                elif b'"added":"kept"' not in answer.content:
                    raise BenchError(f"{plural}: a change that was answered is not in force")
        connection.close()
        return {f"{name}_p50_ms": percentile_ms(sorted(each), 0.5) for name, each in took.items()}

    def _delete(self) -> dict[str, object]:
        self._all(lambda kind: ("DELETE", f"{self._path}/{kind[1]}.{kind[0]}", None))
        connection, end = Connection(self._endpoint), time.monotonic() + SERVED_LIMIT_S
        while orjson.loads(connection.call(self._request("GET", f"{self._path}?limit=1")).content)["items"]:
            if time.monotonic() > end:
                raise BenchError(f"definitions are left after {SERVED_LIMIT_S:.0f} s")
            time.sleep(POLL_S)
        connection.close()
        return {}

    def _request(
        self, method: str, path: str, accept: str = JSON, content_type: str = "", body: bytes = b""
    ) -> bytes:
        return self._endpoint.request(method, path, accept, content_type, body)

    def _all(self, asked: Asked) -> None:
        """Send what is asked for each kind."""
        loop = ClosedLoop(self._endpoint, CONNECTIONS)

        def make(worker: int, number: int) -> bytes:
            method, path, body = asked(self._kinds[number])
            sent = b"" if body is None else orjson.dumps(body)
            return self._request(method, path, JSON, JSON if sent else "", sent)

        result = loop.run(make, count=len(self._kinds))
        loop.close()
        if result.errors:
            raise BenchError(result.first_error)
