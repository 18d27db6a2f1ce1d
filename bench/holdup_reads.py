"""Reads for `bench.holdup`: the largest collections and objects in every form, the dearest selections, long heads.

The collection at `{pods}` holds as many pods as `--pods` says; it is emptied by the last case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote

from bench.holdup_case import Case, Step
from bench.http1 import JSON

PROTOBUF = "application/vnd.orch.protobuf"
STREAM = "application/vnd.orch.protobuf;stream=watch"
YAML = "application/yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.orch.io"

HEAD_BYTES = 1 << 20
"""What the lines of a head may be together."""

BIG = Step(
    method="POST",
    path="{namespace}/configmaps",
    body=lambda: b'{"metadata":{"name":"a"},"data":{"k":"' + b"\\n" * (1 << 20) + b'"}}',
)
MANY_KEYS = replace(
    BIG,
    body=lambda: b'{"metadata":{"name":"a"},"data":{' + b",".join(b'"k%d":"x"' % i for i in range(60_000)) + b"}}",
)
_TERMS = quote(",".join(f"label-{number}!=a" for number in range(255)))
_VALUES = quote("shard in (" + ",".join(f"v{number}" for number in range(4000)) + ")")


def _lists() -> list[Case]:
    """Whole collections, and selections that look at all of one."""
    forms = (
        ("JSON", JSON, ""),
        ("JSON, from the cache", JSON, "?resourceVersion=0"),
        ("JSON, indented", JSON, "?pretty=true"),
        ("Protobuf", PROTOBUF, ""),
        ("YAML, 500 of them", YAML, "?limit=500"),
        ("Table", TABLE, ""),
        ("pages of 500", JSON, "?limit=500"),
        ("nothing matches", JSON, "?labelSelector=shard%3Dnone"),
        ("255 terms", JSON, f"?labelSelector={_TERMS}"),
        ("4,000 values", JSON, f"?labelSelector={_VALUES}"),
        ("by a field", JSON, "?fieldSelector=spec.nodeName%3Dnone"),
        ("bad continue token", JSON, "?limit=1&continue=" + "a" * 60_000),
    )
    lists = [
        Case(name=f"list: {name}", method="GET", path="{pods}" + query, accept=accept)
        for name, accept, query in forms
    ]
    watches = [
        Case(name=f"watch: {name}", method="GET", path="{pods}?watch=true&timeoutSeconds=2" + query, accept=accept)
        for name, accept, query in (
            ("all as they are, JSON", JSON, "&resourceVersion=0"),
            ("all as they are, Protobuf", STREAM, "&resourceVersion=0"),
            ("all as they are, Table", TABLE, "&resourceVersion=0"),
            ("all since the start", JSON, "&resourceVersion=1"),
            ("nothing matches", JSON, "&resourceVersion=0&labelSelector=shard%3Dnone"),
        )
    ]
    zipped = [
        replace(lists[0], name="list: JSON, gzip", zipped=True),
        replace(watches[0], name="watch: all as they are, JSON, gzip", zipped=True),
    ]
    return [*lists, *watches, *zipped]


def _gets() -> list[Case]:
    """Single objects of nearly 3 MiB, or of 60,000 keys, and what the server says of itself."""
    objects = [
        Case(name=f"get: {name}, {form}", method="GET", path="{namespace}/configmaps/a" + query, accept=accept,
             zipped=zipped, before=(present,))
        for name, present in (("2.9 MiB", BIG), ("60,000 keys", MANY_KEYS))
        for form, accept, query, zipped in (
            ("JSON", JSON, "", False), ("gzip", JSON, "", True), ("indented", JSON, "?pretty=true", False),
            ("YAML", YAML, "", False), ("Table", TABLE, "?includeObject=Object", False),
        )
    ]  # fmt: skip
    documents = ("/openapi/v2", "/openapi/v3/api/v1", "/metrics")
    return [*objects, *(Case(name=f"get: {path}", method="GET", path=path) for path in documents)]


def _lines(line: bytes) -> Callable[[], bytes]:
    return lambda: line * (HEAD_BYTES // len(line) - 1)


def _heads() -> list[Case]:
    """Heads and addresses as long as they may be, and longer."""
    heads: tuple[tuple[str, Callable[[], bytes]], ...] = (
        ("short lines", _lines(b"a:\r\n")),
        ("1,000 long lines", _lines(b"x-a: " + b"b" * 1040 + b"\r\n")),
        ("one line", lambda: b"x-a: " + b"b" * (HEAD_BYTES - 2000) + b"\r\n"),
        ("one name", lambda: b"b" * (HEAD_BYTES - 2000) + b": a\r\n"),
        ("groups", _lines(b"Impersonate-Group: g\r\n")),
        ("accepted types", lambda: b"Accept: " + b"a/b;c=d," * (HEAD_BYTES // 8 - 200) + b"\r\n"),
        ("languages of browsers", lambda: b"Cookie: " + b"a=b;" * (HEAD_BYTES // 4 - 400) + b"\r\n"),
    )
    addresses = (
        ("parameters", "/version?" + "a=b&" * 100_000),
        ("escapes", "/version?a=" + "%41" * 100_000),
        ("segments", "/api" + "/a" * 400_000),
        ("path", "{namespace}/configmaps/" + "a" * 900_000),
    )
    return [
        *(Case(name=f"head: {name}", method="GET", path="{namespace}/configmaps", head=head) for name, head in heads),
        *(Case(name=f"address: {name}", method="GET", path=path) for name, path in addresses),
    ]


READS: tuple[Case, ...] = (
    *_heads(),
    *_gets(),
    *_lists(),
    Case(name="deletecollection: nothing matches", method="DELETE", path="{pods}?labelSelector=shard%3Dnone"),
    Case(name="deletecollection: all, tried", method="DELETE", path="{pods}?dryRun=All"),
    Case(name="deletecollection: all", method="DELETE", path="{pods}?gracePeriodSeconds=0"),
)
"""In this order: the last one takes away what the others read."""
