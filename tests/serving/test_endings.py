"""Notifications of the end of a response, with its outcome."""
# covers: orchtw.serving.responding

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionAborted, ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.server import Site
from wsproto import ConnectionType
from wsproto.connection import Connection
from wsproto.events import CloseConnection

from orchtw.request import Ending, Request, Response
from orchtw.serving.limits import EdgeLimits
from orchtw.serving.resource import AppResource
from orchtw.serving.websocket import Messages, open_socket
from orchtw.watch.frame_messages import json_messages
from tests.serving.edge_doubles import GET, RecordedStream, Waiting, Wire, answering
from tests.serving.test_websocket import REQUEST as UPGRADE

PIECE = b"x" * 100_000
LONG = {"body": [PIECE] * 9}


class Listened:
    """A response whose endings are kept."""

    def __init__(self, **fields: Any) -> None:
        self.endings: list[Ending] = []
        self.response = Response(**fields)
        self.response.on_end(self.endings.append)


class ResponseTests(SynchronousTestCase):
    """Callbacks of `Response.on_end` at each ending."""

    def test_once(self) -> None:
        """Each listener is told once, and one that fails keeps nothing from the others."""

        def fail(_ending: Ending) -> None:
            raise RuntimeError

        response, endings = Response(), list[Ending]()
        response.on_end(fail)
        response.on_end(endings.append)
        response.end(Ending.ABORTED)
        response.end(Ending.COMPLETE)
        self.assertEqual((endings, len(self.flushLoggedErrors(RuntimeError))), ([Ending.ABORTED], 1))

    def test_dropped(self) -> None:
        """An answer that is dropped lets its stream go."""
        stream = RecordedStream()
        listened = Listened(stream=stream)
        listened.response.drop(Ending.DEADLINE)
        self.assertEqual((listened.endings, stream.lost), ([Ending.DEADLINE], 1))


class Connected(SynchronousTestCase):
    def send(self, listened: Listened, data: bytes = GET, *, blocked: bool = False, **options: Any) -> Wire:
        """One connection on which `data` was answered with the response."""
        wire = Wire(answering(listened.response), **options)
        wire.transport.blocked = blocked
        wire.channel.dataReceived(data)
        return wire

    def lose(self, wire: Wire, reason: Exception | None = None) -> None:
        protocol: Any = getattr(wire.transport, "protocol", wire.channel)
        protocol.connectionLost(Failure(reason or ConnectionDone()))


class ChannelEndingTests(Connected):
    """On our own HTTP/1.1 channel."""

    def test_short_body(self) -> None:
        """A body that fits one write is complete at once, with HEAD as well."""
        for data in (GET, GET.replace(b"GET", b"HEAD")):
            listened = Listened(body=b"x")
            self.send(listened, data)
            self.assertEqual(listened.endings, [Ending.COMPLETE])

    def test_long_body(self) -> None:
        """A body in pieces is complete when the client has taken most of it."""
        listened = Listened(**LONG)
        wire = self.send(listened, blocked=True)
        self.assertEqual(listened.endings, [])
        for _ in range(10):
            wire.transport.drain()
        self.assertEqual(listened.endings, [Ending.COMPLETE])

    def test_client_leaves(self) -> None:
        """A client that leaves in the middle of a body is gone; nothing is told twice."""
        for fields in (LONG, {"parts": iter([PIECE] * 9)}, {"stream": RecordedStream()}):
            listened = Listened(**fields)
            wire = self.send(listened, blocked=True)
            self.lose(wire)
            wire.transport.drain()
            self.assertEqual(listened.endings, [Ending.CLIENT_GONE], fields)

    def test_client_has_left(self) -> None:
        """A write's answer for which nobody waits any more is dropped."""
        waiting = Waiting()
        wire, listened = Wire(waiting), Listened()
        wire.send(GET.replace(b"GET", b"POST"))
        self.lose(wire)
        waiting.waits[0].callback(listened.response)
        self.assertEqual(listened.endings, [Ending.CLIENT_GONE])

    def test_given_up(self) -> None:
        """A body that cannot be made to its end, and one that the client does not take, are aborted by the server."""

        def broken() -> Iterator[bytes]:
            yield PIECE
            raise RuntimeError

        unread = Listened(**LONG)
        wire = self.send(unread, blocked=True, limits=EdgeLimits(write_stall_s=5))
        wire.pass_time(10)
        self.lose(wire, ConnectionAborted())
        unmade = Listened(parts=broken())
        wire = self.send(unmade)
        wire.transport.drain()
        self.lose(wire, ConnectionAborted())
        self.assertEqual((unread.endings, unmade.endings), ([Ending.ABORTED], [Ending.ABORTED]))
        self.flushLoggedErrors(RuntimeError)

    def test_replaced(self) -> None:
        """An answer for which there is no room is never sent: the 429 that is has no listener."""
        first = self.send(Listened(body=[bytes(3 << 20)]), blocked=True, limits=EdgeLimits(inflight_bytes=8 << 20))
        listened = Listened(body=[bytes(3 << 20)])
        first.edge.app = answering(listened.response)
        self.assertEqual(Wire(beside=first).send(GET).partition(b"\r\n")[0], b"HTTP/1.1 429 Too Many Requests")
        self.assertEqual(listened.endings, [Ending.NO_ROOM])

    def test_stream(self) -> None:
        """A stream's end says whether its time was over."""
        for ending in (Ending.COMPLETE, Ending.DEADLINE):
            stream = RecordedStream()
            listened = Listened(stream=stream)
            self.send(listened)
            self.assertEqual(listened.endings, [])
            stream.channel.finish(ending)
            self.assertEqual(listened.endings, [ending])

    def test_aborted_stream(self) -> None:
        """A stream that gives up is aborted."""
        stream = RecordedStream()
        listened = Listened(stream=stream)
        wire = self.send(listened)
        stream.channel.abort()
        self.lose(wire, ConnectionAborted())
        self.assertEqual(listened.endings, [Ending.ABORTED])

    def test_shutdown(self) -> None:
        """A stream that the end of the server ends is complete."""
        listened = Listened(stream=RecordedStream())
        self.send(listened).edge.wind_down()
        self.assertEqual(listened.endings, [Ending.COMPLETE])

    def test_next_request(self) -> None:
        """The next request on a connection has nothing to do with those who listened to the one before."""
        listened = Listened(body=b"1")
        wire = Wire(answering(listened.response, Response(body=b"2")))
        wire.send(GET + GET)
        self.lose(wire)
        self.assertEqual(listened.endings, [Ending.COMPLETE])


