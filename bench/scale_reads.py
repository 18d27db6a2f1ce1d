"""Requests to a store of any size: reads with equal results from a large and a small one, and a write."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import median
from urllib.parse import quote

from bench.http1 import GOOD, JSON, BenchError, Connection, Endpoint
from bench.machine import running_s
from bench.scale_store import PER_GROUP, body, groups, name, namespace, node, release
from bench.session import MediaTypes
from bench.subjects import Subject

LIMIT = 500
HEAD_BYTES = 1000
_CONTINUE = re.compile(rb'"continue":"([^"]*)"')
_REVISION = re.compile(rb'"resourceVersion":"([0-9]+)"')
_OBJECT = re.compile(rb"scale-object-[0-9]{7}\"")
_ADDED = b'{"type":"ADDED"'


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one request: seconds until the answer, and of the server's CPU; bytes of the body."""

    wall_s: float
    cpu_s: float
    bytes: int


class Reader(Connection):
    """A connection that counts what comes and keeps no more of it than `keep_bytes`."""

    keep_bytes = 16 << 20

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.bytes = 0
        self.events = 0

    def on_body(self, data: bytes) -> None:
        self.bytes += len(data)
        if self.bytes <= self.keep_bytes:
            super().on_body(data)

    def watch(self, request: bytes, events: int) -> None:
        """Open a watch and wait for so many events of objects that are there."""
        self.send(request)
        while self.events < events:
            self.wait_readable()
            self.receive()
            self.events = b"".join(self.pieces).count(_ADDED)


