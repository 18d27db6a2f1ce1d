"""Two connections joined after a 101, in memory, on a clock: backpressure, half-closed sides, ends, time."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from twisted.internet.error import ConnectionLost
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from orchtw.request import Ending, Request, Response
from orchtw.serving.relay import HALF_CLOSED_S, Relay, Upgraded, join
from tests.outbound.doubles import Backend, BackendTransport, lose
from tests.serving.edge_doubles import Wire

SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"
REQUEST = b"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n"
HEADERS = [("Host", "x"), ("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1")]
MUCH = b"x" * 70_000


class RelayCase(SynchronousTestCase):
    """A client and a backend whose connections are joined."""

    behind_request = b""
    behind_answer = b""

    def setUp(self) -> None:
        self.exchange = Backend().open()
        self.backend: BackendTransport = self.exchange.transport
        self.exchange.ask("GET", "/", HEADERS)
        self.exchange.dataReceived(SWITCH + self.behind_answer)
        self.backend.clear()
        self.endings: list[Ending] = []

        async def app(_request: Request) -> Response:
            upgrade = partial(join, self.exchange)
            headers = [("Upgrade", "SPDY/3.1")]
            response = Response(code=101, headers=headers, stream=Upgraded(self.exchange), upgrade=upgrade)
            response.on_end(self.endings.append)
            return response

        self.wire = Wire(app)
        self.client = cast("Any", self.wire.transport)
        self.first = self.wire.send(REQUEST + self.behind_request).partition(b"\r\n\r\n")[2]
        self.relay: Relay = self.client.protocol


class BytesTests(RelayCase):
    """Data that passes the relay."""

    behind_request = b"\x80in"
    behind_answer = b"\x81out"

    def test_behind_the_heads(self) -> None:
        """Bytes that came with request and answer are the first ones."""
        self.assertEqual((self.first, self.backend.taken()), (b"\x81out", b"\x80in"))

    def test_as_they_are(self) -> None:
        """Every byte passes, in both directions, at once."""
        every = bytes(range(256))
        self.relay.dataReceived(every)
        self.assertEqual(self.backend.value()[-256:], every)
        self.exchange.dataReceived(every)
        self.assertEqual(self.client.taken(), every)
        self.assertEqual(self.wire.edge.in_flight, 1)
        self.assertTrue(self.client.patient)
        verifyObject(IHalfCloseableProtocol, self.relay)


class BackpressureTests(RelayCase):
    """A side that takes nothing is not sent more (reference PROXY-17)."""

    def test_slow_client(self) -> None:
        """The backend is read again when the client has taken what there was."""
        self.client.blocked = True
        self.exchange.dataReceived(MUCH)
        self.assertEqual(self.backend.producerState, "paused")
        self.client.drain()
        self.assertEqual(self.backend.producerState, "producing")

    def test_slow_backend(self) -> None:
        """The client is read again when the backend has taken what there was."""
        self.assertEqual(self.client.producerState, "producing")
        assert self.backend.producer is not None
        self.backend.producer.pauseProducing()
        self.assertEqual(self.client.producerState, "paused")
        self.backend.producer.resumeProducing()
        self.assertEqual(self.client.producerState, "producing")

    def test_silence(self) -> None:
        """Neither has to say or take anything in any time."""
        self.client.blocked = True
        self.exchange.dataReceived(b"a screen of text")
        self.wire.pass_time(3600)
        self.assertEqual((self.endings, self.wire.closed), ([], False))


class EndTests(RelayCase):
    """The ends of both."""

    def test_client_ends_its_side(self) -> None:
        """The backend gets the end, and the client what the backend still says."""
        self.relay.readConnectionLost()
        self.assertTrue(self.backend.write_closed)
        self.exchange.dataReceived(b"result")
        self.assertEqual((self.client.taken(), self.wire.closed), (b"result", False))
        lose(self.exchange)
        self.assertEqual((self.wire.closed, self.endings, self.wire.edge.in_flight), (True, [Ending.COMPLETE], 0))

    def test_backend_goes_on_for_ever(self) -> None:
        """One that is silent after its client's end is given up; one that speaks is not."""
        self.relay.readConnectionLost()
        for _ in range(3):
            self.wire.pass_time(int(HALF_CLOSED_S) - 10)
            self.exchange.dataReceived(b"more")
        self.assertFalse(self.wire.closed)
        self.wire.pass_time(int(HALF_CLOSED_S) + 5)
        self.assertTrue(self.wire.closed)
        self.assertTrue(self.backend.disconnecting or self.backend.disconnected)

    def test_client_gone(self) -> None:
        """The backend's connection is dropped."""
        self.relay.connectionLost(Failure(ConnectionLost()))
        self.assertTrue(self.backend.disconnecting or self.backend.disconnected)
        self.assertEqual((self.endings, self.wire.edge.in_flight), ([Ending.CLIENT_GONE], 0))
        self.assertNotIn(self.relay, self.wire.edge.channels)

    def test_backend_gone(self) -> None:
        """The client gets what there is, and the end, however the backend went."""
        for clean in (True, False):
            self.setUp()
            self.exchange.dataReceived(b"last words")
            lose(self.exchange, clean=clean)
            self.assertEqual((self.client.taken(), self.wire.closed), (b"last words", True))
            self.relay.dataReceived(b"too late")
            self.assertEqual(self.endings, [Ending.COMPLETE])

    def test_rest_is_not_taken(self) -> None:
        """A client that takes nothing of the rest is dropped as every other is."""
        self.client.blocked = True
        self.exchange.dataReceived(b"last words")
        lose(self.exchange)
        self.wire.pass_time(40)
        self.assertTrue(self.client.disconnected)

    def test_shutdown(self) -> None:
        """The server's end closes both."""
        self.wire.edge.wind_down()
        self.assertTrue(self.wire.closed)
        self.assertEqual((self.endings, self.wire.edge.in_flight), ([Ending.ABORTED], 0))


class NotUpgradedTests(SynchronousTestCase):
    """Answers that cannot be handed over."""

    def test_client_gone_before(self) -> None:
        """The backend is let go."""
        exchange = Backend().open()
        Response(code=101, stream=Upgraded(exchange)).drop(Ending.CLIENT_GONE)
        transport: Any = exchange.transport
        self.assertTrue(transport.disconnecting or transport.disconnected)
