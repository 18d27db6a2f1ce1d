"""A kept connection between two exchanges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from orchtw.outbound.exchange import ClientExchange
from orchtw.outbound.open_connections import OpenConnections


@implementer(IHalfCloseableProtocol)
class IdleConnection(Protocol):
    """Protocol of a connection between two exchanges: any event on it closes it."""

    def __init__(
        self, transport: Any, since: float, gone: Callable[[IdleConnection], None], connections: OpenConnections
    ) -> None:
        """Take over a connection. `gone` is called once, when it stops waiting; `since` is when it began to wait."""
        self.transport: Any = transport
        self.since = since
        self._gone = gone
        self._connections = connections
        self._left = False
        _hand_over(transport, self)

    def leave(self, exchange: ClientExchange) -> None:
        """Hand the connection over to its next exchange."""
        self._leave()
        _hand_over(self.transport, exchange)
        exchange.go_on(self.transport)

    def end(self) -> None:
        """Close the connection, which carries no more requests."""
        self._leave()
        self.transport.abortConnection()

    def _leave(self) -> None:
        if not self._left:
            self._left = True
            self._gone(self)

    # Twisted's

    def dataReceived(self, _data: bytes) -> None:
        """Close the connection: data without a request makes the next response ambiguous."""
        self.end()

    def readConnectionLost(self) -> None:
        """Close the connection: the other side has closed its half."""
        self.end()

    def writeConnectionLost(self) -> None:
        """Ignore the event: the connection is closed both ways or not at all."""

    def connectionLost(self, _reason: Failure = connectionDone) -> None:
        """Take note that the connection is closed."""
        self._connections.closed(self.transport)
        self._leave()


def _hand_over(transport: Any, protocol: Protocol) -> None:
    """Let `protocol` use the transport: TLS' own protocol has another attribute for it than TCP's transports."""
    name = "wrappedProtocol" if hasattr(transport, "wrappedProtocol") else "protocol"
    setattr(transport, name, protocol)
