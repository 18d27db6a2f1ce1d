from __future__ import annotations

import gzip
import os
import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from cryptography import x509
from cryptography.x509.oid import NameOID
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import SynchronousTestCase, TestCase

from orchtw.errors import ConfigError
from orchtw.request import Peer, Request, Response, chunk
from orchtw.serving import tls
from orchtw.serving.limits import EdgeLimits
from orchtw.serving.listener import Listener, bind
from orchtw.serving.response_bodies import unframed
from orchtw.serving.tls_context import ServingTLS, TLSOptions
from tests.serving.authorities import (
    CLIENT,
    PATIENCE_S,
    SERVER,
    Identity,
    client_context,
    connect,
    read_to_end,
    reset,
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


class ClientCertificateTests(ListenerTestCase):
    async def peer_of(self, pem: bytes) -> Peer:
        answer = await self.exchange(LAST % b"x", self.context(pem))
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 OK\r\n"))
        return self.peers[-1]

    async def test_none(self) -> None:
        """A client without a certificate is served; there is none to see (reference DESIGN-13)."""
        peer = await self.peer_of(b"")
        self.assertEqual((peer.address, peer.certificate, peer.verified), ("127.0.0.1", None, False))

    async def test_trusted(self) -> None:
        """A certificate of the configured CA is verified and its subject readable (reference AUTHN-12)."""
        peer = await self.peer_of(Identity("alice", self.ca, usage=CLIENT).pem())
        assert peer.certificate is not None
        (name,) = peer.certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        self.assertEqual((name.value, peer.verified), ("alice", True))

    async def test_not_trusted(self) -> None:
        """Certificates of a stranger, out of date or for another purpose are seen, never verified
        (reference AUTHN-14).
        """
        stranger = Identity("ca", is_ca=True)
        cases = {
            "stranger": Identity("alice", stranger),
            "self-signed": Identity("alice"),
            "expired": Identity("alice", self.ca, expired=True),
            "server's purpose": Identity("alice", self.ca, usage=SERVER),
            "issued by a leaf": Identity("alice", Identity("bob", self.ca)),
        }
        for name, identity in cases.items():
            peer = await self.peer_of(identity.pem())
            self.assertEqual((peer.certificate, peer.verified), (identity.certificate, False), name)

    async def test_intermediate(self) -> None:
        """A chain that the client completes is verified; without its intermediate it is not."""
        middle = Identity("middle", self.ca, is_ca=True)
        leaf = Identity("alice", middle, usage=CLIENT)
        self.assertTrue((await self.peer_of(leaf.pem(middle))).verified)
        self.assertFalse((await self.peer_of(leaf.pem())).verified)

    async def test_shared(self) -> None:
        """Connections with the same certificate share one parsed object, which is what an idle watch can afford."""
        pem = Identity("alice", self.ca).pem()
        first, second = await self.peer_of(pem), await self.peer_of(pem)
        self.assertIs(first.certificate, second.certificate)

    async def test_resumption(self) -> None:
        """Who resumes a session is who began it, verified as then (reference AUTHN-15)."""
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = self.context(Identity("alice", self.ca).pem())
            context.maximum_version = version

            def twice(context: ssl.SSLContext = context) -> bool | None:
                with connect(self.listener.port, context) as client:
                    client.sendall(LAST % b"x")
                    read_to_end(client)
                    session = client.session
                plain = socket.create_connection(("127.0.0.1", self.listener.port), timeout=PATIENCE_S)
                with context.wrap_socket(plain, session=session) as client:
                    client.sendall(LAST % b"x")
                    read_to_end(client)
                    return client.session_reused

            self.assertTrue(await self.away(twice))
            first, second = self.peers[-2:]
            self.assertEqual((first.verified, second.verified), (True, True))
            self.assertIs(first.certificate, second.certificate)

    async def test_distrust_in_handshake(self) -> None:
        """Who shakes hands meanwhile, under the old authorities, has to come again (AUTHN-55)."""
        with socket.create_connection(("127.0.0.1", self.listener.port), timeout=PATIENCE_S) as client:
            while not self.listener.edge.channels:
                await deferLater(reactor, 0.01)
            self.listener.edge.distrust()
            try:
                received = await self.away(partial(client.recv, 1))
            except ConnectionResetError:
                received = b""
            self.assertEqual(received, b"")

    async def test_distrust(self) -> None:
        """Connections of clients that were verified end when an authority is gone; others stay (AUTHN-55)."""
        first = b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n"
        clients = []
        for pem in (Identity("alice", self.ca).pem(), b""):
            client = await self.away(partial(connect, self.listener.port, self.context(pem)))
            client.sendall(first)
            self.assertTrue((await self.away(partial(client.recv, 4096))).endswith(b"/x"))
            clients.append(client)
        self.listener.edge.distrust()
        self.assertEqual(await self.away(partial(read_to_end, clients[0])), b"")
        clients[1].sendall(LAST % b"y")
        self.assertTrue((await self.away(partial(read_to_end, clients[1]))).endswith(b"/y"))
        for client in clients:
            client.close()


class TLSTests(ListenerTestCase):
    async def test_versions(self) -> None:
        """TLS 1.2 and 1.3 are spoken, 1.1 is refused (reference REQ-25)."""
        for version, expected in (("TLSv1_1", False), ("TLSv1_2", True), ("TLSv1_3", True)):
            context = self.context()
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion[version]
            try:
                answer = await self.exchange(LAST % b"x", context)
            except ssl.SSLError:
                answer = b""
            self.assertEqual(answer.endswith(b"/x"), expected, version)

    async def test_minimum(self) -> None:
        """`VersionTLS13` refuses TLS 1.2."""
        self.tls.reload(self.options(self.server, min_version="VersionTLS13"))
        context = self.context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with self.assertRaises(ssl.SSLError):
            await self.exchange(LAST % b"x", context)

    async def test_cipher_suites(self) -> None:
        """Of TLS 1.2 only the chosen suites are spoken."""
        suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
        self.tls.reload(self.options(self.server, cipher_suites=(suite,)))
        context = self.context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        client = await self.away(lambda: connect(self.listener.port, context))
        cipher = client.cipher()
        client.close()
        self.assertEqual(cipher and cipher[0], "ECDHE-ECDSA-AES256-GCM-SHA384")

    async def test_alpn(self) -> None:
        """http/1.1 is the only protocol; who offers only others goes on without (reference DESIGN-11)."""
        for offered, expected in ((["h2", "http/1.1"], "http/1.1"), (["h2"], None)):
            context = self.context(alpn=offered)
            client = await self.away(lambda context=context: connect(self.listener.port, context))  # type: ignore[misc]
            chosen = client.selected_alpn_protocol()
            client.close()
            self.assertEqual(chosen, expected)

    async def test_garbage(self) -> None:
        """What is neither TLS nor HTTP is dropped without a line in the log."""

        def talk() -> bytes:
            with socket.create_connection(("127.0.0.1", self.listener.port), timeout=PATIENCE_S) as client:
                client.sendall(b"\x00garbage" * 10)
                try:
                    while client.recv(1000):
                        pass
                except ConnectionResetError:
                    return b"reset"
                return b"closed"

        self.assertIn(await self.away(talk), (b"reset", b"closed"))

    async def test_reload(self) -> None:
        """After a reload new connections see the new certificate, old ones live on; a bad reload changes nothing."""
        other = Identity("other", self.ca)
        context = self.context()
        old = await self.away(lambda: connect(self.listener.port, context))
        self.tls.reload(self.options(other))
        with self.assertRaises(ConfigError):
            self.tls.reload(TLSOptions(certificates=(other.certificate,), key=self.server.key))
        new = await self.away(lambda: connect(self.listener.port, context))
        shown = [x509.load_der_x509_certificate(client.getpeercert(True) or b"") for client in (old, new)]
        new.close()
        self.assertEqual(shown, [self.server.certificate, other.certificate])

        def finish() -> bytes:
            with old:
                old.sendall(LAST % b"old")
                return read_to_end(old)

        self.assertTrue((await self.away(finish)).endswith(b"/old"))


class TransferTests(ListenerTestCase):
    async def test_keep_alive_and_pipelining(self) -> None:
        """Many requests on one connection are answered in order, and the connection closes in order."""
        answer = await self.exchange(b"".join(GET % b"%d" % i for i in range(500)) + LAST % b"end")
        self.assertEqual(
            [part[-4:].strip(b"\n") for part in answer.split(b"HTTP/1.1 200 OK")][1:3], [b"\r\n/0", b"\r\n/1"]
        )
        self.assertEqual(answer.count(b"HTTP/1.1 200 OK"), 501)
        self.assertTrue(answer.endswith(b"/end"))

    async def test_largest_upload(self) -> None:
        """A body of 3 MiB arrives whole (reference LIMIT-1)."""
        body = bytes(range(256)) * (3 * 4096)
        head = b"POST /up HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
        self.assertTrue((await self.exchange(head + body)).endswith(b"/up" + body))

    async def test_refused_upload(self) -> None:
        """A client that goes on sending too large a body still gets to read its 413."""
        data = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n"

        def talk() -> bytes:
            with connect(self.listener.port, context) as client:
                client.sendall(data)
                client.sendall(b"x" * 1000000)
                return read_to_end(client)

        context = self.context()
        self.assertTrue((await self.away(talk)).startswith(b"HTTP/1.1 413 "))

    async def test_large_download(self) -> None:
        """A long body arrives whole."""
        answer = await self.exchange(LAST % b"pieces")
        self.assertEqual(answer.partition(b"\r\n\r\n")[2], b"".join(PIECES))

    async def test_compressed_download(self) -> None:
        """A long body goes out as gzip to who accepts it, compressed in the reactor's threads."""
        answer = await self.exchange((LAST % b"pieces")[:-2] + b"Accept-Encoding: gzip\r\n\r\n")
        head, _, body = answer.partition(b"\r\n\r\n")
        self.assertIn(b"Content-Encoding: gzip\r\n", head)
        self.assertEqual(gzip.decompress(unframed(body)), b"".join(PIECES))

    async def test_slow_reader(self) -> None:
        """A client that does not read its list holds less than half a MiB here, delays nobody and gets all of it."""
        context = self.context()
        slow = await self.away(lambda: connect(self.listener.port, context, receive_bytes=4096))
        slow.sendall(LAST % b"pieces")
        for _ in range(20):
            await self.exchange(LAST % b"other")
        (held,) = (one for one in self.listener._listening.transports if one.waiting)
        self.assertLess(held.unsent, 524288)

        def finish() -> bytes:
            with slow:
                return read_to_end(slow)

        self.assertTrue((await self.away(finish)).endswith(b"".join(PIECES)))

    async def test_paused_stream(self) -> None:
        """A stream is paused while its client does not read, resumed when it does, and loses nothing."""
        context = self.context()
        slow = await self.away(lambda: connect(self.listener.port, context))
        slow.sendall(LAST % b"stream")
        await self.stream.started
        stream, resumed = self.stream, Deferred[None]()
        frames: list[bytes] = []
        stream.resumeProducing = lambda: resumed.callback(None)  # type: ignore[method-assign]
        stream.channel.registerProducer(stream, True)
        while not stream.paused:
            frames.append(b"%d " % len(frames) * 1000)
            stream.channel.write(chunk(frames[-1]))
        reading = deferToThread(lambda: read_to_end(slow))
        await resumed
        stream.channel.finish()
        answer = await reading
        slow.close()
        self.assertEqual(answer.partition(b"\r\n\r\n")[2], b"".join(map(chunk, frames)) + b"0\r\n\r\n")

    async def test_half_closed(self) -> None:
        """A client that has ended its side of the connection gets a long answer whole (reference LIMIT-13)."""

        def talk() -> bytes:
            with connect(self.listener.port, context) as client:
                client.sendall(GET % b"pieces" + GET % b"last")
                end_tcp(client)
                return read_to_end(client)

        context = self.context()
        answer = await self.away(talk)
        self.assertIn(b"".join(PIECES), answer)
        self.assertTrue(answer.endswith(b"/last"))

    async def test_half_closed_by_tls(self) -> None:
        """The end of TLS without that of TCP is one too; the server then closes, and does not spin."""
        context = self.context()
        answer = await self.away(lambda: talk_and_end(self.listener.port, context, GET % b"pieces"))
        self.assertTrue(answer.endswith(b"".join(PIECES)))

    async def test_stream_client_leaves(self) -> None:
        """A stream hears of a client that closes, half-closes or vanishes, without having to write."""

        def half_close(client: ssl.SSLSocket) -> None:
            client.shutdown(socket.SHUT_WR)

        for leave in (end_tls, ssl.SSLSocket.close, half_close, reset):
            self.stream = LastingStream()
            context = self.context()
            client = await self.away(lambda context=context: connect(self.listener.port, context))  # type: ignore[misc]
            client.sendall(GET % b"stream")
            await self.away(lambda client=client: client.recv(1000))  # type: ignore[misc]
            await self.away(lambda leave=leave, client=client: leave(client))  # type: ignore[misc]
            await self.stream.gone
            client.close()
        self.assertEqual(self.listener.edge.in_flight, 0)


class ClosingTests(ListenerTestCase):
    """Connections that the server ends do not stay for the time that a client may take, which never passes here."""

    limits = EdgeLimits(handshake_s=3600)

    def setUp(self) -> None:
        self.patch(tls, "LINGER_S", 3600.0)
        super().setUp()

    async def gone(self) -> None:
        """Return once the server has no connection."""
        while self.listener._listening.transports:
            await deferLater(reactor, 0)

    async def test_client_closes_too(self) -> None:
        """A connection that both sides have closed is over at once."""
        await self.exchange(LAST % b"x")
        await self.gone()

    async def test_plain_http(self) -> None:
        """Plain HTTP is told, in plain HTTP, that this is an HTTPS server, and the connection ends."""

        def talk() -> bytes:
            with socket.create_connection(("127.0.0.1", self.listener.port), timeout=PATIENCE_S) as client:
                client.sendall(GET % b"x" * 1000)
                return b"".join(iter(lambda: client.recv(1000), b""))

        self.assertIn(b"Client sent an HTTP request to an HTTPS server.", await self.away(talk))
        await self.gone()

    async def test_end_before_the_handshake(self) -> None:
        """A client that ends its side amid the handshake is not waited for."""

        def talk() -> bytes:
            with socket.create_connection(("127.0.0.1", self.listener.port), timeout=PATIENCE_S) as client:
                client.sendall(b"\x16\x03\x01")
                client.shutdown(socket.SHUT_WR)
                return client.recv(1000)

        self.assertEqual(await self.away(talk), b"")
        await self.gone()


class ConnectionLimitTests(ListenerTestCase):
    limits = EdgeLimits(max_connections=2)

    async def test_limit(self) -> None:
        """Connections over the limit wait, and are served when one closes."""
        context = self.context()
        open_ones = [await self.away(lambda: connect(self.listener.port, context)) for _ in range(2)]
        third = deferToThread(lambda: connect(self.listener.port, context))
        waiting = socket.create_connection(("127.0.0.1", self.listener.port), timeout=PATIENCE_S)
        self.assertEqual(len(self.listener._listening.transports), 2)
        for client in open_ones:
            await self.away(client.close)
        (await third).close()
        waiting.close()


class StopTests(ListenerTestCase):
    async def test_stop(self) -> None:
        """Stopping ends idle connections and streams in order, and then nothing listens."""
        context = self.context()
        idle = await self.away(lambda: connect(self.listener.port, context))
        watching = await self.away(lambda: connect(self.listener.port, context))
        watching.sendall(GET % b"stream")
        await self.stream.started
        readings = [deferToThread(read_to_end, client) for client in (idle, watching)]
        await self.listener.stopService()
        self.assertEqual(await readings[0], b"")
        self.assertTrue((await readings[1]).endswith(b"\r\n\r\n0\r\n\r\n"))
        self.assertEqual(self.stream.lost, 1)
        idle.close()
        watching.close()
        with self.assertRaises(ConnectionRefusedError):
            await self.away(lambda: connect(self.listener.port, context))


class BindTests(SynchronousTestCase):
    def test_busy_port(self) -> None:
        """A port in use is a ConfigError of one line that names it (reference DESIGN-21)."""
        with bind("127.0.0.1", 0) as first:
            port = first.getsockname()[1]
            problem = self.assertRaises(ConfigError, bind, "127.0.0.1", port)
        self.assertEqual(str(problem), f"cannot listen on 127.0.0.1 port {port}: Address already in use")

    def test_foreign_address(self) -> None:
        """An address that is not this machine's is a ConfigError."""
        self.assertRaises(ConfigError, bind, "192.0.2.1", 0)
