"""Channel of gRPC calls, on connections in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound.dialer import Unreachable
from orchtw.outbound.grpc.channel import Channel, ChannelSettings
from orchtw.outbound.grpc.connection import PREFIX, GrpcConnection
from orchtw.outbound.grpc.status import DEADLINE_EXCEEDED, UNAVAILABLE, RpcError
from orchtw.wire import http2_frames as frames
from orchtw.wire.http2_frames import Flag, FrameKind

GOOD = b"\x00" + frames.text(b"grpc-status") + frames.text(b"0")
FAILED = (
    b"\x00" + frames.text(b"grpc-status") + frames.text(b"14")
    + b"\x00" + frames.text(b"grpc-message") + frames.text(b"gone%20away")
)  # fmt: skip


class Transport(StringTransport):
    """Transport that can be aborted."""

    def abortConnection(self) -> None:
        self.loseConnection()


class Target:
    """Server in memory: each connection that is asked for waits in `asked`."""

    scheme, authority = "http", "there"

    def __init__(self) -> None:
        self.asked: list[tuple[Callable[[], GrpcConnection], Deferred[GrpcConnection]]] = []

    async def connect(self, make: Callable[[], GrpcConnection]) -> GrpcConnection:
        waiting: Deferred[GrpcConnection] = Deferred()
        self.asked.append((make, waiting))
        return await waiting

    def accept(self) -> GrpcConnection:
        """Complete the connection that was asked for last."""
        make, waiting = self.asked.pop()
        connection = make()
        connection.makeConnection(Transport())
        connection.dataReceived(frames.settings(()))
        waiting.callback(connection)
        return connection


class ChannelTests(SynchronousTestCase):
    """Calls over a channel with one server."""

    def setUp(self) -> None:
        self.clock, self.target = Clock(), Target()
        settings = ChannelSettings(name="a server", closed="closed", message_bytes=100)
        self.channel = Channel(self.clock, [self.target], settings)
        self.channel.start()
        self.answers: list[bytes | RpcError] = []

    def call(self, timeout_s: float = 5.0, **more: Any) -> None:
        """Begin a call, whose answer goes to `answers`."""
        self.channel.call("/a.B/C", b"question", self.answers.append, timeout_s=timeout_s, **more)

    def reply(self, connection: GrpcConnection, number: int, body: bytes, trailers: bytes = GOOD) -> None:
        """Answer the call on a stream."""
        data = PREFIX.pack(0, len(body)) + body
        connection.dataReceived(
            frames.head(len(data), FrameKind.DATA, 0, number) + data
            + frames.head(len(trailers), FrameKind.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, number) + trailers
        )  # fmt: skip

    def test_waits_for_a_connection(self) -> None:
        """A call that begins before there is a connection is made once there is one."""
        self.call()
        self.reply(self.target.accept(), 1, b"answer")
        self.assertEqual(self.answers, [b"answer"])

    def test_no_connection_in_time(self) -> None:
        """A call without a connection fails at its deadline with the reason why there is none."""
        self.call(1.0)
        self.target.asked.pop()[1].errback(Unreachable("dial unix /s: connect: no such file or directory"))
        self.clock.pump([0.25] * 5)
        (error,) = self.answers
        assert isinstance(error, RpcError)
        self.assertEqual((error.code, error.sent), (DEADLINE_EXCEEDED, False))
        self.assertIn("no such file or directory", error.shown)

    def test_status(self) -> None:
        """The status of the trailers is the outcome of the call, its message decoded."""
        connection = self.target.accept()
        self.call()
        self.reply(connection, 1, b"", FAILED)
        (error,) = self.answers
        assert isinstance(error, RpcError)
        self.assertEqual(error.shown, "rpc error: code = Unavailable desc = gone away")

    def test_deadline(self) -> None:
        """A call whose answer does not come in time fails, and its stream is reset."""
        connection: Any = self.target.accept()
        self.call(1.0)
        connection.transport.clear()
        self.clock.pump([0.25] * 5)
        (error,) = self.answers
        assert isinstance(error, RpcError)
        self.assertEqual(error.code, DEADLINE_EXCEEDED)
        self.assertIn(frames.reset(1), connection.transport.value())

    def test_lost_and_found(self) -> None:
        """A lost connection fails the calls on it, and another one is opened for those that follow."""
        connection = self.target.accept()
        self.call()
        connection.connectionLost()
        (error,) = self.answers
        assert isinstance(error, RpcError)
        self.assertEqual((error.code, error.sent), (UNAVAILABLE, True))
        self.clock.advance(2)
        self.call()
        self.reply(self.target.accept(), 1, b"again")
        self.assertEqual(self.answers[1:], [b"again"])

    def test_safe_calls_are_repeated(self) -> None:
        """A call that can do no harm twice is made again on another connection."""
        connection = self.target.accept()
        self.call(safe=True)
        connection.connectionLost()
        self.clock.pump([0.1] * 5)
        self.reply(self.target.accept(), 1, b"answer")
        self.assertEqual(self.answers, [b"answer"])

    def test_too_long(self) -> None:
        """A message longer than the limit ends its call, not the connection."""
        connection: Any = self.target.accept()
        self.call()
        connection.dataReceived(frames.head(5, FrameKind.DATA, 0, 1) + PREFIX.pack(0, 101))
        (error,) = self.answers
        assert isinstance(error, RpcError)
        self.assertEqual(error.text, "grpc: received message larger than max (101 vs. 100)")
        self.assertFalse(connection.transport.disconnecting)

    def test_nonsense(self) -> None:
        """Bytes that are not HTTP/2 end the connection."""
        connection: Any = self.target.accept()
        connection.dataReceived(b"\x00\x00\x01\x01\x05\x00\x00\x00\x01\xff")
        self.assertTrue(connection.transport.disconnecting)

    def test_stopped(self) -> None:
        """Calls on a stopped channel fail at once."""
        self.call()
        self.channel.stop()
        self.call()
        self.assertEqual([str(error) for error in self.answers], ["context deadline exceeded", "closed"])
