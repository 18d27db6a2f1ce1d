"""Access of `orch-store` to the etcd cluster of `--etcd-servers`: source and import (reference STORE-34)."""

from __future__ import annotations

import argparse
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

from twisted.internet.defer import DeferredList
from twisted.python.failure import Failure

from orchtw.assembly.encryption import NOTHING
from orchtw.assembly.flags import parse
from orchtw.assembly.store import evidence
from orchtw.commands.store.import_ import item_value, lines_of
from orchtw.commands.store.lines import Item
from orchtw.commands.store.opening import Opening
from orchtw.commands.store.source import agreed
from orchtw.commands.store.values import StoredValues
from orchtw.config.storage import StorageOptions
from orchtw.errors import ConfigError, StatusError
from orchtw.naming.naming import Naming
from orchtw.storage.encryption.transformers import Transformers
from orchtw.storage.etcd.opening import in_cluster
from orchtw.storage.etcd.store import EtcdStore
from orchtw.storage.store import Damaged, KeyValue, Op, StoreHost

ROOT: Final = "/registry/"
PAGE_ITEMS: Final = 500
AT_ONCE: Final = 200
FLAGS: Final = ("etcd-servers", "etcd-prefix", "etcd-cafile", "etcd-certfile", "etcd-keyfile")


def cluster_flags(options: argparse.Namespace) -> list[str]:
    """Return the server's flags for the cluster; empty: the store is a file."""
    found = {name: getattr(options, name.replace("-", "_"), None) for name in FLAGS}
    return [f"--{name}={value}" for name, value in found.items() if value]


def cluster_options(options: argparse.Namespace) -> StorageOptions:
    """Return the settings of the cluster. Raises ConfigError."""
    return parse([*cluster_flags(options), "--etcd-compaction-interval=0"]).storage


class ClusterSource:
    """Snapshot of a cluster at a revision (see `StoreSource`)."""

    def __init__(self, store: EtcdStore, vocabulary: str, revision: int) -> None:
        self._store = store
        self.vocabulary = vocabulary
        self.revision = revision

    async def count(self) -> int:
        """Return the number of live keys."""
        page = await self._store.list(ROOT, revision=self.revision, limit=1)
        return len(page.items) + page.remaining

    async def ends(self) -> Mapping[int, int]:
        """Return the expiry times of values, in milliseconds since the epoch, by the revision of their write."""
        now = time.time()
        left = await self._store.seconds_left(self.revision)
        return {revision: round((now + seconds) * 1000) for revision, seconds in left.items()}

    async def live(self) -> AsyncIterator[KeyValue | Damaged]:
        """Yield all live values, page by page."""
        start, more = "", True
        while more:
            page = await self._store.list(ROOT, revision=self.revision, limit=PAGE_ITEMS, start=start)
            more = page.more
            for item in page.items:
                yield item
            if page.items:
                start = page.items[-1].key + "\0"


@asynccontextmanager
async def opened(
    options: argparse.Namespace, reactor: Any, transformers: Transformers = NOTHING
) -> AsyncIterator[EtcdStore]:
    """Yield the started store of the cluster, of either vocabulary; stop it at the end. Raises ConfigError."""
    host = StoreHost(
        reactor=reactor,
        vocabulary="",
        translation=_refuse,
        check_path=lambda path: None,
        evidence=partial(evidence, transformers),
        folder=Path(),
    )
    store = in_cluster(host, cluster_options(options))
    await store.start()
    try:
        yield store
    finally:
        await store.stop()


async def vocabulary_of(store: EtcdStore, given: str) -> str:
    """Return the vocabulary recorded in the store, else the `given` one, else `orch`.

    Raises ConfigError if they differ, and if the store's is ambiguous and none is given.
    """
    try:
        found = await store.vocabulary()
    except ConfigError:
        if not given:
            raise
        return given
    return agreed(f"--etcd-prefix: {store.prefix}", found, given) if found else given or Naming.orch().vocabulary


async def import_into(store: EtcdStore, source: BinaryIO, vocabulary: str, opening: Opening) -> int:
    """Import lines into an empty cluster, undone on failure; returns the number of objects. Raises ConfigError."""
    if (await store.list(ROOT, limit=1)).items:
        raise ConfigError("the cluster holds objects below that prefix: only an empty one can be filled")
    head, items = lines_of(source, vocabulary)
    naming = Naming.of(head.vocabulary if head is not None else vocabulary)
    recorded = await store.settle(naming.vocabulary)
    try:
        return await _import(store, items, StoredValues(naming), opening)
    except BaseException:
        if recorded:
            await store.unsettle()
        raise


async def _import(
    store: EtcdStore, items: Iterable[tuple[int, Item]], values: StoredValues, opening: Opening
) -> int:
    written: list[Op] = []  # the deletions that undo the import
    batch: list[Op] = []
    try:
        for number, item in items:
            op = await _op(number, item, values, opening)
            if op is not None:
                batch.append(op)
            if len(batch) >= AT_ONCE:
                await _put(store, batch, written)
                batch = []
        await _put(store, batch, written)
    except BaseException:
        for begin in range(0, len(written), AT_ONCE):
            await DeferredList([store.commit(op) for op in written[begin : begin + AT_ONCE]], consumeErrors=True)
        raise
    return len(written)


async def _op(number: int, item: Item, values: StoredValues, sealing: Opening) -> Op | None:
    """Return the write of a line; None: its value has expired."""
    ttl_s = item.expires / 1000 - time.time() if item.expires else 0.0
    if item.expires and ttl_s <= 0:
        return None
    value = await item_value(number, item, values, sealing)
    return Op(item.key, value, 0, ttl_s=ttl_s)


async def _put(store: EtcdStore, batch: Sequence[Op], written: list[Op]) -> None:
    results = await DeferredList([store.commit(op) for op in batch], consumeErrors=True)
    wrong: Exception | None = None
    for op, (_, outcome) in zip(batch, results, strict=True):
        if isinstance(outcome, Failure):
            wrong = outcome.value if isinstance(outcome.value, StatusError) else wrong
        elif outcome.revision:
            written.append(Op(op.key, None, outcome.revision))
        else:
            wrong = ConfigError(f"{op.key} exists twice, or another program is writing to the cluster")
    if wrong is not None:
        raise wrong


def _refuse(vocabulary: str) -> Any:
    raise ConfigError(f"the cluster holds objects of --vocabulary {vocabulary}")
