"""A way to a member that a test can close and open."""

from __future__ import annotations

from typing import Any

import msgspec
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.error import ConnectionDone
from twisted.protocols.portforward import ProxyFactory, ProxyServer

from orchtw.outbound.destination import Destination


class Gate:
    """Listens on a port of its own, always the same, and passes all on to a member while it is open."""

    def __init__(self, reactor: Any, behind: Destination) -> None:
        self._reactor = reactor
        self._behind = behind
        self._factory = _Factory(behind.host, behind.port)
        self._port: Any = None
        self._number = 0

    def open(self) -> Destination:
        """Let connections through; where."""
        self._port = self._reactor.listenTCP(self._number, self._factory, interface="127.0.0.1")
        self._number = self._port.getHost().port
        return msgspec.structs.replace(self._behind, host="127.0.0.1", port=self._number)

    async def close(self) -> None:
        """Cut the connections, and refuse new ones."""
        port, self._port = self._port, None
        if port is not None:
            await maybeDeferred(port.stopListening)
        for side in list(self._factory.open):
            side.transport.abortConnection()
        while self._factory.open:
            waiting: Deferred[None] = Deferred()
            self._reactor.callLater(0.01, waiting.callback, None)
            await waiting


class _Side(ProxyServer):
    """The store's side of a connection; the member's side ends with it."""

    factory: Any
    transport: Any

    def connectionMade(self) -> None:
        self.factory.open.add(self)
        super().connectionMade()

    def connectionLost(self, reason: Any = ConnectionDone) -> None:
        self.factory.open.discard(self)
        super().connectionLost(reason)


class _Factory(ProxyFactory):
    protocol = _Side
    noisy = False

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self.open: set[_Side] = set()
