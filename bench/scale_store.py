"""A store with very many objects, made in seconds: some come from a server, the others are their bytes, renamed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from bench.http1 import JSON, BenchError, Connection, Endpoint
from bench.server import Server, data_directory
from bench.subjects import CORE, Subject
from orchtw.naming.naming import Naming
from orchtw.storage.sqlite.file import StoreFile
from orchtw.storage.sqlite.load import Load
from orchtw.storage.sqlite.snapshot import Snapshot
from orchtw.storage.store import KeyValue

PER_GROUP = 100
"""Objects in each namespace, on each node and of each release; neighbours in one of them are not in another."""

STORE = "data/store.sqlite"
SETTLE_LIMIT_S = 10.0
_UID = re.compile(rb"[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-)")
_DIGITS = 7


def namespace(number: int) -> str:
    """Return the namespace with this number; all names here are of constant length."""
    return f"scale-ns-{number:0{_DIGITS}d}"


def node(number: int) -> str:
    """Return the node with this number."""
    return f"scale-node-{number:0{_DIGITS}d}"


def release(number: int) -> str:
    """Return the value of the label `release` with this number."""
    return f"scale-release-{number:0{_DIGITS}d}"


def name(number: int) -> str:
    """Return the object with this number."""
    return f"scale-object-{number:0{_DIGITS}d}"


def groups(objects: int) -> int:
    """Return the numbers of namespaces, nodes and releases."""
    return max(1, objects // PER_GROUP)


def body(subject: Subject, number: int, groups: int) -> bytes:
    """Return an object as it is sent; which namespace it is in is said by where it is sent."""
    obj = orjson.loads(subject.template.render(name(number), number))
    obj["metadata"]["labels"]["release"] = release(number * 7 % groups)
    if subject.plural == "pods":
        obj["spec"]["nodeName"] = node(number % groups)
    return orjson.dumps(obj)


def seed(subject: Subject, flags: Sequence[str]) -> Sequence[KeyValue]:
    """Measure a new store, a namespace with its defaults, and one object in it."""
    with data_directory() as directory:
        server = Server(directory, flags)
        try:
            _seed(server.endpoint, subject)
        finally:
            server.stop()
        snapshot = Snapshot(directory / STORE)
        try:
            return [item for item in snapshot.live() if isinstance(item, KeyValue)]
        finally:
            snapshot.close()


def make_store(directory: Path, items: Sequence[KeyValue], objects: int) -> None:
    """Leave a store in `directory` with so many copies of the object of a `seed`, and namespaces for them."""
    path = directory / STORE
    path.parent.mkdir()
    file = StoreFile(path=str(path), vocabulary=Naming.orch().vocabulary)
    connection = file.open()
    try:
        load = Load(connection, 0)
        for key, value in _multiplied(items, objects):
            load.put(key, value)
        load.commit()
    finally:
        connection.close()
        file.release()


def _seed(endpoint: Endpoint, subject: Subject) -> None:
    """Return one object in one namespace, with the common parts of all."""
    connection = Connection(endpoint)

    def post(path: str, content: bytes) -> None:
        answer = connection.call(endpoint.request("POST", path, JSON, JSON, content))
        if answer.status != 201:
            raise BenchError(f"POST {path}: {answer.problem(JSON)}")

    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace(0)}}
    post(f"{CORE}/namespaces", orjson.dumps(made))
    path = f"{CORE}/namespaces/{namespace(0)}"
    end = time.monotonic() + SETTLE_LIMIT_S
    for given in ("serviceaccounts/default", "configmaps"):
        request = endpoint.request("GET", f"{path}/{given}")
        while (answer := connection.call(request)).status != 200 or answer.body.endswith(b'"items":[]}'):
            if time.monotonic() > end:
                break  # without controllers nobody makes them
            time.sleep(0.02)
    post(subject.within(path), body(subject, 0, 1))
    connection.close()


def _multiplied(items: Sequence[KeyValue], objects: int) -> Iterator[tuple[str, bytes]]:
    """Keys and values: all items, those of the namespace for each namespace, the object as often as is wanted."""
    first, count = namespace(0), groups(objects)
    for item in items:
        if item.key.endswith(f"/{name(0)}"):
            yield from _objects(item, objects, count)
        elif first in item.key:
            for number in range(count):
                old, new = first.encode(), namespace(number).encode()
                yield item.key.replace(first, namespace(number)), _other(item.value.replace(old, new), number)
        else:
            yield item.key, item.value


def _objects(item: KeyValue, objects: int, count: int) -> Iterator[tuple[str, bytes]]:
    for number in range(objects):
        inside, called = namespace(number // PER_GROUP % count), name(number)
        value = item.value.replace(namespace(0).encode(), inside.encode()).replace(name(0).encode(), called.encode())
        value = value.replace(release(0).encode(), release(number * 7 % count).encode())
        value = value.replace(node(0).encode(), node(number % count).encode())
        yield item.key.replace(namespace(0), inside).replace(name(0), called), _other(value, number)


def _other(value: bytes, number: int) -> bytes:
    """Return the same with another uid."""
    return _UID.sub(b"%08x" % number, value, count=1)
