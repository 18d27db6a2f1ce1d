"""WebSockets on their connections: messages, pings, the closing handshake, limits, the edge's count."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from twisted.internet.error import ConnectionLost
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from wsproto import ConnectionType
from wsproto.connection import Connection
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, Pong, TextMessage
from zope.interface.verify import verifyObject

from orchtw.errors import Expired
from orchtw.request import Request, Response, StreamBody, chunk
from orchtw.serving.limits import EdgeLimits
from orchtw.serving.watch_stream import WatchStream
from orchtw.serving.websocket import (
    CLOSE_S,
    PING_S,
    RECEIVED_BYTES,
    RECEIVED_FRAMES,
    UNANSWERED_PINGS,
    Messages,
    open_socket,
)
from orchtw.watch.frame_messages import json_messages, protobuf_messages
from orchtw.watch.selection import Selection
from orchtw.watch.watcher import Watcher
from tests.serving.edge_doubles import RecordedStream, Wire
from tests.watch.watching import Watched

REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
SWEEP_S = 2


class Socket:
    """A connection that has been upgraded to carry `stream`, and its client."""

    def __init__(self, stream: StreamBody, behind: bytes = b"", limits: EdgeLimits | None = None) -> None:
        upgrade = partial(open_socket, Messages(json_messages, text=True))

        async def app(_request: Request) -> Response:
            return Response(code=101, headers=[("Upgrade", "websocket")], stream=stream, upgrade=upgrade)

        self.wire = Wire(app, limits)
        self.edge = self.wire.edge
        self.transport: Any = self.wire.transport
        self.client = Connection(ConnectionType.CLIENT)
        head, _, sent = self.wire.send(REQUEST + behind).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 "), head
        self.client.receive_data(sent)

    def send(self, *events: Event) -> list[Event]:
        """Return the server's answer to frames of the client."""
        return self.send_bytes(b"".join(bytes(self.client.send(event)) for event in events))

    def send_bytes(self, data: bytes) -> list[Event]:
        self.transport.protocol.dataReceived(data)
        return self.events()

    def events(self) -> list[Event]:
        """Return what the server has sent since the last look."""
        if data := self.transport.taken():
            self.client.receive_data(data)
        return list(self.client.events())

    def lose(self) -> None:
        self.transport.protocol.connectionLost(Failure(ConnectionLost()))

    def pass_time(self, seconds: float) -> list[Event]:
        """Let the edge's clock run."""
        self.wire.pass_time(int(seconds))
        return self.events()

    @property
    def counted(self) -> tuple[int, int]:
        """Requests in flight and channels of the edge."""
        return self.edge.in_flight, len(self.edge.channels)


class MessagesTests(SynchronousTestCase):
    def received(self, messages: Messages, framed: bytes) -> list[Event]:
        client = Connection(ConnectionType.CLIENT, trailing_data=messages.frames(framed))
        return list(client.events())

    def test_text(self) -> None:
        """Each line of a chunk is a text message; several chunks in one write are taken apart."""
        events = self.received(Messages(json_messages, text=True), chunk(b"{1}\n{2}\n") + chunk("{é}\n".encode()))
        self.assertEqual(events, [TextMessage(data=text) for text in ("{1}\n", "{2}\n", "{é}\n")])

    def test_binary(self) -> None:
        """Each length-delimited frame is a binary message without the length, of any size (RFC 6455 §5.2)."""
        for size in (0, 125, 126, 65535, 65536):
            framed = chunk(size.to_bytes(4, "big") + b"x" * size + b"\0\0\0\1y")
            events = self.received(Messages(protobuf_messages, text=False), framed)
            self.assertEqual(events, [BytesMessage(data=b"x" * size), BytesMessage(data=b"y")])

    def test_shared(self) -> None:
        """The same chunk is converted once for all who are given it (reference DESIGN-15)."""
        converted: list[bytes] = []

        def split(frames: bytes) -> Iterator[bytes]:
            converted.append(frames)
            yield frames

        messages = Messages(split, text=False)
        first, second = chunk(b"1"), chunk(b"2")
        self.assertIs(messages.frames(first), messages.frames(first))
        messages.frames(second)
        self.assertEqual(converted, [b"1", b"2"])