class Questions:
    """The requests, one after the other over one connection."""

    def __init__(self, endpoint: Endpoint, pid: int, subject: Subject, objects: int, types: MediaTypes) -> None:
        self._endpoint, self._pid, self._subject, self._objects = endpoint, pid, subject, objects
        self._types = types
        self._groups = groups(objects)
        self._connection = Reader(endpoint)
        self._all = f"{subject.prefix}/{subject.plural}"
        self._created = objects

    def close(self) -> None:
        self._connection.close()

    def each(self) -> Mapping[str, Callable[[int], Cost]]:
        """Return the reads by name; each takes the number of its repetition."""
        found: dict[str, Callable[[int], Cost]] = {
            "get": self._get,
            "create": self._create,
            "page": partial(self._page, f"limit={LIMIT}"),
            "page_pb": partial(self._page, f"limit={LIMIT}", accept=self._types.protobuf),
            "page_table": partial(self._page, f"limit={LIMIT}", accept=self._types.table),
            "namespace": self._namespace,
            "label": self._label,
        }
        if self._subject.plural == "pods":
            found["node"] = self._node
            found["watch_node"] = self._watch_node
        return found | {
            "page_after_write": self._page_after_write,
            "page_exact": self._page_exact,
            "page_continued": self._page_continued,
            "watch": self._watch,
            "watch_namespace": self._watch_namespace,
        }

    @property
    def sample(self) -> str:
        """The path of one object."""
        return f"{self._within(0)}/{name(0)}"

    def whole(self, accept: str, zipped: bool) -> Cost:
        """Return a list of everything, over a connection of its own."""
        reader = Reader(self._endpoint)
        try:
            return self._ask("GET", self._all, accept, reader=reader, zipped=zipped)
        finally:
            reader.close()

    def _get(self, number: int) -> Cost:
        at = number % 3 * 7919 % self._objects
        return self._ask("GET", f"{self._within(at // PER_GROUP)}/{name(at)}")

    def _create(self, number: int) -> Cost:
        self._created += 1
        content = body(self._subject, self._created, self._groups)
        return self._ask("POST", self._within(number % self._groups), content=content)

    def _page(self, query: str, number: int, accept: str = JSON) -> Cost:
        return self._ask("GET", f"{self._all}?{query}", accept)

    def _namespace(self, number: int) -> Cost:
        return self._ask("GET", self._within(self._group(number)))

    def _label(self, number: int) -> Cost:
        return self._selected("labelSelector", f"release={release(self._group(number))}")

    def _node(self, number: int) -> Cost:
        return self._selected("fieldSelector", f"spec.nodeName={node(self._group(number))}")

    def _selected(self, parameter: str, selector: str) -> Cost:
        cost = self._ask("GET", f"{self._all}?{parameter}={quote(selector)}")
        found = len(set(_OBJECT.findall(self._body)))
        if found < min(PER_GROUP, self._objects):
            raise BenchError(f"{found} objects with {selector}, expected {PER_GROUP}")
        return cost

    def _page_after_write(self, number: int) -> Cost:
        self._create(number)
        return self._page(f"limit={LIMIT}", number)

    def _page_exact(self, number: int) -> Cost:
        self._page("limit=1", number)
        revision = _found(_REVISION, self._body)
        self._create(number)
        return self._page(f"limit={LIMIT}&resourceVersion={revision}&resourceVersionMatch=Exact", number)

    def _page_continued(self, number: int) -> Cost:
        self._page(f"limit={max(1, min(LIMIT, self._objects // 2))}", number)
        token = quote(_found(_CONTINUE, self._body))
        self._create(number)
        return self._page(f"limit={LIMIT}&continue={token}", number)

    def _watch(self, number: int) -> Cost:
        self._page("limit=1", number)
        revision = int(_found(_REVISION, self._body))
        self._create(number)
        return self._watched(f"{self._all}?watch=1&resourceVersion={revision}", 1)

    def _watch_namespace(self, number: int) -> Cost:
        return self._watched(f"{self._within(self._group(number))}?watch=1", min(PER_GROUP, self._objects))

    def _watch_node(self, number: int) -> Cost:
        selector = quote(f"spec.nodeName={node(self._group(number))}")
        return self._watched(f"{self._all}?watch=1&fieldSelector={selector}", min(PER_GROUP, self._objects))

    def _watched(self, path: str, events: int) -> Cost:
        """Return a watch over a connection of its own, whose making does not count."""
        reader = Reader(self._endpoint)
        reader.call(self._endpoint.request("GET", "/version"))
        reader.bytes = 0
        try:
            cpu, began = running_s(self._pid), time.monotonic()
            reader.watch(self._endpoint.request("GET", path), events)
            return Cost(time.monotonic() - began, running_s(self._pid) - cpu, reader.bytes)
        finally:
            reader.close()

    def _group(self, number: int) -> int:
        """Return one of three groups, so that all but the first questions find what is made once."""
        return number % 3 * 31 % self._groups

    def _within(self, number: int) -> str:
        return self._subject.within(f"/api/v1/namespaces/{namespace(number)}")

    def _ask(
        self,
        method: str,
        path: str,
        accept: str = JSON,
        content: bytes = b"",
        *,
        reader: Reader | None = None,
        zipped: bool = False,
    ) -> Cost:
        reader = reader or self._connection
        request = self._endpoint.request(method, path, accept, JSON if content else "", content, zipped)
        reader.bytes = 0
        cpu, began = running_s(self._pid), time.monotonic()
        answer = reader.call(request)
        cost = Cost(time.monotonic() - began, running_s(self._pid) - cpu, reader.bytes)
        if answer.status not in GOOD or answer.media_type != accept.split(";")[0]:
            raise BenchError(f"{method} {path}: status {answer.status}, {answer.media_type}")
        self._body = b"" if zipped else answer.body
        return cost


def figures(costs: list[Cost]) -> dict[str, object]:
    """Return the fields of a line: medians, for others use the machine too."""
    return {
        "wall_ms": round(median(cost.wall_s for cost in costs) * 1000, 3),
        "cpu_ms": round(median(cost.cpu_s for cost in costs) * 1000, 3),
        "cpu_ms_min": round(min(cost.cpu_s for cost in costs) * 1000, 3),
        "bytes": costs[-1].bytes,
        "times": len(costs),
    }


def _found(pattern: re.Pattern[bytes], text: bytes) -> str:
    match = pattern.search(text, 0, HEAD_BYTES)
    if match is None:
        raise BenchError(f"{pattern.pattern.decode()} is not in the answer")
    return match[1].decode()
