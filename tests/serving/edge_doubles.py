"""Doubles for the edge's tests: a transport that can block, a recorded stream, and an edge on a Clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from twisted.internet.defer import CancelledError, Deferred, maybeDeferred
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from orchtw.request import Peer, Request, Response
from orchtw.serving.edge import App, Decline, Edge, Screen
from orchtw.serving.http1 import HTTPChannel
from orchtw.serving.limits import EdgeLimits

WALL_S = 784111777.0
DATE = b"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
PEER = Peer(address="192.0.2.1", port=1234)
KNOWN_PEER = msgspec.structs.replace(PEER, verified=True)


class FakeTransport(StringTransport):
    """A StringTransport with what `TLSServer` has beside: while `blocked`, all that is written stays unsent."""

    blocked = False
    unsent = 0
    progress = 0
    seen_peer = PEER
    patient = False

    def be_patient(self) -> None:
        self.patient = True

    def peer(self) -> Peer:
        return self.seen_peer

    def write(self, data: bytes | memoryview) -> None:
        super().write(bytes(data))
        if self.blocked:
            self.unsent += len(data)
            if self.unsent > 65536 and self.producer is not None and self.streaming:
                self.producer.pauseProducing()

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        super().registerProducer(producer, streaming)
        if not streaming and not self.unsent:
            producer.resumeProducing()

    def unregisterProducer(self) -> None:
        self.producer = None

    @property
    def waiting(self) -> bool:
        return self.unsent > 0 or (self.producer is not None and not self.streaming)

    def drain(self) -> None:
        """The peer reads all that waits; a producer is asked once for more."""
        self.unsent = 0
        self.progress += 1
        if self.producer is not None:
            self.producer.resumeProducing()

    def taken(self) -> bytes:
        """Return the data written since the last call."""
        data: bytes = self.value()
        self.clear()
        return data


class RecordedStream:
    """A StreamBody that keeps its channel and counts what it is told."""

    def __init__(self) -> None:
        self.channel: Any = None
        self.lost = 0
        self.paused = 0

    def start(self, channel: Any) -> None:
        self.channel = channel

    def connection_lost(self) -> None:
        self.lost += 1

    def pauseProducing(self) -> None:
        self.paused += 1

    def resumeProducing(self) -> None:
        self.paused = 0

    def stopProducing(self) -> None: ...


class Echo:
    """The default app: it responds with the target of each request and remembers the request."""

    def __init__(self) -> None:
        self.seen: list[Request] = []

    async def __call__(self, request: Request) -> Response:
        self.seen.append(request)
        return Response(body=request.path.encode())


class Wire:
    """One open connection to `app`: feed bytes, take bytes. One `beside` another shares its clock and edge."""

    def __init__(
        self,
        app: App | None = None,
        limits: EdgeLimits | None = None,
        run_in_thread: Callable[..., Deferred[bytes]] = maybeDeferred,
        *,
        screen: Screen | None = None,
        decline: Decline | None = None,
        known: bool = False,
        beside: Wire | None = None,
    ) -> None:
        self.echo = Echo()
        self.seen = self.echo.seen
        self.clock: Clock = Clock() if beside is None else beside.clock
        self.edge: Edge = beside.edge if beside else Edge(
            app or self.echo,
            clock=self.clock,
            run_in_thread=run_in_thread,
            limits=limits,
            screen=screen,
            decline=decline,
            wall=lambda: WALL_S,
        )
        self.channel = HTTPChannel(self.edge)
        self.transport = FakeTransport()
        if known:
            self.transport.seen_peer = KNOWN_PEER
        self.channel.makeConnection(self.transport)
        self.channel.handshakeCompleted()

    def send(self, data: bytes) -> bytes:
        """Deliver `data`; returns what the server wrote on it."""
        self.channel.dataReceived(data)
        return self.transport.taken()

    def pass_time(self, seconds: int) -> None:
        """Advance the clock in ticks."""
        for _ in range(seconds):
            self.clock.advance(1.0)
            self.edge.tick()

    @property
    def closed(self) -> bool:
        return bool(self.transport.disconnecting or self.transport.disconnected)


def answering(*responses: Response) -> Any:
    """An app that gives one response after the other."""
    left = list(responses)

    async def app(_request: Request) -> Response:
        return left.pop(0)

    return app


class Waiting:
    """An app whose every request waits for a Deferred of its own."""

    def __init__(self) -> None:
        self.waits: list[Deferred[Response]] = []
        self.ended: list[str] = []

    async def __call__(self, request: Request) -> Response:
        wait: Deferred[Response] = Deferred()
        self.waits.append(wait)
        try:
            return await wait
        except CancelledError:
            self.ended.append("cancelled")
            raise
        finally:
            self.ended.append(request.path)


def lose(wire: Wire) -> None:
    """Close the connection as the client."""
    wire.channel.connectionLost(Failure(ConnectionDone()))


def ok(body: bytes, extra: bytes = b"") -> bytes:
    """The bytes of a 200 without content type."""
    return b"HTTP/1.1 200 OK\r\n" + DATE + extra + b"Content-Length: %d\r\n\r\n" % len(body) + body


GET = b"GET /one HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST /two HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
CLOSE = b"Connection: close\r\n"
