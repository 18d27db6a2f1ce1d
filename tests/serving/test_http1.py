"""HTTP/1.1 connections: exchanges, failures, upgrades and the end of the server."""
# covers: orchtw.serving.edge, orchtw.serving.exchange, orchtw.serving.answering

from __future__ import annotations

import json
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Conflict, StatusError, TooManyRequests
from orchtw.request import Request, Response
from orchtw.serving.exchange import OF_BODIES
from orchtw.serving.limits import EdgeLimits
from tests.serving.edge_doubles import (
    CLOSE,
    DATE,
    GET,
    PEER,
    POST,
    RecordedStream,
    Waiting,
    Wire,
    answering,
    lose,
    ok,
)


class ExchangeTests(SynchronousTestCase):
    def test_get(self) -> None:
        """A request is answered with length, date and body in one write, and the connection stays open."""
        wire = Wire()
        self.assertEqual(wire.send(GET), ok(b"/one"))
        self.assertFalse(wire.closed)
        self.assertIs(wire.seen[0].peer, PEER)

    def test_byte_by_byte(self) -> None:
        """Two requests cut into single bytes give the answers they give whole."""
        wire = Wire()
        written = b"".join(wire.send(bytes([byte])) for byte in GET + POST)
        self.assertEqual(written, ok(b"/one") + ok(b"/two"))
        self.assertEqual(wire.seen[1].body, b"body")

    def test_pipelining(self) -> None:
        """Pipelined requests are served one at a time and answered in their order (reference DESIGN-10)."""
        app = Waiting()
        wire = Wire(app)
        wire.send(GET + POST + GET)
        self.assertEqual(len(app.waits), 1)
        app.waits[0].callback(Response(body=b"1"))
        self.assertEqual((wire.transport.taken(), len(app.waits)), (ok(b"1"), 2))
        app.waits[1].callback(Response(body=b"2"))
        app.waits[2].callback(Response(body=b"3"))
        self.assertEqual(wire.transport.taken(), ok(b"2") + ok(b"3"))

    def test_refusal_waits_its_turn(self) -> None:
        """A malformed request behind a running one is answered after it, and the connection closed
        (reference DESIGN-10).
        """
        app = Waiting()
        wire = Wire(app)
        wire.send(GET)
        self.assertEqual(wire.send(b"nonsense\r\n\r\n"), b"")
        app.waits[0].callback(Response(body=b"1"))
        first, _, rest = wire.transport.taken().partition(b"HTTP/1.1 400 Bad Request\r\n" + DATE + CLOSE)
        self.assertEqual(first, ok(b"1"))
        status = json.loads(rest.partition(b"\r\n\r\n")[2])
        self.assertEqual((status["kind"], status["reason"], status["code"]), ("Status", "BadRequest", 400))
        self.assertTrue(wire.closed)

    def test_reading_stops_while_busy(self) -> None:
        """More than 64 KiB behind a running request stop the reading; its answer starts it again
        (reference DESIGN-9).
        """
        app = Waiting()
        wire = Wire(app)
        wire.send(GET)
        wire.send(b"x" * 65536)
        self.assertEqual(wire.transport.producerState, "producing")
        wire.send(b"x")
        self.assertEqual(wire.transport.producerState, "paused")
        app.waits[0].callback(Response())
        self.assertTrue(wire.closed)

    def test_many_held_requests(self) -> None:
        """A thousand pipelined requests are all answered, without recursion, and reading goes on."""
        app = Waiting()
        wire = Wire(app)
        wire.send(GET)
        for _ in range(3000):
            wire.send(GET)
        self.assertEqual(wire.transport.producerState, "paused")

        async def at_once(_request: Request) -> Response:
            return Response(body=b"x")

        wire.edge.app = at_once
        app.waits[0].callback(Response(body=b"x"))
        self.assertEqual(wire.transport.taken(), ok(b"x") * 3001)
        self.assertEqual(wire.transport.producerState, "producing")

    def test_unread_answers_hold_back_requests(self) -> None:
        """A client that reads nothing gets no further pipelined request served until it does (reference DESIGN-9)."""
        wire = Wire(answering(Response(body=b"x" * 70000), Response(body=b"2")))
        wire.transport.blocked = True
        wire.send(GET + GET)
        self.assertEqual(wire.edge.in_flight, 1)
        wire.transport.drain()
        self.assertEqual(wire.transport.taken(), ok(b"2"))

    def test_head(self) -> None:
        """HEAD has GET's Content-Length and no body (RFC 9110 §9.3.2)."""
        wire = Wire(answering(Response(body=[b"ab", b"c"]), Response(body=b"x" * 300000), Response(body=b"2")))
        get = GET.replace(b"GET", b"HEAD")
        self.assertEqual(wire.send(get), ok(b"")[:-4].replace(b"Length: 0", b"Length: 3") + b"\r\n\r\n")
        self.assertIn(b"Content-Length: 300000\r\n\r\n", wire.send(get))
        self.assertEqual(wire.send(GET), ok(b"2"))

    def test_at_once(self) -> None:
        """An answer that needs no waiting is sent as one that the app has been asked for, whatever the connection."""
        lines = "Content-Type: text/plain\r\nX: y\r\n"

        def response(size: int, lines: str) -> Response:
            return Response(content_type="text/plain", headers=[("X", "y")], body=b"x" * size, lines=lines)

        def sent(size: int, given: str, request: bytes, *, last: bool = False, draining: bool = False) -> object:
            ready = response(size, given)
            ready.last = last
            wire = Wire(answering(ready))
            wire.edge.draining = draining
            if given:
                wire.edge.at_once = lambda _request: ready
            return wire.send(request), wire.closed, wire.edge.in_flight

        closing = GET.replace(b"Host", b"Connection: close\r\nHost")
        for request in (GET, closing, GET.replace(b"1.1", b"1.0"), GET.replace(b"GET", b"HEAD")):
            for size in (0, 1, 16000, 16001, 300_000):
                self.assertEqual(sent(size, lines, request), sent(size, "", request))
        for way in ({"last": True}, {"draining": True}):
            self.assertEqual(sent(5, lines, GET, **way), sent(5, "", GET, **way))

    def test_asked_at_once(self) -> None:
        """The app is asked for what cannot be answered at once; a request that is counted is counted once."""
        wire = Wire()
        asked = []

        def at_once(request: Request) -> Response | None:
            asked.append(request.path)
            return None if len(asked) == 1 else Response(body=b"2", lines="X: y\r\n")

        wire.edge.at_once = at_once
        self.assertEqual(wire.send(GET), ok(b"/one"))
        self.assertEqual(wire.send(GET + GET).count(b"X: y\r\n\r\n2"), 2)
        self.assertEqual((asked, len(wire.seen), wire.edge.in_flight), (["/one"] * 3, 1, 0))

    def test_bodiless_codes(self) -> None:
        """204 and 304 have neither body nor Content-Length (RFC 9110 §8.6)."""
        for code in (204, 304):
            wire = Wire(answering(Response(code=code, body=b"x")))
            self.assertNotIn(b"Content-Length", wire.send(GET))

    def test_http10(self) -> None:
        """HTTP/1.0 closes after the answer, unless keep-alive is asked for, which the answer then says."""
        wire = Wire()
        data = b"GET /one HTTP/1.0\r\n%b\r\n"
        self.assertEqual(wire.send(data % b"Connection: keep-alive\r\n"), ok(b"/one", b"Connection: keep-alive\r\n"))
        self.assertEqual(wire.send(data % b""), ok(b"/one", CLOSE))
        self.assertTrue(wire.closed)

    def test_close(self) -> None:
        """`Connection: close` ends the connection after the answer; what follows is ignored."""
        wire = Wire()
        self.assertEqual(wire.send(GET[:-2] + CLOSE + b"\r\n" + GET), ok(b"/one", CLOSE))
        self.assertTrue(wire.closed)
        self.assertEqual(wire.send(GET), b"")

    def test_expect_continue(self) -> None:
        """A client that expects it gets a 100 before its body, in its turn (RFC 9110 §10.1.1)."""
        app = Waiting()
        wire = Wire(app)
        expecting = POST.replace(b"\r\n\r\nbody", b"\r\nExpect: 100-continue\r\n\r\n")
        self.assertEqual(wire.send(GET + expecting), b"")
        app.waits[0].callback(Response(body=b"1"))
        self.assertEqual(wire.transport.taken(), ok(b"1") + b"HTTP/1.1 100 Continue\r\n\r\n")
        self.assertEqual(wire.send(b"bo"), b"")
        wire.send(b"dy")
        app.waits[1].callback(Response(body=b"2"))
        self.assertEqual(wire.transport.taken(), ok(b"2"))

    def test_no_continue_for_a_refused_body(self) -> None:
        """A declared body over 3 MiB is refused before it is sent (reference LIMIT-1)."""
        wire = Wire()
        written = wire.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3145729\r\nExpect: 100-continue\r\n\r\n")
        self.assertTrue(written.startswith(b"HTTP/1.1 413 "))
        self.assertEqual(json.loads(written.partition(b"\r\n\r\n")[2])["reason"], "RequestEntityTooLarge")
        self.assertTrue(wire.closed)

    def test_refused_by_the_app(self) -> None:
        """A request refused for its body is answered by the app, which gets the head, unless no handler would see it
        (reference AUDIT-21).
        """
        asked: list[tuple[Request, int]] = []

        async def decline(request: Request, error: StatusError) -> Response:
            self.assertIsInstance(error, OF_BODIES)
            asked.append((request, error.code))
            return Response(code=error.code, body=b"told")

        top = b"POST /x HTTP/1.1\r\nHost: a\r\n"
        chunked = top + b"Transfer-Encoding: chunked\r\n\r\n10\r\n" + b"x" * 16
        declared = top + b"Content-Length: 11\r\n\r\n"
        for sent in (declared, chunked):
            wire = Wire(limits=EdgeLimits(body_bytes=10), decline=decline)
            written = wire.send(sent)
            self.assertTrue(written.startswith(b"HTTP/1.1 413 ") and written.endswith(b"\r\n\r\ntold"), written)
            self.assertTrue(wire.closed)
            request, told = asked.pop()
            self.assertEqual((request.method, request.path, request.body, told), ("POST", "/x", b"", 413))
        for sent in (declared.replace(b"POST", b"P\x00ST"), declared.replace(b"Host: a", b"Host: a\r\nHost: a")):
            Wire(limits=EdgeLimits(body_bytes=10), decline=decline).send(sent)
        long = declared.replace(b"Host: a", b"Host: a\r\nX: " + b"x" * 20_000)
        self.assertIn(b" 413 ", Wire(limits=EdgeLimits(body_bytes=10), decline=decline).send(long))
        self.assertEqual(asked, [])

    def test_response_headers(self) -> None:
        """Content type and the app's headers are sent as given."""
        response = Response(code=201, content_type="application/json", headers=[("Warning", '299 - "x"')])
        written = Wire(answering(response)).send(GET)
        expected = b'Content-Type: application/json\r\nWarning: 299 - "x"\r\n\r\n'
        self.assertEqual(written, b"HTTP/1.1 201 Created\r\n" + DATE + b"Content-Length: 0\r\n" + expected)

    def test_header_injection(self) -> None:
        """A header value with a line break is never written; the connection is dropped instead."""
        for value in ("a\r\nSet-Cookie: b", "a\nb", "a\rb"):
            wire = Wire(answering(Response(headers=[("X", value)])))
            self.assertEqual(wire.send(GET), b"")
            self.assertTrue(wire.closed)
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 3)


