"""Relay of a client's connection to a backend's after a 101: bytes pass both ways unchanged (reference PROXY-17)."""

from __future__ import annotations

from typing import Any, Final

from twisted.internet.interfaces import IHalfCloseableProtocol, IPushProducer
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from orchtw.outbound.exchange import CallOutcome, ClientExchange
from orchtw.request import Ending, Response
from orchtw.serving.answers import ending_of
from orchtw.serving.edge import Edge

HALF_CLOSED_S: Final = 60.0
"""Seconds of silence allowed to the backend once the client has ended its side."""


class Upgraded:
    """Stream of a response whose connection is handed over; it never starts, and notices if the 101 is not sent."""

    def __init__(self, exchange: ClientExchange) -> None:
        self._exchange = exchange

    def start(self, _channel: Any) -> None:
        """Abort: our listeners never call this; elsewhere there are no upgrades."""
        self._exchange.abort()

    def connection_lost(self) -> None:
        """Abort the exchange: the client has gone before its 101."""
        self._exchange.abort()


def join(exchange: ClientExchange, transport: Any, received: bytes, response: Response, edge: Edge) -> None:
    """Let client and backend talk on a connection whose 101 has been written: see `Upgrade`."""
    Relay(exchange, response, edge).take_over(transport, received)


@implementer(IHalfCloseableProtocol)
class Relay(Protocol):
    """Protocol of the client's side, and the `BodySink` of the backend's bytes.

    Each side is read only while the other one accepts its bytes, so at most a transport's buffer waits in either
    direction. A side that ends is ended at the other: the client's end leaves the backend HALF_CLOSED_S of silence to
    finish, the backend's end closes the client when everything is sent. Neither has to send within any time: it may
    be a shell at which a person sits. The system detects peers that are gone.
    """

    transport: Any
    _left = _ended = False
    _progress = -1

    def __init__(self, exchange: ClientExchange, response: Response, edge: Edge) -> None:
        self._exchange = exchange
        self._response = response
        self._edge = edge
        self._since = edge.now

    def take_over(self, transport: Any, received: bytes) -> None:
        """Become the transport's protocol; `received` came behind the request."""
        transport.protocol = self
        self.transport = transport
        self._edge.channels.add(self)
        self._edge.in_flight += 1
        self._edge.stream_begun()
        transport.be_patient()
        self._exchange.transport.registerProducer(_Reading(transport), True)
        transport.registerProducer(_Sending(self._exchange), True)
        if received:
            self.dataReceived(received)
        self._exchange.read_into(self)

    # The client

    def dataReceived(self, data: bytes) -> None:
        """Pass bytes to the backend."""
        self._exchange.write(data)

    def readConnectionLost(self) -> None:
        """End the backend's input: the client sends no more."""
        if self._ended:
            return
        self._ended = True
        self._since = self._edge.now
        self._exchange.transport.unregisterProducer()
        self._exchange.end_writing()

    def writeConnectionLost(self) -> None:
        """Do nothing: our transport closes both sides at once."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Leave: the client is gone."""
        self._edge.channels.discard(self)
        self._leave(Ending.COMPLETE if self._ended else ending_of(reason))

    # The backend

    def received(self, data: bytes) -> None:
        """Pass bytes to the client."""
        self._since = self._edge.now
        self.transport.write(data)

    def ended(self, _outcome: CallOutcome) -> None:
        """End the client's side after the last bytes: the backend is done, or gone."""
        self._leave(Ending.COMPLETE)

    # Time and shutdown

    def expire(self, now: float) -> None:
        """Give up a backend that does not finish after its client, and a client that does not take the rest."""
        if self._left:
            if self.transport.progress != self._progress:
                self._progress, self._since = self.transport.progress, now
            elif now - self._since > self._edge.limits.write_stall_s:
                self.transport.abortConnection()
        elif self._ended and now - self._since > HALF_CLOSED_S:
            self._leave(Ending.COMPLETE)

    def distrust(self) -> None:
        """Ignore: a relay that has begun goes on."""

    def take_no_more(self) -> None:
        """Ignore: a relay that has begun goes on."""

    def wind_down(self) -> None:
        """Close both sides: the server stops."""
        self._leave(Ending.ABORTED)

    def _leave(self, ending: Ending) -> None:
        if self._left:
            return
        self._left = True
        self._exchange.abort()
        self.transport.unregisterProducer()
        self.transport.loseConnection()
        self._response.end(ending)
        self._edge.stream_finished()


@implementer(IPushProducer)
class _Reading:
    """Producer that reads the client while the backend accepts its bytes."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport

    def pauseProducing(self) -> None:
        """Pause the client: the backend has enough."""
        self._transport.pauseProducing()

    def resumeProducing(self) -> None:
        """Resume the client: the backend has room."""
        self._transport.resumeProducing()

    def stopProducing(self) -> None:
        """Do nothing: the backend is gone, and its protocol is notified too."""


@implementer(IPushProducer)
class _Sending:
    """Producer that reads the backend while the client accepts its bytes."""

    def __init__(self, exchange: ClientExchange) -> None:
        self._exchange = exchange

    def pauseProducing(self) -> None:
        """Pause the backend: the client has enough."""
        self._exchange.pause()

    def resumeProducing(self) -> None:
        """Resume the backend: the client has room."""
        self._exchange.resume()

    def stopProducing(self) -> None:
        """Do nothing: the client is gone, and its protocol is notified too."""
