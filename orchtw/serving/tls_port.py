"""Listening socket that accepts TLS connections up to a limit and knows the open ones."""

# mypy: allow-untyped-calls
# Twisted's Port, which this extends, is not annotated.

from __future__ import annotations

import socket
from typing import Any

from twisted.internet import tcp
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IProtocolFactory

from orchtw.serving.tls import TLSServer
from orchtw.serving.tls_context import ServingTLS


class TLSPort(tcp.Port):
    """Port of `TLSServer` connections; `transports` are the open ones.

    At `max_connections` it accepts no more until one closes: the rest wait in the system's queue. The protocols that
    `factory` builds have the methods `handshakeCompleted` and `readConnectionLost`. A peer that acknowledges nothing
    of what is sent to it for `stall_s` seconds is dropped. `failed_handshakes` counts those that TLS has refused.
    """

    transport = TLSServer
    _type = "TLS"

    def __init__(
        self,
        factory: IProtocolFactory,
        tls: ServingTLS,
        bound: socket.socket,
        *,
        max_connections: int,
        stall_s: float,
        reactor: Any,
    ) -> None:
        self.tls = tls
        self.stall_s = stall_s
        self.transports: set[TLSServer] = set()
        self.failed_handshakes = 0
        self._max_connections = max_connections
        self._full = False
        self._idle: list[Deferred[None]] = []
        interface, port = bound.getsockname()[:2]
        super().__init__(port, factory, 0, interface, reactor)
        self._preexistingSocket = bound

    def _getLogPrefix(self, _factory: object) -> str:
        # That the socket is listened on is no more than that: the server says itself when it is ready.
        return "HTTPS listener"

    def doRead(self) -> None:
        """Accept what has come, within the limit."""
        room = self._max_connections - len(self.transports)
        if room > 0:
            self.numberAccepts = min(self.numberAccepts, room)
            super().doRead()
        elif not self._full:
            self._full = True
            self.stopReading()

    def forget(self, transport: TLSServer) -> None:
        """Forget a closed connection."""
        self.transports.discard(transport)
        if self._full and self.connected and not self.disconnecting:
            self._full = False
            self.startReading()
        if not self.transports:
            waiting, self._idle = self._idle, []
            for deferred in waiting:
                deferred.callback(None)

    def idle(self) -> Deferred[None]:
        """Return a Deferred that fires when no connection is open."""
        if not self.transports:
            return succeed(None)
        deferred: Deferred[None] = Deferred(self._idle.remove)
        self._idle.append(deferred)
        return deferred

    def abort(self) -> None:
        """Drop every connection at once."""
        for transport in list(self.transports):
            transport.abortConnection()
