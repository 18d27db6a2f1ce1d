"""Requests and answers over one HTTP/2 connection."""
# covers: orchtw.serving.http2.stream, orchtw.serving.http2.streams

from __future__ import annotations

import gzip
from itertools import pairwise
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionAborted
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import StatusError
from orchtw.request import Ending, Request, Response, chunk
from orchtw.serving.limits import EdgeLimits
from orchtw.wire.http2_frames import Code
from tests.serving.edge_doubles import RecordedStream, Waiting, answering
from tests.serving.http2.doubles import Wire, fields

MIB = 1 << 20


class RequestTests(SynchronousTestCase):
    def test_get(self) -> None:
        """A request without a body reaches the app as one of HTTP/1.1 would (reference REQ-32)."""
        wire = Wire()
        number = wire.ask(fields("/a/b?c=d", "GET", ("accept", "x/y"), ("x-two", "1"), ("x-two", "2")))
        [request] = wire.seen
        self.assertEqual((request.method, request.path, request.query), ("GET", "/a/b", "c=d"))
        self.assertEqual(dict(request.headers), {"accept": "x/y", "x-two": "1, 2", "host": "a"})
        self.assertEqual(request.lines("x-two"), ["1", "2"])
        self.assertEqual(request.peer, wire.transport.seen_peer)
        answer = wire.answers[number]
        self.assertEqual((answer.code, answer.body, answer.ended), (200, b"/a/b", True))
        self.assertEqual(answer.headers["content-length"], "4")
        self.assertEqual(wire.edge.in_flight, 0)

    def test_same_head(self) -> None:
        """Requests whose headers are equal are known to be, others are not."""
        wire = Wire()
        for path, more in (("/a", "1"), ("/b", "1"), ("/b", "2"), ("/a", "2"), ("/a", "1")):
            wire.ask(fields(path, "GET", ("x", more)))
        wire.ask(fields("/a", "GET", ("x", "1"), ("x", "2")))
        wire.ask(fields("/a", "GET", ("x", "y" * 5000)))
        heads = [request.same_head for request in wire.seen]
        same = [head is not None and head.headers == request.headers
                for head, request in zip(heads, wire.seen, strict=True)]  # fmt: skip
        self.assertEqual(same, [True] * 5 + [False] * 2)
        self.assertEqual([one is other for one, other in pairwise(heads[:5])], [True, False, True, False])

    def test_same_sender(self) -> None:
        """Requests with bodies are known by their headers too, beside those without."""
        wire = Wire()
        for method, more in (("PUT", "1"), ("GET", "1"), ("PUT", "1"), ("GET", "1"), ("PUT", "2")):
            wire.ask(fields("/a", method, ("x", more)), b"body" if method == "PUT" else None)
        heads = [request.same_head for request in wire.seen]
        self.assertEqual([head is not None for head in heads], [True] * 5)
        self.assertEqual([heads[0] is heads[2], heads[1] is heads[3], heads[0] is heads[4]], [True, True, False])

    def test_body(self) -> None:
        """A body comes whole, whatever its length, with and without that being told, and trailers are dropped."""
        wire = Wire()
        for size in (1, 20_000, MIB):
            for told in ((), (("content-length", str(size)),)):
                number = wire.ask(fields("/", "POST", *told), b"x" * size)
                self.assertEqual(wire.answers[number].code, 200)
                self.assertEqual(wire.seen.pop().body, b"x" * size)
        number = wire.ask(fields("/", "POST"), b"body", ended=False)
        wire.client.send_headers(number, [("x-checksum", "1")], end_stream=True)
        wire.exchange()
        self.assertEqual((wire.seen[0].body, wire.seen[0].headers.get("x-checksum")), (b"body", None))
        self.assertIsNone(wire.gone)

    def test_at_the_same_time(self) -> None:
        """Answers come in the order in which they are ready."""
        app = Waiting()
        wire = Wire(app)
        first, second = wire.ask(), wire.ask()
        app.waits[1].callback(Response(body=b"2"))
        wire.exchange()
        self.assertEqual((wire.answers[second].body, first in wire.answers), (b"2", False))
        app.waits[0].callback(Response(body=b"1"))
        wire.exchange()
        self.assertEqual(wire.answers[first].body, b"1")

    def test_as_many_as_agreed(self) -> None:
        """More requests than agreed upon are refused unseen, so that clients repeat them (reference LIMIT-20)."""
        app = Waiting()
        wire = Wire(app, streams=2)
        self.assertEqual(wire.client.remote_settings.max_concurrent_streams, 2)
        wire.client.remote_settings[3] = 100  # a client that does not care
        wire.client.remote_settings.acknowledge()
        numbers = [wire.ask() for _ in range(3)]
        self.assertEqual((len(app.waits), wire.answers[numbers[2]].reset), (2, Code.REFUSED_STREAM))
        app.waits[0].callback(Response())
        wire.exchange()
        wire.ask()
        self.assertEqual(len(app.waits), 3)

    def test_many_at_once(self) -> None:
        """A burst of requests is begun in turns of the reactor (reference LIMIT-20)."""
        wire = Wire(streams=1000)
        for number in range(1, 400, 2):
            wire.client.send_headers(number, fields(), end_stream=True)
        wire.channel.dataReceived(wire.client.data_to_send())
        self.assertEqual((len(wire.seen), wire.transport.producerState), (64, "paused"))
        wire.exchange()
        self.assertEqual((len(wire.seen), wire.transport.producerState), (200, "producing"))

    def test_head(self) -> None:
        """HEAD has the head alone."""
        wire = Wire(answering(Response(body=b"x" * 70_000), Response(stream=RecordedStream())))
        for length in ("70000", None):
            answer = wire.answers[wire.ask(fields("/", "HEAD"))]
            self.assertEqual((answer.headers.get("content-length"), answer.body, answer.ended), (length, b"", True))

    def test_expectation(self) -> None:
        """Expect: 100-continue gets a 100 before the body; other expectations are refused."""
        wire = Wire()
        wanted = fields("/", "POST", ("expect", "100-continue"), ("content-length", "4"))
        number = wire.ask(wanted, ended=False)
        self.assertEqual(wire.answers[number].informed, ["100"])
        wire.give(number, b"body")
        self.assertEqual((wire.answers[number].code, wire.seen[0].body), (200, b"body"))
        self.assertEqual(wire.answers[wire.ask(wanted, b"body")].code, 200)
        self.assertEqual(wire.get("/", ("expect", "more")).code, 417)

    def test_failure(self) -> None:
        """An exception of the app becomes a response: a refusal, or a 500 and one traceback."""
        async def app(_request: Request) -> Response:
            raise errors.pop(0)

        errors: list[Exception] = [StatusError("no"), ZeroDivisionError()]
        wire = Wire(app)
        self.assertEqual([wire.get().code, wire.get().code], [500, 500])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_upgrade(self) -> None:
        """Upgrades are refused: HTTP/2 has none (reference REQ-32)."""
        stream = RecordedStream()
        endings: list[Ending] = []
        response = Response(code=101, stream=stream, upgrade=lambda *_: None)
        response.on_end(endings.append)
        answer = Wire(answering(response)).get()
        self.assertEqual((answer.code, b"needs HTTP/1.1" in answer.body), (400, True))
        self.assertEqual((stream.lost, endings), (1, [Ending.ABORTED]))


