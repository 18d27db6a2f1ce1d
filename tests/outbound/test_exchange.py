"""One request and its answer on bytes in memory: framing, backpressure, upgrades, ends."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from orchtw.errors import BadRequest
from orchtw.outbound.exchange import HEAD_BYTES, HELD_BYTES, Broken, CallOutcome, ClientExchange, ResponseHead
from tests.outbound.doubles import Backend, BackendTransport, Collector, lose

SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"


class ExchangeCase(SynchronousTestCase):
    """Base case with a connected exchange."""

    def setUp(self) -> None:
        self.exchange: ClientExchange = Backend().open()
        self.transport: BackendTransport = self.exchange.transport
        self.ends: list[CallOutcome] = []
        self.exchange.on_end(self.ends.append)

    def ask(self, *headers: tuple[str, str], method: str = "GET", body: bytes = b"") -> Deferred[ResponseHead]:
        length = [("Content-Length", str(len(body)))] if body else []
        return self.exchange.ask(method, "/a?b=c", [("Host", "x"), *headers, *length], body)

    def upgrade(self) -> Deferred[ResponseHead]:
        return self.ask(("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1"))

    def sink(self) -> Collector:
        sink = Collector()
        self.exchange.read_into(sink)
        return sink


class AnswerTests(ExchangeCase):
    """Plain HTTP responses, whole or cut."""

    def test_request(self) -> None:
        """The request goes out as it was given, in one write."""
        self.ask(("X-A", "1"), ("X-A", "2"), method="POST", body=b"hello")
        sent = b"POST /a?b=c HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 5\r\n\r\nhello"
        self.assertEqual(self.transport.value(), sent)

    def test_split_header(self) -> None:
        """A header that would make two is refused."""
        for value in ("1\r\nX-B: 2", "\u20ac"):
            self.setUp()
            self.assertRaises(BadRequest, self.ask, ("X-A", value))
            self.assertEqual((self.transport.value(), self.ends), (b"", [CallOutcome.ABORTED]))

    def test_byte_by_byte(self) -> None:
        """Head, chunks and end, in whatever pieces; interim answers are passed over."""
        waiting = self.ask()
        answer = b"HTTP/1.1 200 OK\r\nX-One: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
        answer += b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"
        for at in range(len(interim := b"HTTP/1.1 100 Continue\r\n\r\n")):
            self.exchange.dataReceived(interim[at : at + 1])
        self.assertNoResult(waiting)
        for at in range(len(answer)):
            self.exchange.dataReceived(answer[at : at + 1])
        head = self.successResultOf(waiting)
        self.assertEqual((head.code, head.first("x-one"), head.first("x-two")), (200, "1", ""))
        self.assertEqual(head.headers[0], ("X-One", "1"))
        sink = self.sink()
        self.assertEqual((sink.data, sink.outcomes, self.ends), (b"abcde", [CallOutcome.WHOLE], [CallOutcome.WHOLE]))
        self.assertTrue(self.transport.disconnecting)

    def test_waits_for_its_reader(self) -> None:
        """After the head, reading is paused until the body has a consumer."""
        self.ask()
        self.exchange.dataReceived(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc")
        self.assertEqual(self.transport.producerState, "paused")
        sink = self.sink()
        self.assertEqual((sink.data, self.transport.producerState), (b"abc", "producing"))
        self.exchange.pause()
        self.assertEqual(self.transport.producerState, "paused")
        self.exchange.resume()
        self.assertEqual(self.transport.producerState, "producing")
        self.exchange.dataReceived(b"def")
        self.assertEqual((sink.data, sink.outcomes), (b"abcdef", [CallOutcome.WHOLE]))

    def test_reader_at_once(self) -> None:
        """A consumer that is there with the head spares the transport a pause."""
        pauses: list[str] = []
        self.transport.pauseProducing = lambda: pauses.append("pause")  # type: ignore[method-assign]
        sink = Collector()
        self.ask().addCallback(lambda _: self.exchange.read_into(sink))
        self.exchange.dataReceived(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc")
        self.assertEqual((sink.data, pauses), (b"abc", []))

    def test_up_to_the_end(self) -> None:
        """A body without a length ends with the connection, if that ends in order."""
        for clean, outcome in ((True, CallOutcome.WHOLE), (False, CallOutcome.CUT)):
            self.setUp()
            self.ask()
            self.exchange.dataReceived(b"HTTP/1.1 200 OK\r\n\r\nabc")
            sink = self.sink()
            lose(self.exchange, clean=clean)
            self.assertEqual((sink.data, sink.outcomes, self.ends), (b"abc", [outcome], [outcome]))

    def test_cut(self) -> None:
        """A body that ends before its length is not whole."""
        self.ask()
        self.exchange.dataReceived(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc")
        sink = self.sink()
        lose(self.exchange)
        self.assertEqual(sink.outcomes, [CallOutcome.CUT])

    def test_no_answer(self) -> None:
        """An end before any response, and a malformed response, have their own error texts."""
        for data, clean, words in (
            (b"", True, "EOF"),
            (b"HTTP/1.1 200", False, "connection reset by peer"),
            (b"SSH-2.0-OpenSSH\r\n\r\n", True, "malformed HTTP response"),
            (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000, True, "response headers exceeded 262144 bytes; aborted"),
        ):
            self.setUp()
            waiting = self.ask()
            if data:
                self.exchange.dataReceived(data)
            lose(self.exchange, clean=clean)
            self.assertIn(words, str(self.failureResultOf(waiting, Broken).value))
            self.assertEqual(self.ends, [CallOutcome.CUT])

    def test_unanswered(self) -> None:
        """An end before any byte of the answer is told apart; the cause of an end is known."""
        for data, clean in ((b"", True), (b"", False), (b"H", True)):
            self.setUp()
            waiting = self.ask()
            if data:
                self.exchange.dataReceived(data)
            lose(self.exchange, clean=clean)
            broken: Any = self.failureResultOf(waiting, Broken).value
            self.assertIs(type(broken.cause), ConnectionDone if clean else ConnectionLost)
            self.assertEqual(broken.unanswered, not data)

    def test_long_head(self) -> None:
        """A head without end is read so far and no further, interim answers included."""
        for piece in (b"X: " + b"y" * 1000 + b"\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"):
            self.setUp()
            waiting = self.ask()
            first = b"HTTP/1.1 200 OK\r\n" if piece.startswith(b"X") else b""
            for _ in range((HEAD_BYTES - len(first)) // len(piece)):
                self.exchange.dataReceived(first + piece)
                first = b""
            self.assertNoResult(waiting)
            self.exchange.dataReceived(piece)
            text = f"net/http: server response headers exceeded {HEAD_BYTES} bytes; aborted"
            self.assertEqual(str(self.failureResultOf(waiting, Broken).value), text)
            self.assertTrue(self.transport.disconnecting)

    def test_other_protocol(self) -> None:
        """A server that greets in another protocol is not waited for, in whatever pieces it does."""
        for pieces in ((b"220 ready\r\n",), (b"H", b"TT", b"P 1")):
            self.setUp()
            waiting = self.ask()
            for each in pieces:
                self.assertNoResult(waiting)
                self.exchange.dataReceived(each)
            self.assertIn("malformed HTTP response", str(self.failureResultOf(waiting, Broken).value))

    def test_long_head_at_once(self) -> None:
        """A head within its bound may come together with a longer body."""
        waiting = self.ask()
        self.exchange.dataReceived(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * HEAD_BYTES)
        self.assertEqual(self.successResultOf(waiting).code, 200)

    def test_cancelled(self) -> None:
        """A cancelled request drops the connection."""
        waiting = self.ask()
        waiting.cancel()
        self.failureResultOf(waiting, CancelledError)
        self.assertTrue(self.transport.disconnecting or self.transport.disconnected)
        self.assertEqual(self.ends, [CallOutcome.ABORTED])
        lose(self.exchange)
        self.assertEqual(self.ends, [CallOutcome.ABORTED])

    def test_aborted(self) -> None:
        """The side that aborts is not notified."""
        self.ask()
        self.exchange.dataReceived(b"HTTP/1.1 200 OK\r\n\r\nabc")
        sink = self.sink()
        self.exchange.abort()
        lose(self.exchange)
        self.assertEqual((sink.outcomes, self.ends), ([], [CallOutcome.ABORTED]))


class UpgradeTests(ExchangeCase):
    """Connections after a 101 response."""

    def test_bytes_behind_the_head(self) -> None:
        """Bytes that arrive with the 101 are the first of the other protocol."""
        waiting = self.upgrade()
        self.exchange.dataReceived(SWITCH + b"\x80\x03")
        head = self.successResultOf(waiting)
        self.assertEqual((head.code, head.first("upgrade")), (101, "SPDY/3.1"))
        sink = self.sink()
        self.exchange.dataReceived(b"HTTP/1.1 400")
        self.assertEqual(sink.data, b"\x80\x03HTTP/1.1 400")

    def test_held_until_taken(self) -> None:
        """Reading pauses when more than HELD_BYTES wait for a consumer."""
        self.upgrade()
        self.exchange.dataReceived(SWITCH)
        self.exchange.dataReceived(b"x" * (HELD_BYTES + 1))
        self.assertEqual(self.transport.producerState, "paused")

    def test_half_closed(self) -> None:
        """This side ends its writing and still reads; later writes are dropped."""
        self.upgrade()
        self.exchange.dataReceived(SWITCH)
        sink = self.sink()
        self.exchange.write(b"in")
        self.exchange.end_writing()
        self.assertTrue(self.transport.write_closed)
        self.exchange.dataReceived(b"out")
        self.exchange.readConnectionLost()
        self.assertEqual((sink.data, sink.outcomes), (b"out", [CallOutcome.WHOLE]))
        verifyObject(IHalfCloseableProtocol, self.exchange)

    def test_not_connected(self) -> None:
        """A connection lost before it is secured fails `secured`."""
        exchange = ClientExchange(tls=True)
        exchange.makeConnection(BackendTransport())
        self.assertNoResult(exchange.secured)
        lose(exchange, clean=False)
        self.assertIsInstance(self.failureResultOf(exchange.secured), Failure)