class WatchTests(SynchronousTestCase):
    """A watch on a WebSocket."""

    def setUp(self) -> None:
        self.watched = Watched()
        self.watched.put("a")
        dispatcher, timers = self.watched.dispatcher, self.watched.timers
        self.member = Watcher(dispatcher, timers, Selection(), self.watched.wire, 0, deadline=5.0)
        self.socket = Socket(WatchStream(self.member))

    def put(self, key: str) -> None:
        self.watched.put(key)
        self.watched.flush()

    def test_events(self) -> None:
        """Existing and new events are a message each."""
        self.put("b")
        self.assertEqual(self.socket.events(), [TextMessage(data="ADDED a@1 \n"), TextMessage(data="ADDED b@2 \n")])

    def test_slow_client_costs_a_cursor(self) -> None:
        """A paused watch writes nothing; once its client has read, it catches up."""
        self.socket.events()
        self.socket.transport.producer.pauseProducing()
        self.put("b")
        self.put("c")
        self.assertEqual(self.socket.events(), [])
        self.socket.transport.drain()
        self.assertEqual(self.socket.events(), [TextMessage(data="ADDED b@2 \n"), TextMessage(data="ADDED c@3 \n")])

    def test_error(self) -> None:
        """An ERROR event is a message like any; a normal close follows."""
        self.socket.events()
        self.member.fail(Expired("gone"))
        self.assertEqual(self.socket.events(), [TextMessage(data="ERROR 410 gone\n"), CloseConnection(1000, "")])

    def test_deadline(self) -> None:
        """At its deadline the watch sends a close frame; the connection ends when the client has answered it."""
        self.socket.events()
        self.watched.timers.tick(5.0)
        (close,) = self.socket.events()
        assert isinstance(close, CloseConnection)
        self.assertEqual((close.code, self.socket.counted, self.socket.wire.closed), (1000, (1, 1), False))
        self.socket.send(close.response())
        self.assertEqual((self.socket.edge.in_flight, self.socket.transport.disconnecting), (0, True))

    def test_lost(self) -> None:
        """A client that leaves takes its watch along, and is counted no more."""
        self.socket.lose()
        self.put("b")
        self.assertEqual((self.socket.counted, self.watched.dispatcher.groups), ((0, 0), 0))


