"""The listener on real sockets: transfers, closing, limits and binding."""
# covers: orchtw.serving.tls, orchtw.serving.tls_port

from __future__ import annotations

import gzip
import socket
import ssl

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import ConfigError
from orchtw.request import chunk
from orchtw.serving import tls
from orchtw.serving.limits import EdgeLimits
from orchtw.serving.listener import bind, make_sure_free
from orchtw.serving.response_bodies import unframed
from tests.serving.authorities import (
    PATIENCE_S,
    connect,
    read_to_end,
    reset,
)
from tests.serving.listening import GET, LAST, PIECES, LastingStream, ListenerTestCase, end_tcp, end_tls, talk_and_end


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
        """A long body goes out as gzip to clients that accept it, compressed in the reactor's threads."""
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
        """Wait until the server has no connection."""
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

    def test_shared_port_of_another(self) -> None:
        """Processes of one server do not share their port with another server that would (reference OPS-29)."""
        with bind("127.0.0.1", 0, shared=True) as first:
            port = first.getsockname()[1]
            bind("127.0.0.1", port, shared=True).close()
            problem = self.assertRaises(ConfigError, make_sure_free, "127.0.0.1", port, 0.0)
        self.assertEqual(str(problem), f"cannot listen on 127.0.0.1 port {port}: Address already in use")
        make_sure_free("127.0.0.1", port, 0.0)

    def test_foreign_address(self) -> None:
        """An address that is not this machine's is a ConfigError."""
        self.assertRaises(ConfigError, bind, "192.0.2.1", 0)