class EarlyTests(SynchronousTestCase):
    """Requests that are refused before their body has come."""

    def test_too_large(self) -> None:
        """413, announced or not; other streams go on (reference LIMIT-21)."""
        wire = Wire(limits=EdgeLimits(body_bytes=1000))
        for told in ((("content-length", "1001"),), ()):
            number = wire.ask(fields("/", "POST", *told), ended=False)
            if not told:
                wire.give(number, b"x" * 1001, ended=False)
            answer = wire.answers[number]
            self.assertEqual((answer.code, answer.ended, answer.reset), (413, True, Code.NO_ERROR))
        self.assertEqual((wire.get().code, wire.seen[0].path, wire.edge.in_flight), (200, "/one", 0))

    def test_declined(self) -> None:
        """A request that is refused for its body passes the app's stages with its head."""
        async def decline(request: Request, refusal: StatusError) -> Response:
            return Response(code=refusal.code, body=request.path.encode())

        wire = Wire(limits=EdgeLimits(body_bytes=10), decline=decline)
        answer = wire.answers[wire.ask(fields("/x", "POST", ("content-length", "11")), ended=False)]
        self.assertEqual((answer.code, answer.body, wire.edge.in_flight), (413, b"/x", 0))

    def test_screened(self) -> None:
        """A head that is refused is answered before the body; who is known once is not asked again."""
        async def refuse() -> Response:
            return Response(code=401)

        asked: list[str] = []

        def screen(head: Request) -> Any:
            asked.append(head.path)
            return refuse() if head.path == "/no" else head.path == "/known"

        wire = Wire(screen=screen)
        for path in ("/no", "/unknown", "/known", "/no"):
            wire.ask(fields(path, "POST"), ended=False)
        self.assertEqual(asked, ["/no", "/unknown", "/known"])
        self.assertEqual((wire.answers[1].code, wire.answers[1].reset), (401, Code.NO_ERROR))

    def test_rest_is_thrown_away(self) -> None:
        """The rest of a refused body is dropped."""
        wire = Wire(limits=EdgeLimits(body_bytes=10))
        wire.client.send_headers(1, fields("/", "POST"))
        for _ in range(3):
            wire.client.send_data(1, b"x" * 16384)
        wire.exchange()
        wire.next = 3
        self.assertEqual((wire.answers[1].code, wire.gone, wire.get().code), (413, None, 200))


