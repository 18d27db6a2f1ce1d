"""Time and memory: what a connection and its streams may take of them."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.request import Ending, Request, Response, chunk
from orchtw.serving.http2.connection import HTTP2Channel
from orchtw.serving.http2.shared import Shared
from orchtw.serving.http2.stream import EventChannel
from orchtw.serving.limits import EdgeLimits
from orchtw.wire import http2_frames as frames
from orchtw.wire.http2_frames import Code, FrameKind, Setting
from tests.serving.edge_doubles import RecordedStream, Waiting, answering
from tests.serving.http2.doubles import Wire, fields
from tests.serving.http2.test_reader import frame

MIB = 1 << 20
CLOSED = {Setting.INITIAL_WINDOW_SIZE: 0}


class TimeTests(SynchronousTestCase):
    """The limits of HTTP/1.1, each for what it is about (reference LIMIT-21)."""

    def test_idle(self) -> None:
        """A connection without requests ends after the idle time, and says so."""
        wire = Wire(limits=EdgeLimits(idle_s=100))
        wire.get()
        wire.pass_time(98)
        self.assertFalse(wire.closed)
        wire.pass_time(5)
        wire.clock.advance(0)
        self.assertEqual((wire.closed, wire.gone and wire.gone.error_code), (True, 0))

    def test_idle_watch(self) -> None:
        """A watch without events may last."""
        stream = RecordedStream()
        wire = Wire(answering(Response(stream=stream)), limits=EdgeLimits(idle_s=100, arrival_s=50, write_stall_s=30))
        wire.ask()
        wire.pass_time(1000)
        self.assertEqual((wire.closed, stream.lost), (False, 0))

    def test_slow_upload(self) -> None:
        """A body that takes too long is given up, other streams go on."""
        app = Waiting()
        wire = Wire(app, limits=EdgeLimits(arrival_s=20))
        running, slow = wire.ask(), wire.ask(fields("/", "POST"), ended=False)
        for _ in range(25):
            wire.give(slow, b"x", ended=False)
            wire.pass_time(1)
            if slow in wire.answers:
                break
        self.assertEqual(wire.answers[slow].reset, Code.CANCEL)
        self.assertEqual((running in wire.answers, wire.closed, len(app.waits)), (False, False, 1))

    def test_slow_frame(self) -> None:
        """A frame, or fields, that never become complete end the connection, however they trickle."""
        begun = frame(FrameKind.HEADERS, 0, 1, b"\x82") + frames.head(1000, FrameKind.CONTINUATION, 4, 1)
        for wire, first in ((Wire(limits=EdgeLimits(arrival_s=20)), begun), (Wire(begun=False), frames.PREFACE[:3])):
            wire.send(first)
            for _ in range(80):
                if first is begun:
                    wire.send(b"x")
                wire.pass_time(1)
            self.assertTrue(wire.closed)

    def test_closed_window(self) -> None:
        """An answer that its client does not let through is given up; a patient one is not."""
        patient, impatient = RecordedStream(), RecordedStream()
        endings: list[Ending] = []
        responses = [Response(body=b"x"), Response(stream=impatient), Response(stream=patient, patient=True)]
        for response in responses:
            response.on_end(endings.append)
        wire = Wire(answering(*responses), limits=EdgeLimits(write_stall_s=30), settings=CLOSED)
        for stream in (None, impatient, patient):
            wire.ask()
            if stream is not None:
                stream.channel.registerProducer(stream, True)
                stream.channel.write(chunk(b"x"))
        wire.pass_time(35)
        self.assertEqual([wire.answers[number].reset for number in (1, 3, 5)], [Code.CANCEL, Code.CANCEL, None])
        self.assertEqual((impatient.lost, patient.lost, endings), (1, 0, [Ending.ABORTED] * 2))
        wire.pass_time(100)
        self.assertFalse(wire.closed)

    def test_progress(self) -> None:
        """A client that reads a little now and then is kept."""
        limits = EdgeLimits(write_stall_s=10)
        wire = Wire(answering(Response(body=b"x" * 1000)), limits=limits, settings=CLOSED, frugal=True)
        wire.ask()
        for _ in range(10):
            wire.pass_time(5)
            wire.open(1, 10)
        self.assertEqual(len(wire.answers[1].body), 100)

    def test_stalled_transport(self) -> None:
        """A client that reads nothing of the connection is dropped."""
        wire = Wire(limits=EdgeLimits(write_stall_s=10))
        wire.transport.blocked = True
        wire.channel.dataReceived(frame(FrameKind.PING, 0, 0, bytes(8)))
        wire.clock.advance(0)
        wire.pass_time(8)
        self.assertFalse(wire.closed)
        wire.pass_time(8)
        self.assertTrue(wire.closed)


class BudgetTests(SynchronousTestCase):
    """Bytes of streams count against the common budget (reference LIMIT-23)."""

    def wire(self, app: Any = None, **others: Any) -> Wire:
        return Wire(app, limits=EdgeLimits(inflight_bytes=32 * MIB), known=True, **others)

    def used(self, wire: Wire) -> int:
        return wire.edge.budget.used_bytes

    def test_small_bodies(self) -> None:
        """All streams together may hold as much uncounted as one connection."""
        wire = self.wire()
        for _ in range(20):
            wire.ask(fields("/", "POST"), b"x" * 1000, ended=False)
        self.assertGreater(self.used(wire), 14 * 3000)
        for number in range(1, 41, 2):
            wire.give(number, b"x")
        self.assertEqual((self.used(wire), wire.channel.free_bytes, len(wire.seen)), (0, 0, 20))

    def test_announced(self) -> None:
        """Announced bytes count, from the head on; a request without room for them is a 429."""
        wire = self.wire()
        numbers = [wire.ask(fields("/", "POST", ("content-length", str(3 * MIB))), ended=False) for _ in range(11)]
        codes = [wire.answers[number].code for number in numbers if number in wire.answers]
        self.assertEqual(codes, [429, 429])
        self.assertEqual(wire.edge.budget.refused, 2)
        wire.leave()
        self.assertEqual((self.used(wire), wire.channel.free_bytes), (0, 0))

    def test_served(self) -> None:
        """A large request counts until it is answered."""
        app = Waiting()
        wire = self.wire(app)
        wire.ask(fields("/", "POST"), b"x" * MIB)
        self.assertGreater(self.used(wire), MIB)
        app.waits[0].callback(Response())
        self.assertEqual(self.used(wire), 0)

    def test_unsent(self) -> None:
        """Unread data counts once for all streams that share it, and is given back."""
        body = [b"x" * MIB]
        wire = self.wire(answering(*(Response(body=body) for _ in range(3))), settings=CLOSED, frugal=True)
        for _ in range(3):
            wire.ask()
        self.assertTrue(MIB <= self.used(wire) < 2 * MIB)
        wire.client.reset_stream(1)
        wire.open(3, 2 * MIB)
        wire.open(5, 2 * MIB)
        wire.open(0, 4 * MIB)
        self.assertEqual((self.used(wire), wire.answers[5].ended), (0, True))

    def test_events(self) -> None:
        """Events that wait for a window count, once for all streams that share them, until they are on their way."""
        streams = [RecordedStream() for _ in range(40)]
        wire = self.wire(answering(*(Response(stream=each) for each in streams)), settings=CLOSED, frugal=True)
        shared = chunk(b"x" * MIB)
        for _ in streams:
            wire.ask()
        for stream in streams:
            stream.channel.registerProducer(stream, True)
            stream.channel.write(shared)
        self.assertTrue(MIB <= self.used(wire) < 2 * MIB)
        for number in range(1, 80, 2):
            wire.open(number, 2 * MIB)
        wire.open(0, 50 * MIB)
        self.assertEqual((self.used(wire), {stream.lost for stream in streams}), (0, {0}))

    def test_too_many_events(self) -> None:
        """Without room for what waits a stream ends; those that stand still make room first."""
        streams = [RecordedStream() for _ in range(40)]
        wire = self.wire(answering(*(Response(stream=each) for each in streams)), settings=CLOSED, frugal=True)
        for each, stream in enumerate(streams):
            wire.ask()
            stream.channel.registerProducer(stream, True)
            stream.channel.write(chunk(b"%d" % each * MIB))
            if each == 35:
                wire.pass_time(5)
        wire.exchange()
        resets = [wire.answers[number].reset for number in range(1, 80, 2)]
        self.assertLess(self.used(wire), 32 * MIB)
        self.assertEqual({Code.INTERNAL_ERROR, Code.ENHANCE_YOUR_CALM, None}, set(resets))
        self.assertEqual(resets[-1], None)
        self.assertEqual([stream.lost for stream in streams], [int(each is not None) for each in resets])

    def test_stillness(self) -> None:
        """Uploads that stand still make room for others: they are refused, and their connection goes on."""
        wire = self.wire()
        for _ in range(9):
            wire.ask(fields("/", "POST", ("content-length", str(3 * MIB))), ended=False)
        wire.pass_time(5)
        late = wire.ask(fields("/", "POST", ("content-length", str(3 * MIB))), ended=False)
        self.assertEqual((wire.answers[1].code, late in wire.answers, wire.closed), (429, False, False))

    def test_unread_answers(self) -> None:
        """Answers that nobody takes make room too: their streams are reset."""
        responses = [Response(body=b"x" * 200_000) for _ in range(200)]
        wire = self.wire(answering(*responses), settings=CLOSED, streams=300)
        for _ in range(150):
            wire.ask()
        self.assertEqual(wire.answers[299].reset, Code.INTERNAL_ERROR)
        wire.pass_time(5)
        for _ in range(10):
            wire.ask()
        self.assertIn(Code.ENHANCE_YOUR_CALM, [answer.reset for answer in wire.answers.values()])

    def test_fields_that_trickle(self) -> None:
        """Fields that are not complete count."""
        wire = self.wire()
        wire.send(frame(FrameKind.HEADERS, 0, 1, bytes(16_000)) + frame(FrameKind.CONTINUATION, 0, 1, bytes(16_000)))
        self.assertEqual(self.used(wire), 32_000)
        wire.leave()
        self.assertEqual(self.used(wire), 0)


class Traced(list[Any]):
    """A list that can be looked for afterwards."""


class IdleWatchTests(SynchronousTestCase):
    """Memory of an idle watch: many of them are open for long, and each byte counts."""

    def test_keeps_nothing(self) -> None:
        """While a stream runs, neither its request nor the rest of its answer is in memory."""
        stream, kept = RecordedStream(), []

        async def app(request: Request) -> Response:
            request.warnings, headers = Traced(), Traced([("A", "b")])
            kept.extend([weakref.ref(request.warnings), weakref.ref(headers)])
            return Response(stream=stream, headers=headers)

        wire = Wire(app)
        wire.ask()
        gc.collect()
        self.assertEqual([each() for each in kept], [None, None])

    def test_slots(self) -> None:
        """All that a connection, a stream and its way out have is in slots."""
        wire = Wire(answering(Response(stream=RecordedStream())))
        wire.ask()
        [stream] = wire.channel._streams.values()
        shared = Shared(wire.edge, 1)
        for each in (stream, stream.transport, EventChannel(stream.transport, shared, stream), HTTP2Channel(shared)):
            self.assertFalse(hasattr(each, "__dict__"), each)

    def test_no_cycle(self) -> None:
        """Ended streams are freed at once, without the collector."""
        wire = Wire(Waiting())
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        outlets = []
        for body in (None, b"x"):
            number = wire.ask(fields("/", "POST"), body)
            outlets.append(weakref.ref(wire.channel._streams[number]._request))
            waiting: Deferred[Response] = wire.edge.app.waits.pop()  # type: ignore[attr-defined]
            waiting.callback(Response())
            del waiting
        wire.exchange()
        self.assertEqual([each() for each in outlets], [None, None])