class FailureTests(SynchronousTestCase):
    def test_status_error(self) -> None:
        """A StatusError out of the app becomes its Status, and the connection stays."""

        async def app(_request: Request) -> Response:
            raise Conflict("no")

        wire = Wire(app)
        written = wire.send(GET)
        self.assertTrue(written.startswith(b"HTTP/1.1 409 Conflict\r\n"))
        self.assertEqual(json.loads(written.partition(b"\r\n\r\n")[2])["message"], "no")
        self.assertFalse(wire.closed)

    def test_retry_after(self) -> None:
        """retryAfterSeconds is also a Retry-After header."""

        async def app(_request: Request) -> Response:
            raise TooManyRequests("later", {"retryAfterSeconds": 3})

        self.assertIn(b"Retry-After: 3\r\n", Wire(app).send(GET))

    def test_any_exception(self) -> None:
        """An exception that the app lets out, at once or later, is a logged 500 and the end of the connection."""
        app = Waiting()
        wire = Wire(app)
        wire.send(GET)
        app.waits[0].errback(RuntimeError("boom"))
        self.assertTrue(wire.transport.taken().startswith(b"HTTP/1.1 500 "))
        self.assertTrue(wire.closed)
        self.assertEqual((len(self.flushLoggedErrors(RuntimeError)), wire.edge.in_flight), (1, 0))

    def test_leaving_cancels_a_read(self) -> None:
        """A client that leaves cancels its GET (reference DESIGN-14)."""
        app = Waiting()
        wire = Wire(app)
        wire.send(GET)
        lose(wire)
        self.assertEqual((app.ended, wire.edge.in_flight), (["cancelled", "/one"], 0))

    def test_leaving_is_told(self) -> None:
        """A request is told that its client has left, once, whatever it does."""
        told: list[str] = []
        waits: list[Deferred[Response]] = []

        async def app(request: Request) -> Response:
            request.on_leave(lambda: told.append(request.path))
            stay = request.on_leave(lambda: told.append("not this"))
            stay()
            waits.append(Deferred())
            return await waits[-1]

        wire = Wire(app)
        wire.send(POST)
        self.assertEqual(told, [])
        lose(wire)
        self.assertEqual(told, ["/two"])
        waits[0].callback(Response())
        self.assertEqual(told, ["/two"])

    def test_leaving_does_not_end_a_write(self) -> None:
        """A client that leaves does not cancel its POST, whose answer is dropped when it comes."""
        app = Waiting()
        wire = Wire(app)
        wire.send(POST)
        lose(wire)
        self.assertEqual((app.ended, wire.edge.in_flight), ([], 1))
        app.waits[0].callback(Response())
        self.assertEqual((app.ended, wire.edge.in_flight, wire.transport.taken()), (["/two"], 0, b""))


