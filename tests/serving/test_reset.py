"""Resets of connections: in place of an answer, and in the middle of a stream."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionAborted, ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.server import Site

from orchtw.request import Ending, Request, Response, chunk
from orchtw.serving.reset import ConnectionReset
from orchtw.serving.resource import AppResource
from tests.serving import edge_doubles
from tests.serving.edge_doubles import GET, POST, RecordedStream, answering
from tests.serving.http2 import doubles
from tests.serving.http2.doubles import fields


async def resetting(_request: Request) -> Response:
    """App that resets the connection at once."""
    raise ConnectionReset


class Later:
    """App that waits before it resets the connection, or answers paths that begin with /ok."""

    def __init__(self) -> None:
        self.waits: list[Deferred[None]] = []

    async def __call__(self, request: Request) -> Response:
        if request.path.startswith("/ok"):
            return Response(body=b"fine")
        wait: Deferred[None] = Deferred()
        self.waits.append(wait)
        await wait
        raise ConnectionReset


class AnswerTests(SynchronousTestCase):
    """Resets in place of an answer (`ConnectionReset`)."""

    def test_http1(self) -> None:
        """The connection is aborted without a byte, and nothing of the request is left."""
        for data in (GET, POST):
            wire = edge_doubles.Wire(resetting)
            self.assertEqual(wire.send(data), b"")
            self.assertTrue(wire.transport.disconnected)
            wire.channel.connectionLost(Failure(ConnectionAborted()))
            self.assertEqual((wire.edge.in_flight, wire.edge.channels), (0, set()))

    def test_http1_later(self) -> None:
        """The same after a wait; a client that has left meanwhile changes nothing."""
        for leaves in (False, True):
            app = Later()
            wire = edge_doubles.Wire(app)
            self.assertEqual(wire.send(POST), b"")
            if leaves:
                edge_doubles.lose(wire)
            app.waits[0].callback(None)
            self.assertEqual(wire.transport.disconnected, not leaves)
            if not leaves:
                wire.channel.connectionLost(Failure(ConnectionAborted()))
            self.assertEqual((wire.edge.in_flight, wire.transport.taken()), (0, b""))

    def test_http2(self) -> None:
        """The whole connection is aborted, with the streams of other requests; earlier answers are sent before."""
        app = Later()
        wire = doubles.Wire(app)
        first, second = wire.ask(fields("/one", "POST")), wire.ask(fields("/two"))
        self.assertEqual(wire.get("/ok").body, b"fine")
        app.waits[0].callback(None)
        self.assertTrue(wire.transport.disconnected)
        wire.channel.connectionLost(Failure(ConnectionAborted()))
        self.assertEqual((first in wire.answers, second in wire.answers), (False, False))
        app.waits[1].callback(None)
        self.assertEqual((wire.edge.in_flight, wire.edge.channels), (0, set()))

    def test_site(self) -> None:
        """On a site of others the transport is aborted, too."""
        transport = StringTransport()
        channel: Any = Site(AppResource(resetting), timeout=None).buildProtocol(None)
        channel.makeConnection(transport)
        channel.dataReceived(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        self.assertEqual((transport.value(), transport.disconnected), (b"", True))
        channel.connectionLost(Failure(ConnectionDone()))


class StreamTests(SynchronousTestCase):
    """Resets in the middle of a stream (`ResponseChannel.reset`)."""

    def setUp(self) -> None:
        self.stream = RecordedStream()
        self.endings: list[Ending] = []
        self.response = Response(stream=self.stream)
        self.response.on_end(self.endings.append)

    def test_http1(self) -> None:
        """Written bytes are sent, then the connection is aborted, and with it the answer."""
        wire = edge_doubles.Wire(answering(self.response))
        wire.send(GET)
        self.stream.channel.write(chunk(b"half"))
        self.stream.channel.reset()
        self.assertEqual((wire.transport.taken(), wire.transport.disconnected), (b"4\r\nhalf\r\n", True))
        wire.channel.connectionLost(Failure(ConnectionAborted()))
        self.assertEqual((self.endings, wire.edge.in_flight), ([Ending.ABORTED], 0))

    def test_http2(self) -> None:
        """Frames that are gathered leave before the abort of the connection."""
        wire = doubles.Wire(answering(self.response))
        number = wire.ask()
        self.stream.channel.write(chunk(b"half"))
        self.stream.channel.reset()
        self.assertTrue(wire.transport.disconnected)
        wire.hear()
        self.assertEqual((wire.answers[number].body, wire.answers[number].ended), (b"half", False))
        wire.channel.connectionLost(Failure(ConnectionAborted()))
        self.assertEqual((self.endings, wire.edge.in_flight), ([Ending.ABORTED], 0))

    def test_site(self) -> None:
        """A stream on a site of others is aborted with its transport."""
        transport = StringTransport()
        channel: Any = Site(AppResource(answering(self.response)), timeout=None).buildProtocol(None)
        channel.makeConnection(transport)
        channel.dataReceived(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        self.stream.channel.write(chunk(b"half"))
        self.stream.channel.reset()
        self.assertEqual((b"half" in transport.value(), transport.disconnected), (True, True))
        channel.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(self.endings, [Ending.ABORTED])
