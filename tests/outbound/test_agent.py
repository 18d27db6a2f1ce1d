"""treq's requests over kept connections, in memory (reference HOOK-27)."""

from __future__ import annotations

import gc
from typing import Any
from weakref import ref

from OpenSSL import SSL
from twisted.internet.defer import CancelledError, Deferred, ensureDeferred
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.protocol import Protocol
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.client import PotentialDataLoss, ResponseDone, ResponseFailed  # type: ignore[attr-defined]
from twisted.web.http_headers import Headers
from twisted.web.iweb import UNKNOWN_LENGTH, IAgent, IResponse
from zope.interface.verify import verifyObject

from orchtw.outbound.agent import ExchangeAgent, client
from orchtw.outbound.bodies import collected
from orchtw.outbound.destination import Destination
from orchtw.outbound.exchange import Broken
from orchtw.outbound.exchanges import Exchanges
from orchtw.outbound.policy import TLSPolicy
from orchtw.outbound.routes import Route, TransportSettings
from orchtw.outbound.tls import ClientTLS
from tests.outbound.test_exchanges import Dialled, Line

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
TRANSPORT = TransportSettings(tls=TLSPolicy())


class Reader(Protocol):
    """Records a body and the reasons of its end."""

    transport: Any

    def __init__(self) -> None:
        self.data = b""
        self.reasons: list[type[BaseException] | None] = []

    def dataReceived(self, data: bytes) -> None:
        self.data += data

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self.reasons.append(reason.type)


class AgentCase(SynchronousTestCase):
    """An agent whose connections lead to the test."""

    def setUp(self) -> None:
        self.dialled = Dialled()
        self.routed: list[Route] = []
        dialer: Any = self.dialled
        self.exchanges: Exchanges[Route] = Exchanges(dialer, Clock(), self.route)
        self.agent = ExchangeAgent(self.exchanges, TRANSPORT)

    async def route(self, route: Route) -> Destination:
        self.routed.append(route)
        return Destination(scheme="http", host="there", port=80, tls=ClientTLS(), timeout_s=1.0)

    @property
    def line(self) -> Line:
        """The connection that was dialled last."""
        return self.dialled.lines[-1]

    def ask(self, url: bytes = b"http://a/b?c=d", method: bytes = b"POST", body: bytes = b"{}") -> Deferred[Any]:
        headers = Headers({"Accept-Encoding": ["gzip"], "x-a": ["1", "2"]})
        return self.agent.request(method, url, headers, body or None)

    def arrived(self, data: bytes = OK) -> None:
        protocol: Any = self.line.protocol
        protocol.dataReceived(data)

    def end(self, reason: Exception | None = None) -> None:
        protocol: Any = self.line.protocol
        protocol.connectionLost(Failure(reason or ConnectionDone()))

    def answered(self) -> None:
        """A request with its whole answer."""
        asked = self.ask().addCallback(collected, 2)
        self.arrived()
        self.assertEqual(self.successResultOf(asked), b"{}")

    def lost(self, asked: Deferred[Any]) -> str:
        """Return why there is no answer."""
        return str(self.failureResultOf(asked, Broken).value)


