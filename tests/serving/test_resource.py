"""The server as a Twisted Web resource."""

from __future__ import annotations

import json
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.server import Site

from orchtw.errors import Conflict
from orchtw.request import Request, Response, chunk
from orchtw.serving.resource import AppResource
from tests.serving.edge_doubles import RecordedStream


class AppResourceTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.seen: list[Request] = []
        self.result: Any = Response(body=b"x", content_type="a/b")
        self.transport = StringTransport()
        self.channel: Any = Site(AppResource(self.app), timeout=None).buildProtocol(None)
        self.channel.makeConnection(self.transport)
        self.addCleanup(self.leave)

    def leave(self) -> None:
        self.channel.connectionLost(Failure(ConnectionDone()))

    async def app(self, request: Request) -> Response:
        self.seen.append(request)
        if isinstance(self.result, Exception):
            raise self.result
        response: Response = await self.result if isinstance(self.result, Deferred) else self.result
        return response

    def send(self, method: bytes = b"GET", version: bytes = b"1.1", body: bytes = b"") -> tuple[bytes, bytes]:
        head = b"%b /a%%20b?c=d HTTP/%b\r\nHost: a\r\nX-One: 1\r\nContent-Length: %d\r\n\r\n"
        self.channel.dataReceived(head % (method, version, len(body)) + body)
        return self.taken()

    def taken(self) -> tuple[bytes, bytes]:
        head, _, body = self.transport.value().partition(b"\r\n\r\n")
        return head, body

    def test_request_and_response(self) -> None:
        """The app sees the raw target, headers and body; the site sends what the app gives."""
        head, body = self.send(b"POST", body=b"data")
        (request,) = self.seen
        self.assertEqual((request.method, request.path, request.query), ("POST", "/a%20b", "c=d"))
        self.assertEqual((request.body, request.headers["x-one"], request.peer.verified), (b"data", "1", False))
        self.assertTrue(head.startswith(b"HTTP/1.1 200 OK"))
        self.assertIn(b"content-type: a/b", head.lower())
        self.assertEqual(body, b"x")

    def test_costly_targets(self) -> None:
        """Targets that take long to be taken apart are refused as our own listener does (reference LIMIT-8)."""
        for target in (b"?" + b"&" * 1000, b"a\xe9"):
            self.transport.clear()
            self.channel.dataReceived(b"GET /" + target + b" HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertTrue(self.transport.value().startswith(b"HTTP/1.1 400 "), self.transport.value()[:200])
        self.assertEqual(self.seen, [])

    def test_pieces(self) -> None:
        """A body of pieces has its length."""
        self.result = Response(body=[b"y" * 200000] * 3)
        head, body = self.send()
        self.assertIn(b"content-length: 600000", head.lower())
        self.assertEqual(len(body), 600000)

    def test_head(self) -> None:
        """HEAD has no body."""
        head, body = self.send(b"HEAD")
        self.assertIn(b"content-length: 1", head.lower())
        self.assertEqual(body, b"")

    def test_status(self) -> None:
        """A StatusError becomes its Status, any other exception a logged 500."""
        for error, code in ((Conflict("no"), 409), (RuntimeError("boom"), 500)):
            self.result = error
            self.transport.clear()
            self.assertEqual(json.loads(self.send()[1])["code"], code)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)

    def test_too_large(self) -> None:
        """A body over 3 MiB is a 413 (reference LIMIT-1)."""
        head, _ = self.send(b"POST", body=b"x" * (3145728 + 1))
        self.assertIn(b" 413 ", head)

    def test_stream(self) -> None:
        """A stream's frames reach an HTTP/1.1 client in chunks and an HTTP/1.0 client bare."""
        for version, expected in ((b"1.1", b"3\r\none\r\n0\r\n\r\n"), (b"1.0", b"one")):
            self.setUp()
            stream = RecordedStream()
            self.result = Response(stream=stream)
            self.send(version=version)
            stream.channel.registerProducer(stream, True)
            stream.channel.write(chunk(b"one"))
            stream.channel.finish()
            self.assertEqual((self.taken()[1], stream.lost), (expected, 0))

    def test_client_leaves_a_stream(self) -> None:
        """A stream hears of it when its client leaves."""
        stream = RecordedStream()
        self.result = Response(stream=stream)
        self.send()
        self.leave()
        self.assertEqual(stream.lost, 1)

    def test_client_leaves_a_read(self) -> None:
        """A GET whose client leaves is cancelled, a POST is not."""
        for method, cancelled in ((b"GET", True), (b"POST", False)):
            self.setUp()
            self.result = Deferred()
            self.send(method)
            self.leave()
            self.assertEqual(self.result.called, cancelled, method)