class UpgradeTests(SynchronousTestCase):
    REQUEST = GET[:-2] + b"Connection: Upgrade\r\nUpgrade: x\r\n\r\n"

    def test_hands_over(self) -> None:
        """After the 101 the transport and the bytes behind the request belong to the other protocol."""
        taken: list[Any] = []
        response = Response(
            code=101, headers=[("Upgrade", "x")], upgrade=lambda transport, rest, *_: taken.append((transport, rest))
        )
        wire = Wire(answering(response))
        written = wire.send(self.REQUEST + b"GET raw")
        self.assertEqual(
            written,
            b"HTTP/1.1 101 Switching Protocols\r\n" + DATE + b"Upgrade: x\r\nConnection: Upgrade\r\n\r\n",
        )
        self.assertEqual(taken, [(wire.transport, b"GET raw")])
        self.assertEqual((wire.edge.in_flight, wire.edge.channels), (0, set()))

    def test_declined(self) -> None:
        """An upgrade that the app does not take up is an ordinary request, and the connection goes on."""
        wire = Wire()
        self.assertEqual(wire.send(self.REQUEST + GET), ok(b"/one") * 2)


class LastAnswerTests(SynchronousTestCase):
    def test_last(self) -> None:
        """Behind an answer that is the last the connection closes; what was asked after it is not answered."""
        wire = Wire(answering(Response(body=b"1", last=True)))
        self.assertEqual(wire.send(GET + GET), ok(b"1", CLOSE))
        self.assertTrue(wire.closed)


