"""Base of the listener tests: a port with TLS, and clients of it."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from orchtw.request import Peer, Request, Response
from orchtw.serving.limits import EdgeLimits
from orchtw.serving.listener import Listener, bind
from orchtw.serving.tls_context import ServingTLS, TLSOptions
from tests.serving.authorities import (
    PATIENCE_S,
    Identity,
    client_context,
    connect,
    read_to_end,
)
from tests.serving.edge_doubles import RecordedStream

T = TypeVar("T")

GET = b"GET /%b HTTP/1.1\r\nHost: a\r\n\r\n"
LAST = b"GET /%b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
PIECES = [bytes([i % 251]) * 5000 for i in range(1600)]


class LastingStream(RecordedStream):
    """A stream whose start and loss are Deferreds."""

    def __init__(self) -> None:
        super().__init__()
        self.started: Deferred[None] = Deferred()
        self.gone: Deferred[None] = Deferred()

    def start(self, channel: Any) -> None:
        super().start(channel)
        self.started.callback(None)

    def connection_lost(self) -> None:
        super().connection_lost()
        self.gone.callback(None)


def end_tls(client: ssl.SSLSocket) -> None:
    """Send TLS' end and wait for the server's, behind whatever it still writes."""
    try:
        client.unwrap()
    except ssl.SSLError as problem:
        assert "APPLICATION_DATA_AFTER_CLOSE_NOTIFY" in str(problem), problem


def talk_and_end(port: int, context: ssl.SSLContext, data: bytes) -> bytes:
    """Send `data` and TLS' end, but not TCP's; read to the server's end. Python's own sockets cannot do that."""
    incoming, outgoing, received = ssl.MemoryBIO(), ssl.MemoryBIO(), b""
    tls = context.wrap_bio(incoming, outgoing)
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as client:

        def until_done(step: Callable[[], T]) -> T:
            while True:
                try:
                    return step()
                except ssl.SSLWantReadError:
                    client.sendall(outgoing.read())
                    piece = client.recv(65536)
                    incoming.write(piece) if piece else incoming.write_eof()

        until_done(tls.do_handshake)
        tls.write(data)
        client.sendall(outgoing.read())
        try:
            tls.unwrap()
        except ssl.SSLWantReadError:
            client.sendall(outgoing.read())
        try:
            while True:
                received += until_done(lambda: tls.read(65536))
        except ssl.SSLZeroReturnError:
            return received


def end_tcp(client: ssl.SSLSocket) -> None:
    """End the sending side of the connection under TLS, which goes on reading."""
    with socket.socket(fileno=os.dup(client.fileno())) as plain:
        plain.shutdown(socket.SHUT_WR)


class ListenerTestCase(TestCase):
    """A listener on a free loopback port, with one trusted client CA."""

    limits = EdgeLimits()

    def setUp(self) -> None:
        self.ca = Identity("ca", is_ca=True)
        self.server = Identity("server", self.ca)
        self.tls = ServingTLS(self.options(self.server))
        self.stream = LastingStream()
        self.peers: list[Peer] = []
        self.listener = Listener(
            self.app, self.tls, bind("127.0.0.1", 0), reactor=reactor, limits=self.limits, grace_s=5.0
        )
        self.listener.startService()
        self.addCleanup(self.listener.stopService)

    def options(self, server: Identity, **more: Any) -> TLSOptions:
        return TLSOptions(
            certificates=(server.certificate,), key=server.key, client_cas=(self.ca.certificate,), **more
        )

    async def app(self, request: Request) -> Response:
        self.peers.append(request.peer)
        if request.path == "/stream":
            return Response(stream=self.stream)
        if request.path == "/pieces":
            return Response(body=PIECES)
        return Response(body=request.path.encode() + request.body)

    def context(self, pem: bytes = b"", alpn: list[str] | None = None) -> ssl.SSLContext:
        return client_context(self.mktemp, pem, alpn)

    async def away(self, work: Callable[[], T]) -> T:
        """Run blocking client code beside the reactor."""
        return await deferToThread(work)

    async def exchange(self, data: bytes, context: ssl.SSLContext | None = None) -> bytes:
        """Everything that one connection gives for `data`, whose last request closes."""
        used = context or self.context()

        def talk() -> bytes:
            with connect(self.listener.port, used) as client:
                client.sendall(data)
                return read_to_end(client)

        return await self.away(talk)