class LongAnswerTests(SynchronousTestCase):
    def test_pieces(self) -> None:
        """A long answer is the same whatever it is made of."""
        whole = bytes(range(256)) * 8000
        responses = [
            Response(body=whole),
            Response(body=[whole[:1000], whole[1000:]], length=len(whole)),
            Response(parts=iter([whole[:5], b"", whole[5:]])),
        ]
        wire = Wire(answering(*responses))
        for length in (str(len(whole)), str(len(whole)), None):
            answer = wire.get()
            self.assertEqual((answer.body == whole, answer.ended), (True, True))
            self.assertEqual(answer.headers.get("content-length"), length)
        self.assertEqual(wire.edge.in_flight, 0)

    def test_gzip(self) -> None:
        """Long responses are compressed for clients that accept it (reference REQ-24)."""
        wire = Wire(answering(Response(body=[b"x" * MIB])))
        answer = wire.get("/", ("accept-encoding", "gzip"))
        self.assertEqual(gzip.decompress(answer.body), b"x" * MIB)
        self.assertEqual(answer.headers["vary"], "Accept-Encoding")
        self.assertNotIn("content-length", answer.headers)

    def test_parts_that_cannot_be_made(self) -> None:
        """The client must not take what it has for the whole: the stream is reset, and others go on."""
        def parts() -> Any:
            yield b"one"
            raise StatusError("no more")

        response = Response(parts=parts())
        endings: list[Ending] = []
        response.on_end(endings.append)
        wire = Wire(answering(response, Response()))
        answer = wire.get()
        self.assertEqual((answer.body, answer.ended, answer.reset), (b"one", False, Code.INTERNAL_ERROR))
        self.assertEqual((endings, wire.get().code, wire.edge.in_flight), ([Ending.ABORTED], 200, 0))


class StreamTests(SynchronousTestCase):
    """Bodies that come over time."""

    def setUp(self) -> None:
        self.stream = RecordedStream()
        self.endings: list[Ending] = []
        self.response = Response(stream=self.stream, content_type="application/json")
        self.response.on_end(self.endings.append)
        self.wire = Wire(answering(self.response, Response(body=b"2")))
        self.number = self.wire.ask()
        self.answer = self.wire.answers[self.number]

    def test_events(self) -> None:
        """HTTP/1's framing is taken off; other requests pass meanwhile, and the end is a good one."""
        self.stream.channel.write(chunk(b"one") + chunk(b"two"))
        self.stream.channel.write_pieces([b"three", b"four"])
        self.assertEqual(self.wire.get().body, b"2")
        self.assertEqual((self.answer.code, self.answer.body, self.wire.edge.streams), (200, b"onetwothreefour", 1))
        self.stream.channel.finish(Ending.DEADLINE)
        self.wire.exchange()
        self.assertEqual((self.answer.ended, self.answer.reset), (True, None))
        self.assertEqual((self.endings, self.wire.edge.streams, self.wire.closed), ([Ending.DEADLINE], 0, False))

    def test_large_chunk(self) -> None:
        """A chunk that is larger than a frame comes in several."""
        self.stream.channel.write(chunk(b"x" * 50_000))
        self.wire.exchange()
        self.assertEqual(self.answer.body, b"x" * 50_000)

    def test_client_resets(self) -> None:
        """A stream that its client resets is over, and nothing else is."""
        self.wire.client.reset_stream(self.number)
        self.wire.exchange()
        self.assertEqual((self.stream.lost, self.endings, self.wire.edge.in_flight), (1, [Ending.CLIENT_GONE], 0))
        self.assertEqual(self.wire.get().body, b"2")

    def test_client_leaves(self) -> None:
        """All streams of a client that leaves are over."""
        self.wire.leave()
        self.assertEqual((self.stream.lost, self.endings, self.wire.edge.in_flight), (1, [Ending.CLIENT_GONE], 0))
        self.assertEqual(self.wire.edge.channels, set())

    def test_server_drops(self) -> None:
        """An end that is the server's own doing is told as such."""
        self.wire.channel.connectionLost(Failure(ConnectionAborted()))
        self.assertEqual(self.endings, [Ending.ABORTED])

    def test_aborted(self) -> None:
        """A stream that cannot go on is reset."""
        self.stream.channel.abort()
        self.wire.exchange()
        self.assertEqual((self.answer.reset, self.endings), (Code.INTERNAL_ERROR, [Ending.ABORTED]))

    def test_half_closed(self) -> None:
        """A client that sends no more gets the end of its watches, and the close behind it."""
        self.wire.channel.readConnectionLost()
        self.wire.hear()
        self.assertEqual((self.answer.ended, self.stream.lost, self.wire.closed), (True, 1, True))