class TakeNoMoreTests(SynchronousTestCase):
    """The end, while watches still go on (reference OPS-14)."""

    def test_idle(self) -> None:
        """An idle connection closes, and nothing needs an answer."""
        wire = Wire()
        wire.edge.take_no_more()
        self.assertTrue(wire.closed)
        self.successResultOf(wire.edge.answered())

    def test_running(self) -> None:
        """A running request is waited for, and its answer is the connection's last."""
        app = Waiting()
        wire = Wire(app)
        wire.send(GET)
        wire.edge.take_no_more()
        answered = wire.edge.answered()
        self.assertNoResult(answered)
        app.waits[0].callback(Response(body=b"1"))
        self.assertEqual(wire.transport.taken(), ok(b"1", CLOSE))
        self.successResultOf(answered)

    def test_stream(self) -> None:
        """A stream goes on and is not waited for; it is counted until it ends."""
        app = Waiting()
        wire = Wire(app)
        wire.send(GET)
        answered = wire.edge.answered()
        self.assertNoResult(answered)
        stream = RecordedStream()
        app.waits[0].callback(Response(stream=stream))
        self.successResultOf(answered)
        wire.edge.take_no_more()
        self.assertEqual((stream.lost, wire.edge.streams, wire.closed), (0, 1, False))
        wire.edge.wind_down()
        self.assertEqual((stream.lost, wire.edge.streams, wire.edge.in_flight, wire.closed), (1, 0, 0, True))


class WindDownTests(SynchronousTestCase):
    def test_idle(self) -> None:
        """An idle connection closes."""
        wire = Wire()
        wire.edge.wind_down()
        self.assertTrue(wire.closed)

    def test_running(self) -> None:
        """A running request is answered with `Connection: close`; draining then ends."""
        app = Waiting()
        wire = Wire(app)
        wire.send(GET)
        wire.edge.wind_down()
        drained = wire.edge.drain()
        self.assertNoResult(drained)
        app.waits[0].callback(Response(body=b"1"))
        self.assertEqual(wire.transport.taken(), ok(b"1", CLOSE))
        self.successResultOf(drained)
        self.assertTrue(wire.closed)

    def test_stream(self) -> None:
        """A stream ends with the last chunk, and is told."""
        stream = RecordedStream()
        wire = Wire(answering(Response(stream=stream)))
        wire.send(GET)
        wire.edge.wind_down()
        self.assertEqual((wire.transport.taken()[-5:], stream.lost), (b"0\r\n\r\n", 1))
        self.successResultOf(wire.edge.drain())
        self.assertTrue(wire.closed)