class WebSocketEndingTests(Connected):
    """On a connection that has been upgraded."""

    def setUp(self) -> None:
        self.stream = RecordedStream()
        upgrade = partial(open_socket, Messages(json_messages, text=True))
        self.listened = Listened(code=101, headers=[("Upgrade", "websocket")], stream=self.stream, upgrade=upgrade)
        self.endings = self.listened.endings

    def test_finished(self) -> None:
        """The stream's own end is passed on, whatever becomes of the closing handshake."""
        wire = self.send(self.listened, UPGRADE)
        self.stream.channel.finish(Ending.DEADLINE)
        self.lose(wire)
        self.assertEqual(self.endings, [Ending.DEADLINE])

    def test_closed_by_the_client(self) -> None:
        """A close frame says that the client leaves."""
        wire = self.send(self.listened, UPGRADE)
        close = bytes(Connection(ConnectionType.CLIENT).send(CloseConnection(1000)))
        protocol: Any = wire.transport.protocol  # type: ignore[attr-defined]
        protocol.dataReceived(close)
        self.assertEqual(self.endings, [Ending.CLIENT_GONE])

    def test_lost(self) -> None:
        """So does the end of the connection, unless the server ended it."""
        self.lose(self.send(self.listened, UPGRADE))
        self.assertEqual(self.endings, [Ending.CLIENT_GONE])
        self.setUp()
        self.lose(self.send(self.listened, UPGRADE), ConnectionAborted())
        self.assertEqual(self.endings, [Ending.ABORTED])

    def test_shutdown(self) -> None:
        """A stream that the end of the server ends is complete."""
        self.send(self.listened, UPGRADE).edge.wind_down()
        self.assertEqual(self.endings, [Ending.COMPLETE])

    def test_not_upgraded(self) -> None:
        """A 101 that cannot be given is never sent."""
        self.send(self.listened, UPGRADE.replace(b"1.1", b"1.0"))
        self.assertEqual(self.endings, [Ending.ABORTED])


class ResourceEndingTests(SynchronousTestCase):
    """In a site of twisted.web."""

    def send(self, listened: Listened, method: bytes = b"GET") -> Any:
        async def app(_request: Request) -> Response:
            return await self.ready

        self.ready: Deferred[Response] = Deferred()
        channel: Any = Site(AppResource(app), timeout=None).buildProtocol(None)
        channel.makeConnection(StringTransport())
        channel.dataReceived(method + b" /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        self.addCleanup(channel.connectionLost, Failure(ConnectionDone()))
        return channel

    def test_body(self) -> None:
        """A body that is written is complete."""
        listened = Listened(body=b"x")
        self.send(listened)
        self.ready.callback(listened.response)
        self.assertEqual(listened.endings, [Ending.COMPLETE])

    def test_stream(self) -> None:
        """A stream ends as it says, or with its client."""
        for end, expected in (
            (lambda stream, _: stream.channel.finish(Ending.DEADLINE), Ending.DEADLINE),
            (lambda stream, _: stream.channel.abort(), Ending.ABORTED),
            (lambda _, channel: channel.connectionLost(Failure(ConnectionDone())), Ending.CLIENT_GONE),
        ):
            stream = RecordedStream()
            listened = Listened(stream=stream)
            channel = self.send(listened)
            self.ready.callback(listened.response)
            stream.channel.registerProducer(stream, True)
            end(stream, channel)
            self.assertEqual(listened.endings, [expected])

    def test_client_has_left(self) -> None:
        """A write's answer for which nobody waits any more is dropped."""
        listened = Listened()
        channel = self.send(listened, b"POST")
        channel.connectionLost(Failure(ConnectionDone()))
        self.ready.callback(listened.response)
        self.assertEqual(listened.endings, [Ending.CLIENT_GONE])

    def test_no_upgrades(self) -> None:
        """A site cannot upgrade: that answer is dropped."""
        stream = RecordedStream()
        listened = Listened(code=101, stream=stream, upgrade=lambda *_: None)
        self.send(listened)
        self.ready.callback(listened.response)
        self.assertEqual((listened.endings, stream.lost), ([Ending.ABORTED], 1))
