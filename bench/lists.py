"""List: whole collections, pages and selections of the Pods that were preloaded."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from urllib.parse import quote

from bench.bodies import SHARDS
from bench.http1 import JSON, Answer, BenchError, Connection
from bench.session import Bench

PRELOAD_CONNECTIONS = 64
HEAD_BYTES = 1000  # of a list: its kind and metadata
_SHARD = 42
_NAME = re.compile(rb"load-(\d{7})")
_CONTINUE = re.compile(rb'"continue":"([^"]*)"')


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to list, and how many objects must come."""

    name: str
    accept: str
    query: str
    objects: int
    zipped: bool = False
    paged: bool = False


def lists(bench: Bench) -> None:
    """Preload the objects (Pods), say what memory that took, then list them in every way."""
    for subject in bench.subjects("pods"):
        path = subject.within(bench.namespace())
        make = bench.creating(path, subject, "load")
        bench.measure(f"preload_{subject.plural}", PRELOAD_CONNECTIONS, make, count=bench.options.pods)
        about = {"kind": subject.plural, "objects": bench.options.pods}
        memory = round(bench.machine.rss_mib(), 1)
        bench.emit("rss_after_preload", {**about, "rss_total_mib": memory})
        for variant in _variants(bench):
            if variant.accept != bench.types.protobuf or "pb" in subject.forms:
                _measure(bench, path, variant, {"kind": subject.plural})


def _variants(bench: Bench) -> list[Variant]:
    pods, protobuf = bench.options.pods, bench.types.protobuf
    chosen = len(range(_SHARD, pods, SHARDS))
    selector = f"?labelSelector=shard%3Ds-{_SHARD}"
    return [
        Variant("list_json", JSON, "", pods),
        Variant("list_json_rv0", JSON, "?resourceVersion=0", pods),
        Variant("list_json_gzip", JSON, "", pods, zipped=True),
        Variant("list_pb", protobuf, "", pods),
        Variant("list_pb_rv0", protobuf, "?resourceVersion=0", pods),
        Variant("list_table", bench.types.table, "", pods),
        Variant("list_paged_json", JSON, f"?limit={bench.options.limit}", pods, paged=True),
        Variant("list_selector_1pct_json", JSON, selector, chosen),
        Variant("list_selector_1pct_rv0_json", JSON, f"{selector}&resourceVersion=0", chosen),
    ]


def _measure(bench: Bench, path: str, variant: Variant, about: Mapping[str, object]) -> None:
    connection = Connection(bench.endpoint)
    connection.call(bench.endpoint.request("GET", "/version"))
    bench.machine.await_quiet(bench.options.quiet)
    before = bench.machine.snapshot()
    seconds: list[float] = []
    fields: dict[str, object] = {**about, "errors": 0}
    pages: list[Answer] = []
    try:
        for _ in range(bench.options.list_iters):
            began = time.monotonic()
            pages = _list(bench, connection, path, variant)
            seconds.append(time.monotonic() - began)
        usage = bench.machine.usage(before, len(seconds))
        found = len({name for page in pages for name in _NAME.findall(page.content)})
        fields |= {
            **usage,
            "secs_per_list": round(median(seconds), 4),
            "secs_min": round(min(seconds), 4),
            "bytes": sum(len(page.body) for page in pages),
            "objects": found,
            "pages": len(pages),
            "lists": len(seconds),
        }
        if found != variant.objects:
            raise BenchError(f"{found} objects in the list, expected {variant.objects}")
    except BenchError as problem:
        fields |= {"errors": 1, "first_error": str(problem)}
    finally:
        connection.close()
    bench.emit(variant.name, fields)


def _list(bench: Bench, connection: Connection, path: str, variant: Variant) -> list[Answer]:
    """Return all pages of one list."""
    pages: list[Answer] = []
    query = variant.query
    while True:
        request = bench.endpoint.request("GET", path + query, variant.accept, zipped=variant.zipped)
        answer = connection.call(request)
        if problem := answer.problem(variant.accept):
            raise BenchError(problem)
        pages.append(answer)
        following = _CONTINUE.search(answer.body, 0, HEAD_BYTES) if variant.paged else None
        if following is None or not following[1]:
            return pages
        query = f"{variant.query}&continue={quote(following[1])}"