class LeavingTests(SynchronousTestCase):
    """Clients that give requests up (reference DESIGN-14)."""

    def setUp(self) -> None:
        self.app = Waiting()
        self.wire = Wire(self.app)

    def reset(self, number: int) -> None:
        self.wire.client.reset_stream(number)
        self.wire.exchange()

    def test_read(self) -> None:
        """A read is cancelled."""
        self.reset(self.wire.ask())
        self.assertEqual((self.app.ended, self.wire.edge.in_flight), (["cancelled", "/one"], 0))

    def test_write(self) -> None:
        """A write runs to its end, and counts as long as it does (reference LIMIT-20)."""
        self.wire = Wire(self.app, streams=1)
        self.reset(self.wire.ask(fields("/", "POST"), b"x"))
        self.assertEqual((self.app.ended, self.wire.edge.in_flight), ([], 1))
        self.assertEqual(self.wire.answers[self.wire.ask()].reset, Code.REFUSED_STREAM)
        endings: list[Ending] = []
        response = Response()
        response.on_end(endings.append)
        self.app.waits[0].callback(response)
        self.assertEqual((endings, self.wire.edge.in_flight), ([Ending.CLIENT_GONE], 0))
        self.wire.ask()
        self.assertEqual(len(self.app.waits), 2)

    def test_upload(self) -> None:
        """A request that is not complete is forgotten."""
        self.reset(self.wire.ask(fields("/", "POST"), b"x", ended=False))
        self.assertEqual((self.app.waits, self.wire.edge.in_flight), ([], 0))


class EndTests(SynchronousTestCase):
    """The end of a connection, which is told before it comes (reference REQ-32)."""

    def setUp(self) -> None:
        self.stream = RecordedStream()
        self.waiting: Deferred[Response] = Deferred()
        self.wire = Wire(self.app)

    async def app(self, request: Request) -> Response:
        if request.path == "/watch":
            return Response(stream=self.stream)
        if request.path == "/last":
            return Response(last=True)
        return await self.waiting

    def told(self) -> tuple[int, int | None]:
        self.wire.hear()
        assert self.wire.gone is not None
        return self.wire.gone.error_code, self.wire.gone.last_stream_id

    def test_last(self) -> None:
        """Behind the last answer no more requests are taken; what runs is not hurt (reference LIMIT-17)."""
        number = self.wire.ask(fields("/watch"))
        self.wire.get("/last")
        self.assertEqual(self.told(), (0, 3))
        self.wire.send(b"\0\0\x04\x01\x05\0\0\0\x05\x82\x87\x84\x41")
        self.assertEqual((self.stream.lost, self.wire.closed), (0, False))
        self.stream.channel.finish()
        self.wire.clock.advance(0)
        self.assertEqual((number, self.wire.closed), (1, True))

    def test_idle(self) -> None:
        """A connection without requests closes at once when the server stops."""
        self.wire.edge.take_no_more()
        self.assertEqual((self.told(), self.wire.closed), ((0, 0), True))

    def test_take_no_more(self) -> None:
        """Before the end what runs goes on, watches too."""
        self.wire.ask(fields("/watch"))
        self.wire.edge.take_no_more()
        self.assertEqual((self.told(), self.stream.lost, self.wire.closed), ((0, 1), 0, False))

    def test_wind_down(self) -> None:
        """At the end watches end in order, and running requests are answered."""
        self.wire.ask(fields("/watch"))
        self.wire.ask(fields("/slow"))
        self.wire.edge.wind_down()
        self.assertEqual((self.told(), self.stream.lost, self.wire.closed), ((0, 3), 1, False))
        self.waiting.callback(Response())
        self.wire.exchange()
        self.assertEqual(self.wire.answers[3].code, 200)
        self.assertEqual((self.wire.closed, self.wire.edge.in_flight), (True, 0))

    def test_distrust(self) -> None:
        """Clients with certificates have to present them again; others stay (reference AUTHN-55)."""
        self.wire.edge.distrust()
        self.wire.exchange()
        self.assertIsNone(self.wire.gone)
        self.wire = Wire(self.app, known=True)
        self.wire.edge.distrust()
        self.assertEqual((self.told(), self.wire.closed), ((0, 0), True))

    def test_late(self) -> None:
        """A connection that comes while the server stops takes nothing."""
        self.wire = Wire(late=True)
        self.assertEqual((self.told(), self.wire.closed), ((0, 0), True))

    def test_client_goes(self) -> None:
        """A client that says goodbye is let go when it has its answers."""
        self.wire.ask(fields("/watch"))
        self.wire.client.close_connection()
        self.wire.exchange()
        self.assertFalse(self.wire.closed)
        self.stream.channel.finish()
        self.wire.clock.advance(0)
        self.assertTrue(self.wire.closed)
