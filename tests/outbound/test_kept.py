"""A connection for one request after the other, in memory (reference HOOK-27)."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web._newclient import Request
from twisted.web.http_headers import Headers

from orchtw.outbound.bodies import Bytes, collected
from orchtw.outbound.exchange import HEAD_BYTES
from orchtw.outbound.kept import KeptConnections
from orchtw.outbound.unanswered import Lost, Stale

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class KeptTests(SynchronousTestCase):
    """Client protocol of a kept connection."""

    def setUp(self) -> None:
        self.idle: list[Any] = []
        self.kept = KeptConnections(self.idle.append, tls=False)
        self.transport = StringTransport()
        self.kept.makeConnection(self.transport)

    def ask(self) -> Deferred[Any]:
        headers = Headers({"Host": ["a"], "Accept-Encoding": ["gzip"]})
        return self.kept.request(Request(b"POST", b"/", headers, Bytes(b"{}"), persistent=True))

    def end(self, reason: Exception | None = None) -> None:
        self.kept.connectionLost(Failure(reason or ConnectionDone()))

    def test_byte_by_byte(self) -> None:
        """An answer is the same however it is cut; then the connection is idle."""
        for pieces in ([OK], [bytes([each]) for each in OK]):
            self.idle.clear()
            self.transport.clear()
            asked = self.ask()
            self.assertTrue(self.transport.value().endswith(b"\r\n\r\n{}"))
            self.assertNotIn(b"gzip", self.transport.value())
            whole = asked.addCallback(collected, 2)
            for each in pieces:
                self.kept.dataReceived(each)
            self.assertEqual((self.successResultOf(whole), self.idle), (b"{}", [self.kept]))

    def test_stale(self) -> None:
        """A connection that ends before any of a later answer is stale; before a first answer it is an error."""
        asked = self.ask().addCallback(collected, 2)
        self.kept.dataReceived(OK)
        self.successResultOf(asked)
        asked = self.ask()
        self.end()
        self.failureResultOf(asked, Stale)
        self.failureResultOf(self.ask(), Stale)

    def test_lost(self) -> None:
        """An answer that has begun, or a first one that does not come, is lost."""
        asked = self.ask()
        self.end(ConnectionLost())
        failure = self.failureResultOf(asked, Lost)
        self.assertEqual((type(failure.value), str(failure.value)), (Lost, "EOF"))

    def test_head_begun(self) -> None:
        """A later answer that has begun is lost, too: the request was read."""
        asked = self.ask().addCallback(collected, 2)
        self.kept.dataReceived(OK)
        self.successResultOf(asked)
        asked = self.ask()
        self.kept.dataReceived(b"HTTP/1.1")
        self.end()
        self.assertIs(type(self.failureResultOf(asked).value), Lost)

    def test_long_head(self) -> None:
        """A head without end is read so far and no further, interim answers included."""
        for piece in (b"X: " + b"y" * 1000 + b"\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"):
            self.setUp()
            asked = self.ask()
            if piece.startswith(b"X"):
                self.kept.dataReceived(b"HTTP/1.1 200 OK\r\n")
            for _ in range(HEAD_BYTES // len(piece)):
                self.kept.dataReceived(piece)
                self.assertFalse(self.transport.disconnecting)
            self.kept.dataReceived(piece)
            self.assertTrue(self.transport.disconnecting)
            self.end(ConnectionLost())
            text = f"net/http: server response headers exceeded {HEAD_BYTES} bytes; aborted"
            self.assertEqual(str(self.failureResultOf(asked).value), text)

    def test_cancelled(self) -> None:
        """A cancelled request ends the connection."""
        asked = self.ask()
        asked.cancel()
        self.failureResultOf(asked, CancelledError)
        self.assertTrue(self.transport.disconnecting)

    def test_ends(self) -> None:
        """Those who asked for that are told of the end once, also if there was no connection."""
        told: list[Any] = []
        for kept in (self.kept, KeptConnections(self.idle.append, tls=True)):
            kept.on_end(told.append)
        self.end()
        self.successResultOf(self.kept.abort())
        self.successResultOf(kept.abort())
        self.successResultOf(kept.abort())
        self.assertEqual(len(told), 2)
