"""Probes a store, forks as `twistd` does, and uses it in the child: `python -m tests.storage.sqlite.fork_child FILE`.

Prints what the folder holds once the child has stopped its store.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from twisted.internet.task import react

from orchtw.errors import ConfigError
from orchtw.storage.sqlite.store import SqliteStore
from orchtw.storage.store import Op


async def use(reactor: Any, store: SqliteStore, path: str) -> None:
    """Start, write, be the only one, stop."""
    await store.start()
    await store.commit(Op("/a", b"v"))
    await store.get("/a")
    try:
        SqliteStore(path, reactor=reactor, clock=reactor).probe()
    except ConfigError:
        os.write(1, b"taken ")
    await store.stop()
    os.write(1, " ".join(os.listdir(os.path.dirname(path))).encode())


def main(path: str) -> None:
    """Let the child end by itself; wait for it."""
    from twisted.internet import reactor

    store = SqliteStore(path, reactor=reactor, clock=reactor)
    store.probe()
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    react(use, (store, path))


if __name__ == "__main__":
    main(sys.argv[1])