class WebSocketTests(SynchronousTestCase):
    """The connection, whatever it carries."""

    def setUp(self) -> None:
        self.stream = RecordedStream()
        self.socket = Socket(self.stream, limits=EdgeLimits(write_stall_s=20))

    def assertClosed(self, events: list[Event], code: int) -> None:
        """A close frame with this code was the last, the stream has been told, and the connection is closing."""
        self.assertEqual([event.code for event in events if isinstance(event, CloseConnection)], [code])
        self.assertEqual((self.stream.lost, self.socket.edge.in_flight), (1, 0))
        self.assertTrue(self.socket.transport.disconnecting)

    def test_taken_over(self) -> None:
        """The transport's protocol is the WebSocket alone, counted as one request and one channel."""
        verifyObject(IHalfCloseableProtocol, self.socket.transport.protocol)
        self.assertIs(self.stream.channel, self.socket.transport.protocol)
        self.assertEqual((self.socket.counted, self.socket.edge.channels), ((1, 1), {self.stream.channel}))

    def test_bytes_behind_the_request(self) -> None:
        """Frames that came along with the request are read."""
        frame = bytes(Connection(ConnectionType.CLIENT).send(Ping(payload=b"early")))
        self.assertEqual(Socket(RecordedStream(), behind=frame).events(), [Pong(payload=b"early")])

    def test_not_upgraded(self) -> None:
        """An upgrade that the parser did not see, as in HTTP/1.0, is a 400, and the stream hears of it."""
        stream = RecordedStream()

        async def app(_request: Request) -> Response:
            return Response(code=101, stream=stream, upgrade=partial(open_socket, Messages(json_messages, text=True)))

        for request in (REQUEST.replace(b"1.1", b"1.0"), b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"):
            self.assertIn(b" 400 ", Wire(app).send(request).partition(b"\r\n")[0])
        self.assertEqual((stream.lost, stream.channel), (2, None))

    def test_ping(self) -> None:
        """A ping is answered with its payload, of several at once the last (RFC 6455 §5.5.3)."""
        self.assertEqual(self.socket.send(Ping(payload=b"1"), Ping(payload=b"2")), [Pong(payload=b"2")])

    def test_byte_by_byte(self) -> None:
        """Frames cut into single bytes are read as they are whole."""
        data = bytes(self.socket.client.send(Ping(payload=b"payload")))
        events = [event for byte in data for event in self.socket.send_bytes(bytes([byte]))]
        self.assertEqual(events, [Pong(payload=b"payload")])

    def test_messages_are_ignored(self) -> None:
        """Messages of the client are read and dropped."""
        self.assertEqual(self.socket.send(TextMessage(data="hello"), BytesMessage(data=b"\0" * 1000)), [])
        self.assertEqual(self.socket.counted, (1, 1))

    def test_close(self) -> None:
        """A client's close is answered, then the connection ends."""
        self.assertClosed(self.socket.send(CloseConnection(code=1001)), 1000)

    def test_broken_frames(self) -> None:
        """Frames without mask, of unknown kinds or with reserved bits end the connection with 1002 (RFC 6455 §5)."""
        for data in (b"\x81\x01a", b"\x83\x80aaaa", b"\xc1\x80aaaa", b"\x89\xfe\x00\x80aaaa"):
            self.setUp()
            self.assertClosed(self.socket.send_bytes(data), 1002)
            self.assertEqual(self.socket.send_bytes(b"more"), [])

    def test_flood(self) -> None:
        """More than a few frames, or bytes, between two sweeps end the connection with 1008."""
        ping = bytes(self.socket.client.send(Ping()))
        self.socket.send_bytes(ping * RECEIVED_FRAMES)
        self.socket.pass_time(SWEEP_S)
        self.socket.send_bytes(ping * RECEIVED_FRAMES)
        self.assertEqual(self.socket.counted, (1, 1))
        self.assertClosed(self.socket.send_bytes(ping), 1008)
        self.setUp()
        self.assertClosed(self.socket.send(BytesMessage(data=b"x" * RECEIVED_BYTES)), 1008)

    def test_pongs_do_not_pile_up(self) -> None:
        """A client that sends pings and reads nothing gets no pongs beyond a bound."""
        self.socket.transport.blocked = True
        self.stream.channel.write(chunk(b"x" * 70000 + b"\n"))
        self.socket.transport.taken()
        self.assertEqual(self.socket.send(Ping()), [])

    def test_silence(self) -> None:
        """A silent client is pinged; one that answers lives on, one that does not is dropped."""
        for _ in range(3):
            self.assertEqual(self.socket.pass_time(PING_S + SWEEP_S), [Ping()])
            self.socket.send(Pong())
        for _ in range(UNANSWERED_PINGS):
            self.assertEqual(self.socket.pass_time(PING_S + SWEEP_S), [Ping()])
            self.assertFalse(self.socket.wire.closed)
        self.socket.pass_time(PING_S + SWEEP_S)
        self.assertTrue(self.socket.transport.disconnected)

    def test_busy_reader(self) -> None:
        """While a client takes what waits for it, it is not pinged, and may take long."""
        self.socket.transport.blocked = True
        self.stream.channel.write(chunk(b"x\n"))
        self.socket.transport.taken()
        for _ in range(10):
            self.assertEqual(self.socket.pass_time(18), [])
            self.socket.transport.progress += 1
        self.assertFalse(self.socket.wire.closed)

    def test_stalled_reader(self) -> None:
        """A client that takes nothing of what waits for it is dropped after the write stall's limit."""
        self.socket.transport.blocked = True
        self.stream.channel.write(chunk(b"x\n"))
        self.socket.transport.taken()
        self.socket.pass_time(20 + 2 * SWEEP_S)
        self.assertTrue(self.socket.transport.disconnected)

    def test_close_not_answered(self) -> None:
        """A client that does not answer our close frame, though it may chatter, is waited for a bounded time."""
        self.stream.channel.finish()
        self.assertEqual(self.socket.events(), [CloseConnection(1000, "")])
        data = bytes(Connection(ConnectionType.CLIENT).send(Ping()))
        self.assertEqual(self.socket.send_bytes(data), [])
        self.assertEqual(self.socket.counted, (1, 1))
        self.socket.pass_time(CLOSE_S)
        self.socket.send_bytes(data)
        self.socket.pass_time(2 * SWEEP_S)
        self.assertEqual((self.socket.edge.in_flight, self.socket.transport.disconnecting), (0, True))
        self.assertEqual(self.stream.lost, 0)

    def test_wind_down(self) -> None:
        """At shutdown a watch that has not been ended is, in order, once; the edge waits for the client's answer."""
        drained = self.socket.edge.drain()
        for _ in range(2):
            self.socket.edge.wind_down()
        (close,) = self.socket.events()
        assert isinstance(close, CloseConnection)
        self.assertEqual((close.code, self.stream.lost), (1000, 1))
        self.assertNoResult(drained)
        self.socket.send(close.response())
        self.successResultOf(drained)

    def test_half_closed(self) -> None:
        """A client that has ended its side cannot answer any more: the connection ends."""
        self.socket.transport.protocol.readConnectionLost()
        self.assertClosed(self.socket.events(), 1000)

    def test_lost_once(self) -> None:
        """A connection that is lost while it closes is counted out once, and its stream told once."""
        self.socket.send(CloseConnection(code=1000))
        self.socket.lose()
        self.assertEqual((self.stream.lost, self.socket.counted), (1, (0, 0)))

    def test_abort(self) -> None:
        """A stream that cannot go on drops the connection."""
        self.stream.channel.abort()
        self.assertTrue(self.socket.transport.disconnected)

    def test_reset(self) -> None:
        """A stream that a fault cuts drops the connection, too."""
        self.stream.channel.reset()
        self.assertTrue(self.socket.transport.disconnected)

    def test_failing_stream(self) -> None:
        """A stream that fails when it is told of the end is logged, and the connection ends all the same."""

        def fail() -> None:
            raise RuntimeError("stream")

        self.stream.connection_lost = fail  # type: ignore[method-assign]
        self.socket.lose()
        self.assertEqual(self.socket.counted, (0, 0))
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
