"""Bytes of all connections are bounded (reference LIMIT-9)."""

from __future__ import annotations

import json
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import ILogObserver, LogEvent, formatEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from orchtw.errors import Unauthorized
from orchtw.request import Request, Response
from orchtw.serving.answers import status_response
from orchtw.serving.limits import EdgeLimits
from tests.serving.edge_doubles import GET, RecordedStream, Waiting, Wire, answering, lose

MIB = 1 << 20
# Anonymous peers have 4 MiB of it, the others 28.
LIMITS = EdgeLimits(inflight_bytes=32 * MIB, write_stall_s=30)
UPLOAD = b"POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 3145728\r\n\r\n"


def code(written: bytes) -> int:
    return int(written[9:12]) if written else 0


def lazily(*pieces: bytes) -> Any:
    """A body whose pieces are made when they are asked for."""

    class Made(list[bytes]):
        pass

    class Lazy:
        def __iter__(self) -> Any:
            return iter([bytes(bytearray(piece)) for piece in pieces])

    return Lazy()


class UploadTests(SynchronousTestCase):
    def begin(self, first: Wire, count: int, *, known: bool) -> tuple[list[Wire], list[int]]:
        """That many uploads that stop before their last byte; and what they were told."""
        wires = [Wire(beside=first, known=known) for _ in range(count)]
        return wires, [code(wire.send(UPLOAD + b"x" * 10_000)) for wire in wires]

    def test_unfinished_bodies(self) -> None:
        """200 bodies of 3 MiB that never end take an eighth of the budget, or the rest; the others get a 429."""
        for known, fitting in ((False, 1), (True, 9)):
            first = Wire(limits=LIMITS)
            wires, told = self.begin(first, 200, known=known)
            self.assertEqual((told.count(0), told.count(429)), (fitting, 200 - fitting))
            self.assertLess(first.edge.budget.used_bytes, LIMITS.inflight_bytes)
            self.assertTrue(all(wire.closed for wire, told_code in zip(wires, told, strict=True) if told_code))

    def test_others_are_served(self) -> None:
        """While anonymous peers hold all they may, they and others are served, and the others may upload."""
        first = Wire(limits=LIMITS)
        self.begin(first, 200, known=False)
        self.assertEqual(code(Wire(beside=first).send(GET)), 200)
        for known in (True, False):
            wire = Wire(beside=first, known=known)
            self.assertEqual(code(wire.send(UPLOAD)), 0 if known else 429)
            if known:
                self.assertEqual(code(wire.send(b"x" * 3145728)), 200)

    def test_refusal(self) -> None:
        """The 429 says why, and when to come back."""
        first = Wire(limits=LIMITS)
        self.begin(first, 2, known=False)
        head, _, body = Wire(beside=first).send(UPLOAD).partition(b"\r\n\r\n")
        self.assertIn(b"Retry-After: 1", head)
        self.assertIn(b"Connection: close", head)
        status = json.loads(body)
        text = "the server holds too many bytes of unfinished requests and responses, please try again later"
        self.assertEqual((status["reason"], status["message"]), ("TooManyRequests", text))

    def test_still_uploads_make_room(self) -> None:
        """An upload that stands still is refused when somebody else needs its room, and not before."""
        first = Wire(limits=LIMITS)
        (still,), _ = self.begin(first, 1, known=False)
        first.pass_time(4)
        self.assertFalse(still.closed)
        moving = Wire(beside=first)
        self.assertEqual(code(moving.send(UPLOAD)), 0)
        self.assertEqual((code(still.transport.taken()), still.closed), (429, True))
        self.assertEqual(code(moving.send(b"x" * 3145728)), 200)
        self.assertEqual(first.edge.budget.used_bytes, 0)

    def test_long_heads(self) -> None:
        """Heads count while they are not complete: of 200 of 900 KB, anonymous peers may have four at a time."""
        first = Wire(limits=LIMITS)
        told = []
        for _ in range(200):
            wire = Wire(beside=first)
            told.append(code(wire.send(b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: " + b"x" * 900_000)))
        self.assertEqual((told.count(0), told.count(429)), (4, 196))

    def test_served_requests_count(self) -> None:
        """A long request counts until it is answered, although its client may have left; it makes room for nobody."""
        app = Waiting()
        first = Wire(app, limits=LIMITS)
        first.send(UPLOAD + b"x" * 3145728)
        lose(first)
        first.pass_time(10)
        self.assertEqual(code(Wire(beside=first).send(UPLOAD)), 429)
        app.waits[0].callback(Response())
        self.assertEqual(first.edge.budget.used_bytes, 0)

    def test_short_requests_are_not_counted(self) -> None:
        """A request that comes in one read holds nothing of the budget, even while it waits."""
        app = Waiting()
        wire = Wire(app, limits=LIMITS)
        wire.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n" + b"x" * 10_000)
        self.assertEqual((len(app.waits), wire.edge.budget.used_bytes), (1, 0))

    def test_pipelined_requests_count(self) -> None:
        """Requests that wait behind a running one count, parsed or not; who sends too many is dropped."""
        for data in (GET * 500, GET * 2000):
            app = Waiting()
            wire = Wire(app, limits=LIMITS)
            for _ in range(3):
                wire.channel.dataReceived(data[:16000])
            self.assertGreater(wire.edge.budget.used_bytes, 16000)
            blocking = [Wire(beside=wire) for _ in range(10)]
            for each in blocking:
                for _ in range(5):
                    each.channel.dataReceived(data[:16000])
            self.assertLessEqual(wire.edge.budget.used_bytes, 4 * MIB)
            self.assertTrue(blocking[-1].transport.disconnected)

    def test_report(self) -> None:
        """The log says once a sweep what the budget has cost clients, and is silent otherwise."""
        lines: list[str] = []

        @implementer(ILogObserver)
        def observe(event: LogEvent) -> None:
            lines.append(formatEvent(event))

        globalLogPublisher.addObserver(observe)
        self.addCleanup(globalLogPublisher.removeObserver, observe)
        first = Wire(limits=LIMITS)
        self.begin(first, 5, known=False)
        first.pass_time(8)
        found = [line for line in lines if "max-inflight-bytes" in line]
        self.assertEqual(found, ["connections have used up --max-inflight-bytes: 0 were closed, 4 refused"])


class ScreenTests(SynchronousTestCase):
    def wire(self, verdict: Response | bool) -> Wire:
        self.heads: list[Request] = []

        def screen(head: Request) -> Any:
            self.heads.append(head)
            return answering(verdict)(head) if isinstance(verdict, Response) else verdict

        return Wire(limits=LIMITS, screen=screen)

    def test_refused_head(self) -> None:
        """A request whose head is refused is answered before its body comes, without a 100 and without the app."""
        wire = self.wire(status_response(Unauthorized()))
        written = wire.send(UPLOAD[:-2] + b"Expect: 100-continue\r\nAuthorization: Bearer x\r\n\r\n")
        self.assertEqual((code(written), wire.closed, wire.seen), (401, True, []))
        (head,) = self.heads
        self.assertEqual((head.method, head.path, head.body), ("POST", "/up", b""))
        self.assertEqual(head.headers["authorization"], "Bearer x")

    def test_continue(self) -> None:
        """A request whose head is passed gets its 100, and then is an ordinary request; it is looked at once."""
        wire = self.wire(verdict=True)
        written = wire.send(UPLOAD[:-2] + b"Expect: 100-continue\r\n\r\n")
        self.assertEqual(code(written), 100)
        for _ in range(3):
            written = wire.send(b"x" * MIB)
        self.assertEqual((code(written), len(self.heads), len(wire.seen[0].body)), (200, 1, 3 * MIB))

    def test_known_by_its_head(self) -> None:
        """A user that the head makes known uploads beside the anonymous ones' share."""
        wire = self.wire(verdict=True)
        other = Wire(beside=wire)
        self.assertEqual([code(each.send(UPLOAD)) for each in (wire, other)], [0, 0])

    def test_known_by_certificate(self) -> None:
        """A verified certificate is known: its requests are not looked at before."""
        self.wire(verdict=False)
        wire = Wire(beside=self.wire(verdict=False), known=True)
        wire.send(UPLOAD)
        self.assertEqual(self.heads, [])

    def test_short_requests(self) -> None:
        """A request that comes whole and short is not looked at: the app does it."""
        wire = self.wire(status_response(Unauthorized()))
        self.assertEqual((code(wire.send(GET)), self.heads), (200, []))

    def test_long_request_at_once(self) -> None:
        """A long request that comes whole is looked at too, and its connection goes on after the refusal."""
        wire = self.wire(status_response(Unauthorized()))
        body = b"POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 40000\r\n\r\n" + b"x" * 40000
        wire.channel._screened = True
        self.assertEqual(code(wire.send(body)), 200)
        self.assertEqual(code(wire.send(body)), 401)


class ReaderTests(SynchronousTestCase):
    def unread(self, first: Wire, count: int, response: Any) -> list[Wire]:
        wires = []
        for _ in range(count):
            first.edge.app = answering(response())
            wire = Wire(beside=first, known=True)
            wire.transport.blocked = True
            wire.channel.dataReceived(GET)
            wires.append(wire)
        return wires

    def test_shared_answers(self) -> None:
        """600 unread answers of the same 2.9 MB hold them once, and a view each."""
        first, body = Wire(limits=LIMITS), b"x" * 2_900_000
        wires = self.unread(first, 600, lambda: Response(body=(b"head", body)))
        self.assertLess(first.edge.budget.used_bytes, 3 * MIB)
        wires[0].transport.blocked = False
        while wires[0].transport.producer is not None:
            wires[0].transport.drain()
        self.assertTrue(wires[0].transport.value().endswith(body))
        for wire in wires:
            lose(wire)
        self.assertEqual(first.edge.budget.used_bytes, 0)

    def test_private_answers(self) -> None:
        """Of 600 answers of 2.9 MB of their own, as many are begun as the budget has room for; the rest are 429."""
        first = Wire(limits=LIMITS)
        wires = self.unread(first, 600, lambda: Response(body=bytes(bytearray(2_900_000))))
        told = [code(wire.transport.value()) for wire in wires]
        self.assertEqual((told.count(200), told.count(429)), (10, 590))
        self.assertLess(first.edge.budget.used_bytes, 28 * MIB)

    def test_answers_to_writes(self) -> None:
        """A write that has happened is never answered with a 429."""
        first = Wire(limits=LIMITS)
        self.unread(first, 20, lambda: Response(body=bytes(bytearray(2_900_000))))
        first.edge.app = answering(Response(code=201, body=b"y" * 300_000))
        wire = Wire(beside=first, known=True)
        self.assertEqual(code(wire.send(b"POST / HTTP/1.1\r\nHost: a\r\n\r\n")), 201)

    def test_still_readers_make_room(self) -> None:
        """A client that takes nothing is dropped when another's answer needs the room."""
        first = Wire(limits=LIMITS)
        still = self.unread(first, 9, lambda: Response(body=bytes(bytearray(2_900_000))))
        first.pass_time(4)
        (late,) = self.unread(first, 1, lambda: Response(body=bytes(bytearray(5_000_000))))
        self.assertEqual(code(late.transport.value()), 200)
        self.assertEqual([wire.transport.disconnected for wire in still], [True] + 8 * [False])

    def test_piece_behind(self) -> None:
        """A piece that is made to see whether it goes with the ones before it counts with those."""
        for headers in ("", "Accept-Encoding: gzip\r\n"):
            first = Wire(limits=LIMITS, run_in_thread=lambda *work: Deferred())
            body = lazily(b"{", b"x" * MIB)
            first.edge.app = answering(Response(body=body, length=MIB + 1))
            wire = Wire(beside=first, known=True)
            wire.transport.blocked = True
            wire.send(f"GET / HTTP/1.1\r\nHost: a\r\n{headers}\r\n".encode())
            wire.transport.drain()
            self.assertGreater(first.edge.budget.used_bytes, MIB)

    def test_pieces_that_are_made(self) -> None:
        """Of a list that is made while it is sent, the piece that is being sent counts."""
        first = Wire(limits=LIMITS)
        (wire,) = self.unread(first, 1, lambda: Response(body=lazily(b"x" * MIB, b"y" * 2 * MIB), length=3 * MIB))
        wire.transport.drain()
        self.assertEqual(first.edge.budget.used_bytes, MIB)
        for _ in range(4):
            wire.transport.drain()
        self.assertEqual(first.edge.budget.used_bytes, 2 * MIB)
        while wire.transport.producer is not None:
            wire.transport.drain()
        wire.transport.drain()
        first.pass_time(2)
        self.assertEqual(first.edge.budget.used_bytes, 0)

    def test_short_answers(self) -> None:
        """Unsent short answers count as well, and no longer than they wait."""
        first = Wire(limits=LIMITS)
        wires = self.unread(first, 200, lambda: Response(body=b"x" * 200_000))
        self.assertLessEqual(first.edge.budget.used_bytes, 28 * MIB)
        dropped = [wire.transport.disconnected for wire in wires]
        self.assertEqual(dropped.count(False), 146)
        for wire in wires:
            wire.transport.drain()
        first.pass_time(2)
        self.assertEqual(first.edge.budget.used_bytes, 0)

    def test_streams(self) -> None:
        """Data of a stream is shared and bounded by the transport: it does not count here."""
        stream = RecordedStream()
        first = Wire(answering(Response(stream=stream)), limits=LIMITS)
        first.transport.blocked = True
        first.send(GET)
        stream.channel.write(b"x" * 100_000)
        first.pass_time(4)
        self.assertEqual(first.edge.budget.used_bytes, 0)


class GzipTests(SynchronousTestCase):
    def test_compressing(self) -> None:
        """A compressor and the part that it works on count while the answer is sent."""
        jobs: list[tuple[Deferred[bytes], Any]] = []

        def run(function: Any, *arguments: Any) -> Deferred[bytes]:
            jobs.append((Deferred(), lambda: function(*arguments)))
            return jobs[-1][0]

        body = [bytes([i]) * 300_000 for i in range(4)]
        wire = Wire(answering(Response(body=body)), LIMITS, run)
        wire.send(GET[:-2] + b"Accept-Encoding: gzip\r\n\r\n")
        self.assertGreater(wire.edge.budget.used_bytes, 4 * 300_000 + 300_000)
        while jobs:
            job, work = jobs.pop(0)
            job.callback(work())
        self.assertEqual(wire.edge.budget.used_bytes, 0)
