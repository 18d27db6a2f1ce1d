"""Stores to run the fuzzer on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from orchtw.testing.etcd import EtcdCluster

STORES = ("sqlite", "workers", "etcd")
"""SQLite in one process, SQLite with a worker, and an etcd cluster of one member."""

LARGE = "--max-request-bytes=8388608"
"""For objects as large as a request may be; members take 1.5 MiB by default."""


@contextmanager
def flags_of(store: str, directory: Path) -> Iterator[Sequence[str]]:
    """The flags of a server on a new store in `directory`; the store exists until the end of the block."""
    if store != "etcd":
        yield ("--workers=2",) if store == "workers" else ()
        return
    cluster = EtcdCluster(directory / "etcd", LARGE)
    [member] = cluster.members
    cluster.spawn(member)  # a server waits until it serves
    try:
        yield (f"--etcd-servers={member.endpoint}",)
    finally:
        cluster.end()
