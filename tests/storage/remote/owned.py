"""A store with its owner and workers in this process, joined by sockets."""

from __future__ import annotations

import socket

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IProtocol
from twisted.internet.task import Clock

from orchtw.storage.remote.client import RemoteStore
from orchtw.storage.remote.hub import Hub
from orchtw.storage.remote.server import StoreServer
from orchtw.storage.remote.stream import adopt
from orchtw.storage.sqlite.store import SqliteStore
from orchtw.storage.store import Store
from tests.storage.store_files import reactor


class Owned:
    """A hub over a SQLite store at `path`, and as many workers as have joined."""

    def __init__(self, path: str) -> None:
        self.clock = Clock()
        self.hub = Hub(SqliteStore(path, reactor=reactor, clock=Clock(), compaction_interval_s=0), self.clock)
        self.servers: list[StoreServer] = []
        self.lost: list[str] = []
        self.fenced: list[int] = []
        self._started = False

    async def start(self) -> None:
        """Start the owner's store, once."""
        if not self._started:
            self._started = True
            await self.hub.start()

    def worker(self) -> RemoteStore:
        """One more worker, yet to be started."""
        here, there = socket.socketpair()
        number = len(self.servers) + 1
        server = StoreServer(self.hub, number, lambda: self._fence(number))
        self.servers.append(server)

        def connect(protocol: IProtocol) -> None:
            adopt(reactor, there, protocol)
            adopt(reactor, here, server.link)
            server.begin()

        return RemoteStore(connect, self.lost.append, lambda work: reactor.callLater(0, work))

    def _fence(self, number: int) -> Deferred[None]:
        self.fenced.append(number)
        return succeed(None)


def worker_with_company(owned: Owned) -> Store:
    """A worker's store that starts its owner and a second worker, both of which end with it."""
    other, store = owned.worker(), owned.worker()
    start, stop = store.start, store.stop

    async def start_all() -> None:
        await owned.start()
        for each, begin in ((other, other.start), (store, start)):
            await begin()
            await each.ready()

    async def stop_all() -> None:
        await stop()
        await other.stop()
        await owned.hub.stop()

    store.start, store.stop = start_all, stop_all  # type: ignore[method-assign]
    return store