class RequestTests(AgentCase):
    """Requests as they are written."""

    def test_interfaces(self) -> None:
        """Agent and answer are what treq takes them for."""
        verifyObject(IAgent, self.agent)
        asked = self.ask()
        self.arrived()
        verifyObject(IResponse, self.successResultOf(asked))

    def test_head(self) -> None:
        """A request has host and length of its own; nothing is asked to be compressed."""
        self.ask()
        head = b"POST /b?c=d HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 2\r\n\r\n{}"
        self.assertEqual(self.line.value(), head)

    def test_no_body(self) -> None:
        """A request that could have a body says that it has none; another one says nothing."""
        for method, length in ((b"PUT", True), (b"GET", False)):
            self.ask(method=method, body=b"")
            self.assertEqual(b"Content-Length: 0\r\n" in self.line.value(), length)

    def test_host(self) -> None:
        """The host is named as in the URL, without the scheme's own port."""
        for url, host in (
            (b"http://a:80", b"a"),
            (b"https://a:443/", b"a"),
            (b"https://a:80/", b"a:80"),
            (b"https://[::1]:8443/", b"[::1]:8443"),
            (b"https://[::1]/", b"[::1]"),
        ):
            self.ask(url)
            self.assertIn(b"Host: " + host + b"\r\n", self.line.value())

    def test_route(self) -> None:
        """The destination of a new connection depends on transport settings, scheme, host and port."""
        self.ask(b"http://a:81/x")
        self.assertEqual(self.routed, [Route(TRANSPORT, "http", "a", 81)])

    def test_cookies(self) -> None:
        """treq keeps no cookies."""
        treq: Any = client(self.exchanges, TRANSPORT)
        for _ in range(2):
            asked = treq.get("http://a/", unbuffered=True, reactor=Clock())
            self.assertNotIn(b"Cookie", self.line.value())
            self.arrived(OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=b\r\n\r\n"))
            self.successResultOf(asked.addCallback(collected, 2))
        self.assertEqual(len(self.dialled.lines), 1)


class AnswerTests(AgentCase):
    """Answers, whole or not."""

    def test_byte_by_byte(self) -> None:
        """An answer is the same however it is cut; then the connection is used again."""
        for pieces in ([OK], [bytes([each]) for each in OK]):
            whole = self.ask().addCallback(collected, 2)
            for each in pieces:
                self.arrived(each)
            self.assertEqual(self.successResultOf(whole), b"{}")
        self.assertEqual(len(self.dialled.lines), 1)

    def test_fields(self) -> None:
        """The answer has code, length and headers, but for the coding that treq would undo."""
        for headers, length in (
            (b"Content-Length: 3\r\nContent-Encoding: gzip", 3),
            (b"Transfer-Encoding: chunked", UNKNOWN_LENGTH),
            (b"X-B: c", UNKNOWN_LENGTH),
        ):
            asked = self.ask()
            self.arrived(b"HTTP/1.1 404 No\r\nX-A: b\r\n" + headers + b"\r\n\r\n")
            answer = self.successResultOf(asked)
            self.assertEqual((answer.code, answer.length), (404, length))
            self.assertEqual(answer.headers.getRawHeaders("x-a"), ["b"])
            self.assertFalse(answer.headers.hasHeader("content-encoding"))

    def test_ends(self) -> None:
        """The reader learns whether the body was whole, cut, or of no known length."""
        for headers, clean, reason in (
            (b"Content-Length: 3", True, ResponseDone),
            (b"Content-Length: 4", True, ResponseFailed),
            (b"Transfer-Encoding: chunked", True, ResponseFailed),
            (b"X-A: b", True, ResponseDone),
            (b"X-A: b", False, PotentialDataLoss),
        ):
            asked, reader = self.ask(), Reader()
            body = b"3\r\nabc\r\n" if b"chunked" in headers else b"abc"
            self.arrived(b"HTTP/1.1 200 OK\r\n" + headers + b"\r\n\r\n" + body)
            self.successResultOf(asked).deliverBody(reader)
            if not reader.reasons:
                self.end(ConnectionDone() if clean else ConnectionLost())
            self.assertEqual((reader.data, reader.reasons), (b"abc", [reason]))
            self.exchanges.close()

    def test_slow_reader(self) -> None:
        """A reader that pauses gets nothing more until it goes on; one that leaves ends the connection."""
        asked, reader = self.ask(), Reader()
        self.arrived(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
        self.successResultOf(asked).deliverBody(reader)
        reader.transport.pauseProducing()
        self.assertEqual(self.line.producerState, "paused")
        reader.transport.resumeProducing()
        self.assertEqual(self.line.producerState, "producing")
        reader.transport.stopProducing()
        self.assertTrue(self.line.aborting)

    def test_no_cycles(self) -> None:
        """A finished exchange is freed at once: the garbage collector has nothing to do."""
        gc.disable()
        self.addCleanup(gc.enable)
        asked = self.ask().addCallback(collected, 2)
        exchange = ref(self.line.exchange)
        self.line.exchange = None
        self.arrived()
        self.successResultOf(asked)
        self.assertIsNone(exchange())

    def test_too_long(self) -> None:
        """A body that is longer than wanted ends the connection."""
        asked = self.ask().addCallback(collected, 1)
        self.arrived()
        self.assertEqual(self.lost(asked), "the answer is longer than 1 bytes")


class LossTests(AgentCase):
    """Connections that end before the answer."""

    def test_closed_while_kept(self) -> None:
        """A kept connection that ends before any of the answer came is replaced, once, by a fresh one."""
        self.answered()
        asked = self.ask()
        self.end()
        self.assertEqual(len(self.dialled.lines), 2)
        self.assertEqual(self.dialled.lines[0].value().count(b"POST"), 2)
        self.end()
        self.assertEqual((self.lost(asked), len(self.dialled.lines)), ("EOF", 2))

    def test_another_kept(self) -> None:
        """The second try uses a fresh connection also if another kept one waits."""
        first, second = (self.ask().addCallback(collected, 2) for _ in range(2))
        for line in self.dialled.lines:
            protocol: Any = line.protocol
            protocol.dataReceived(OK)
        self.successResultOf(first)
        self.successResultOf(second)
        asked = self.ask().addCallback(collected, 2)
        self.end()
        self.assertEqual(len(self.dialled.lines), 3)
        self.arrived()
        self.assertEqual(self.successResultOf(asked), b"{}")

    def test_lost(self) -> None:
        """On a fresh connection nothing is sent again."""
        asked = self.ask()
        self.end(ConnectionLost())
        self.assertEqual((self.lost(asked), len(self.dialled.lines)), ("EOF", 1))

    def test_head_begun(self) -> None:
        """Nor is a request whose answer has begun on a kept one: it was read."""
        self.answered()
        asked = self.ask()
        self.arrived(b"HTTP/1.1")
        self.end()
        self.assertEqual((self.lost(asked), len(self.dialled.lines)), ("EOF", 1))

    def test_handshake(self) -> None:
        """TLS 1.3 tells of a missing certificate after its handshake: in its words, and once."""
        self.answered()
        asked = self.ask()
        self.end(SSL.Error([("SSL routines", "", "tlsv13 alert certificate required")]))
        self.assertEqual(self.lost(asked), "remote error: tls: certificate required")
        self.assertEqual(len(self.dialled.lines), 1)

    def test_malformed(self) -> None:
        """Bytes that are not an answer are not asked for again."""
        self.answered()
        asked = self.ask()
        self.arrived(b"SSH-2.0\r\n\r\n")
        self.assertIn("malformed HTTP response", self.lost(asked))
        self.assertEqual(len(self.dialled.lines), 1)

    def test_cancelled(self) -> None:
        """A cancelled request ends the connection."""
        asked = self.ask()
        asked.cancel()
        self.failureResultOf(asked, CancelledError)
        self.assertTrue(self.line.aborting)
        self.successResultOf(ensureDeferred(self.stopped()))

    async def stopped(self) -> None:
        """End everything; the other side agrees at once."""
        stopping = Deferred.fromCoroutine(self.exchanges.stop())
        self.end()
        await stopping
