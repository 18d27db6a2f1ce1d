"""Writes into a store until it is killed: `python -m tests.storage.sqlite.kill9_child FILE SEED`.

Prints `ready REVISION` when the store is open, then one line for each acknowledged write: revision, key
and value (`-` for a delete). Each line is one `write` to the pipe: what the parent reads has been acknowledged.
"""

from __future__ import annotations

import os
import random
import sys
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred, gatherResults

from orchtw.storage.sqlite.store import SqliteStore
from orchtw.storage.store import Op

WRITERS = 8
KEYS = 40


async def write_for_ever(store: SqliteStore, name: str, choose: random.Random) -> None:
    """One writer with keys of its own: puts of many sizes, some deletes, now and then a compaction."""
    count = 0
    while True:
        count += 1
        key = f"/registry/{name}/{choose.randrange(KEYS)}"
        if choose.random() < 0.02:
            await store.compact(max(1, await store.revision() - 200))
        text = f"{name}-{count}-" + "x" * choose.choice([0, 10, 500, 7000])
        op = Op(key, None if choose.random() < 0.1 else text.encode())
        outcome = await store.commit(op)
        if outcome.revision:
            os.write(1, f"{outcome.revision} {key} {'-' if op.value is None else text}\n".encode())


async def run(reactor: Any, path: str, seed: str) -> None:
    """Open, say so, write."""
    store = SqliteStore(path, reactor=reactor, clock=reactor, compaction_interval_s=0)
    await store.start()
    os.write(1, f"ready {await store.revision()}\n".encode())
    choose = random.Random(seed)
    await gatherResults([Deferred.fromCoroutine(write_for_ever(store, f"w{n}", choose)) for n in range(WRITERS)])


if __name__ == "__main__":
    reactor: Any = installed_reactor
    reactor.callWhenRunning(lambda: Deferred.fromCoroutine(run(reactor, *sys.argv[1:])))
    reactor.run()
