"""Connections that are kept for the next request to the same server: a handshake costs both sides milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from twisted.internet.interfaces import IDelayedCall, IHalfCloseableProtocol, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from orchtw.outbound.destination import Destination
from orchtw.outbound.dialer import Dialer
from orchtw.outbound.exchange import ClientExchange

IDLE_S: Final = 60.0
"""How long a connection is kept: less than this server, as the other side, would keep it."""

MOST_IDLE: Final = 25
"""Connections to one destination that wait at a time; more are closed after their answer."""


class Exchanges:
    """Exchanges over kept connections. One is kept only after a complete answer, with nothing behind it.

    Who shares them shares connections: everything that says who asks must be in the request.
    """

    def __init__(self, dialer: Dialer, clock: IReactorTime) -> None:
        self._dialer = dialer
        self._clock = clock
        self._idle: dict[Destination, list[_Idle]] = {}
        self._closed = False

    async def exchange(self, destination: Destination, *, fresh: bool = False) -> tuple[ClientExchange, bool]:
        """A connected exchange, and whether its connection was used before; with `fresh` it was not.

        Raises as `Dialer.exchange` does.
        """

        def make() -> ClientExchange:
            return ClientExchange(tls=destination.scheme == "https", keep=partial(self._keep, destination))

        waiting = self._idle.get(destination)
        if waiting and not fresh:
            exchange = self._dialer.counted(make)
            waiting[-1].leave(exchange)
            return exchange, True
        return await self._dialer.exchange(destination, make), False

    def close(self) -> None:
        """Close what waits, and keep nothing any more."""
        self._closed = True
        for waiting in list(self._idle.values()):
            for each in list(waiting):
                each.end()

    def _keep(self, destination: Destination, transport: Any) -> None:
        waiting = self._idle.setdefault(destination, [])
        idle = _Idle(transport, lambda: self._gone(destination, idle))
        waiting.append(idle)
        if self._closed or len(waiting) > MOST_IDLE:
            idle.end()
        else:
            idle.wait(self._clock.callLater(IDLE_S, idle.end))

    def _gone(self, destination: Destination, idle: _Idle) -> None:
        waiting = self._idle[destination]
        waiting.remove(idle)
        if not waiting:
            del self._idle[destination]


@implementer(IHalfCloseableProtocol)
class _Idle(Protocol):
    """The protocol of a connection between two exchanges: whatever happens on it ends it."""

    def __init__(self, transport: Any, gone: Callable[[], None]) -> None:
        self.transport: Any = transport
        self._gone = gone
        self._timer: IDelayedCall | None = None
        self._left = False
        _hand_over(transport, self)
        transport.resumeProducing()

    def wait(self, timer: IDelayedCall) -> None:
        """Let `timer` end the exchange."""
        if self._left:
            timer.cancel()
        else:
            self._timer = timer

    def leave(self, exchange: ClientExchange) -> None:
        """Hand the connection over to its next exchange."""
        self._leave()
        _hand_over(self.transport, exchange)
        exchange.go_on(self.transport)

    def end(self) -> None:
        """Close the connection of the exchange."""
        self._leave()
        self.transport.abortConnection()

    def _leave(self) -> None:
        if self._left:
            return
        self._left = True
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._gone()

    def dataReceived(self, _data: bytes) -> None:
        """Nobody has asked: what is to come next cannot be told from this."""
        self.end()

    def readConnectionLost(self) -> None:
        """The other side is done with it."""
        self.end()

    def writeConnectionLost(self) -> None:
        """It is closed both ways or not at all."""

    def connectionLost(self, _reason: Failure = connectionDone) -> None:
        """The other side has closed it."""
        self._leave()


def _hand_over(transport: Any, protocol: Protocol) -> None:
    """Let `protocol` speak on the transport: TLS' own protocol holds it by another name than TCP's transports."""
    name = "wrappedProtocol" if hasattr(transport, "wrappedProtocol") else "protocol"
    setattr(transport, name, protocol)
