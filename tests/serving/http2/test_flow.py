"""Flow control: windows, and a transport that takes nothing."""
# covers: orchtw.serving.http2.outlet

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import StatusError
from orchtw.request import Request, Response, chunk
from orchtw.serving.limits import EdgeLimits
from orchtw.wire import http2_frames as frames
from orchtw.wire.http2_frames import Code, Setting
from tests.properties import examples
from tests.serving.edge_doubles import RecordedStream, answering
from tests.serving.http2.doubles import Wire, fields

KIB = 1 << 10
MIB = 1 << 20
WINDOW = 65_535


class WindowTests(SynchronousTestCase):
    """Windows of the client (reference LIMIT-23)."""

    def test_body_waits(self) -> None:
        """A long answer goes as far as its window, and on when that opens; another one passes it."""
        body = bytes(range(256)) * 400
        wire = Wire(answering(Response(body=body), Response(body=b"2")), frugal=True)
        wire.open(0, 1 << 20)
        answer = wire.get()
        self.assertEqual((answer.body, answer.ended), (body[:WINDOW], False))
        self.assertEqual(wire.get().body, b"2")
        wire.open(1, 10)
        self.assertEqual(len(answer.body), WINDOW + 10)
        wire.open(1, 1 << 20)
        self.assertEqual((answer.body == body, answer.ended, wire.edge.in_flight), (True, True, 0))

    def test_connection_waits(self) -> None:
        """With the connection's window closed all wait, and go on each in its turn."""
        wire = Wire(answering(*(Response(body=b"x" * 60_000) for _ in range(3))), frugal=True)
        answers = [wire.get() for _ in range(2)]
        self.assertEqual([len(each.body) for each in answers], [60_000, WINDOW - 60_000])
        wire.ask()
        wire.open(0, 60_000)
        self.assertEqual([len(each.body) for each in answers], [60_000, 60_000])
        wire.open(0, 1 << 20)
        self.assertTrue(wire.answers[5].ended)

    def test_repeated_setting(self) -> None:
        """Of a setting that a frame repeats the last value stays in force (RFC 9113, 6.5.3)."""
        wire = Wire(answering(Response(body=b"x" * 100_000)), frugal=True)
        wire.get()
        wire.open(0, 1 << 20)
        size = Setting.INITIAL_WINDOW_SIZE
        written = wire.send(frames.settings([(size, 100_000), (size, 0), (size, WINDOW + 5000)]))
        self.assertEqual(written, frames.acknowledged_settings() + frames.head(5000, 0, 0, 1) + b"x" * 5000)

    def test_settings(self) -> None:
        """The client's settings change the windows of all streams, below zero too."""
        wire = Wire(answering(Response(body=b"x" * 100_000)), frugal=True)
        answer = wire.get()
        wire.open(0, 1 << 20)
        wire.client.update_settings({Setting.INITIAL_WINDOW_SIZE: 20_000})
        wire.exchange()
        wire.open(1, 45_000)
        self.assertEqual(len(answer.body), WINDOW)
        wire.open(1, 1000)
        self.assertEqual(len(answer.body), WINDOW + 465)
        wire.client.update_settings({Setting.INITIAL_WINDOW_SIZE: 120_000})
        wire.exchange()
        self.assertTrue(answer.ended)

    def test_short_answer_waits(self) -> None:
        """A client that opens no windows at all still gets heads and empty bodies."""
        settings = {Setting.INITIAL_WINDOW_SIZE: 0}
        wire = Wire(answering(Response(body=b"ab"), Response(code=204)), frugal=True, settings=settings)
        answer = wire.get()
        self.assertEqual((answer.code, answer.body), (200, b""))
        self.assertEqual(wire.get().ended, True)
        wire.open(1, 1)
        wire.open(1, 1)
        self.assertEqual((answer.body, answer.ended), (b"ab", True))

    @examples(40)
    @given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 40_000)), max_size=30), st.integers(0, 70_000))
    def test_whatever_opens(self, steps: list[tuple[int, int]], first: int) -> None:
        """However windows open, each answer comes whole, in order, and never more than was let."""
        bodies = [bytes([number]) * size for number, size in enumerate((50_000, 300_000))]
        made: list[Response] = [Response(body=bodies[0]), Response(parts=iter([bodies[1]]))]
        wire = Wire(answering(*made), frugal=True, settings={Setting.INITIAL_WINDOW_SIZE: first})
        answers = [wire.get(), wire.get()]
        let = [WINDOW, first, first]
        for target, count in steps:
            if answers[target - 1].ended and target:
                continue
            wire.open((0, 1, 3)[target], count)
            let[target] += count
            sizes = [len(answer.body) for answer in answers]
            self.assertLessEqual(sum(sizes), let[0])
            for answer, most, body in zip(answers, let[1:], bodies, strict=True):
                self.assertEqual(answer.body, body[: len(answer.body)])
                self.assertLessEqual(len(answer.body), most)
                self.assertTrue(len(answer.body) in (most, len(body)) or sum(sizes) == let[0])
        for number in (0, 1, 3):
            if not number or not wire.answers[number].ended:
                wire.open(number, 1 << 20)
        self.assertEqual([answer.body == body for answer, body in zip(answers, bodies, strict=True)], [True, True])
        self.assertEqual((wire.channel.stuck, wire.edge.in_flight), ({}, 0))


class WatchTests(SynchronousTestCase):
    """Streams whose clients do not keep up: they are paused, each by itself (reference LIMIT-23)."""

    def setUp(self) -> None:
        self.streams = [RecordedStream() for _ in range(3)]
        self.wire = Wire(answering(*(Response(stream=stream) for stream in self.streams)), frugal=True)
        self.answers = [self.wire.get() for _ in self.streams]
        self.channels = [stream.channel for stream in self.streams]
        for stream in self.streams:
            stream.channel.registerProducer(stream, True)

    def paused(self) -> list[int]:
        self.wire.exchange()
        return [stream.paused for stream in self.streams]

    def write(self, size: int) -> None:
        """The same event for all, as a group writes it: not to those that are paused."""
        framed = chunk(b"x" * size)
        for stream in self.streams:
            if not stream.paused:
                stream.channel.write(framed)

    def test_own_window(self) -> None:
        """One whose window is closed is paused; the others get everything."""
        self.wire.open(0, 1 << 20)
        self.write(60_000)
        for number in (1, 5):
            self.wire.open(number, 1 << 20)
        self.write(30_000)
        self.assertEqual(self.paused(), [0, 1, 0])
        self.write(10_000)
        self.wire.exchange()
        self.assertEqual([len(answer.body) for answer in self.answers], [100_000, WINDOW, 100_000])
        self.wire.open(3, 1 << 20)
        self.assertEqual((self.paused(), len(self.answers[1].body)), ([0, 0, 0], 90_000))

    def test_window_of_all(self) -> None:
        """When the connection's window is closed all are paused, and go on when it opens."""
        self.write(30_000)
        self.assertEqual(self.paused(), [0, 0, 1])
        self.wire.open(0, 1 << 20)
        self.assertEqual((self.paused(), [len(answer.body) for answer in self.answers]), ([0, 0, 0], [30_000] * 3))

    def test_full_transport(self) -> None:
        """A client that reads nothing pauses all; what is made once is kept once."""
        self.wire.transport.blocked = True
        self.wire.open(0, 1 << 20)
        self.write(22_000)
        self.write(10)
        self.assertEqual([stream.paused for stream in self.streams], [1, 1, 1])
        kept = {id(piece) for outlet in self.wire.channel.stuck for piece in outlet._pieces}
        self.assertEqual((len(self.wire.channel.stuck), len(kept)), (3, 1))
        self.wire.transport.blocked = False
        self.wire.transport.drain()
        self.assertEqual((self.paused(), [len(answer.body) for answer in self.answers]), ([0, 0, 0], [22_010] * 3))

    def test_end_waits(self) -> None:
        """The end comes behind what waits."""
        self.write(30_000)
        self.channels[2].finish()
        self.wire.exchange()
        self.assertFalse(self.answers[2].ended)
        self.wire.open(0, 1 << 20)
        self.assertEqual((len(self.answers[2].body), self.answers[2].ended), (30_000, True))

    def test_reset_while_it_waits(self) -> None:
        """Data that waits for a client is dropped when it resets the stream."""
        self.write(30_000)
        self.wire.client.reset_stream(5)
        self.wire.exchange()
        self.assertEqual((self.streams[2].lost, self.wire.channel.stuck), (1, {}))
        self.wire.open(0, 1 << 20)

    def test_one_write(self) -> None:
        """Events of one turn go out in one write, for all streams."""
        self.wire.transport.taken()
        written: list[int] = []
        self.wire.transport.write = lambda data: written.append(len(data))  # type: ignore[method-assign]
        self.write(100)
        self.write(50)
        self.assertEqual(written, [])
        self.wire.clock.advance(0)
        self.assertEqual(written, [3 * (109 + 59)])


class UnreadTests(SynchronousTestCase):
    def test_no_more_requests(self) -> None:
        """A client that reads nothing is not served further (reference DESIGN-9) until it reads."""
        seen: list[str] = []

        async def app(request: Request) -> Response:
            seen.append(request.method)
            return Response(headers=[("x", "y" * 1000)])

        wire = Wire(app, streams=1000)
        wire.transport.blocked = True
        for number in range(1, 401, 2):
            wire.client.send_headers(number, fields("/", "HEAD"), end_stream=True)
            wire.channel.dataReceived(wire.client.data_to_send())
            wire.clock.advance(0)
        self.assertEqual((50 < len(seen) < 100, wire.transport.producerState), (True, "paused"))
        wire.transport.blocked = False
        wire.transport.drain()
        for _ in range(10):
            wire.clock.advance(0)
        self.assertEqual((len(seen), wire.transport.producerState), (200, "producing"))

    def test_failure_in_a_turn(self) -> None:
        """A body that fails at the end of a turn ends its connection, and no other."""
        wire = Wire(answering(Response(stream=RecordedStream())))
        wire.ask()

        class Failing:
            def resumeProducing(self) -> None:
                raise ZeroDivisionError

            def stopProducing(self) -> None: ...

        wire.channel._streams[1].transport.registerProducer(Failing(), False)
        turned: list[int] = []

        class Other:
            transport = None

            def turn(self) -> None:
                turned.append(1)

        wire.channel._shared.later(Other())
        wire.clock.advance(0)
        self.assertEqual((len(self.flushLoggedErrors(ZeroDivisionError)), turned, wire.closed), (1, [1], True))


class LongAnswersTests(SynchronousTestCase):
    """Long answers of one connection take turns."""

    def parts(self, count: int, made: list[str], name: str) -> Any:
        for _ in range(count):
            made.append(name)
            yield b"x" * 16 * KIB

    def test_turns(self) -> None:
        """Each gets a part in a turn of the reactor."""
        made: list[str] = []
        wire = Wire(answering(*(Response(parts=self.parts(3, made, name)) for name in "ab")), frugal=True)
        wire.open(0, 1 << 20)
        for number in (1, 3):
            wire.client.send_headers(number, fields(), end_stream=True)
        wire.exchange()
        self.assertEqual("".join(made), "ababab")
        self.assertTrue(wire.answers[1].ended and wire.answers[3].ended)

    def test_full_transport(self) -> None:
        """While the transport takes nothing, no part is made."""
        made: list[str] = []
        wire = Wire(answering(Response(parts=self.parts(100, made, "a"))))
        wire.transport.blocked = True
        wire.channel.window = 1 << 30
        wire.ask()
        wire.channel._streams[1].transport.window = 1 << 30
        for _ in range(50):
            wire.clock.advance(0)
        self.assertLess(len(made), 8)
        wire.transport.blocked = False
        wire.transport.drain()
        wire.exchange()
        self.assertEqual((len(made), wire.answers[1].ended), (100, True))

    def test_closed_window(self) -> None:
        """No part is made before something of it can be sent, whichever window is closed."""
        for window, opened in ((0, (1, 0)), (MIB, (0,))):
            made: list[str] = []
            bodies = [Response(body=b"x" * WINDOW)] if opened == (0,) else []
            bodies.append(Response(parts=self.parts(20, made, "a")))
            wire = Wire(answering(*bodies), frugal=True, settings={Setting.INITIAL_WINDOW_SIZE: window})
            for _ in bodies:
                number = wire.ask()
            self.assertEqual((made, wire.answers[number].code), ([], 200))
            for stream in opened:
                wire.open(stream, 1)
            self.assertEqual((len(made), len(wire.answers[number].body)), (1, 1))
            for stream in (number, 0):
                wire.open(stream, MIB)
            self.assertEqual((len(made), wire.answers[number].ended, wire.channel.stuck), (20, True, {}))

    def test_no_window_for_long(self) -> None:
        """A stream that lets nothing through ends as one that has stopped in the middle (reference LIMIT-23)."""
        wire = Wire(
            answering(Response(parts=self.parts(20, [], "a"))),
            limits=EdgeLimits(write_stall_s=10),
            settings={Setting.INITIAL_WINDOW_SIZE: 0},
        )
        number = wire.ask()
        wire.pass_time(20)
        self.assertEqual((wire.answers[number].reset, wire.edge.in_flight), (Code.CANCEL, 0))

    def test_compressed(self) -> None:
        """A long answer is compressed as fast as its client takes it."""
        working: list[Deferred[bytes]] = []
        jobs: list[Any] = []

        def run(function: Any, *arguments: Any) -> Deferred[bytes]:
            jobs.append((function, arguments))
            working.append(Deferred())
            return working[-1]

        async def app(_request: Request) -> Response:
            return Response(body=[bytes(range(256)) * 1024 for _ in range(4)])

        wire = Wire(app, run_in_thread=run, frugal=True, settings={Setting.INITIAL_WINDOW_SIZE: 1})
        wire.ask(fields("/", "GET", ("accept-encoding", "gzip")))
        function, arguments = jobs[0]
        working[0].callback(function(*arguments))
        self.assertEqual(len(jobs), 1)
        wire.open(1, 1 << 20)
        self.assertEqual(len(jobs), 2)


class UploadTests(SynchronousTestCase):
    """Windows of the server (reference LIMIT-23)."""

    def test_windows(self) -> None:
        """A body has a window of 256 KiB, all of them 1 MiB, which open as they are taken."""
        wire = Wire()
        self.assertEqual(wire.client.remote_settings.initial_window_size, 256 * KIB)
        self.assertEqual(wire.client.outbound_flow_control_window, 1 << 20)
        number = wire.ask(fields("/", "POST"), ended=False)
        for _ in range(12):
            wire.give(number, b"x" * 200_000, ended=False)
        wire.give(number, b"x")
        self.assertEqual(len(wire.seen[0].body), 2_400_001)

    def test_more_than_let(self) -> None:
        """Sending more than the window ends the stream, or the connection."""
        async def never(_request: Request) -> Response:
            return await Deferred()

        async def decline(_head: Request, _refusal: StatusError) -> Response:
            return await Deferred()

        part = frames.head(16384, 0, 0, 1) + bytes(16384)
        wire = Wire(never, limits=EdgeLimits(body_bytes=1000), decline=decline)
        wire.ask(fields("/", "POST"), ended=False)
        wire.send(part * 16)
        self.assertIn(1, wire.channel._streams)
        self.assertEqual(wire.send(part), frames.reset(1, Code.FLOW_CONTROL_ERROR))
        wire.channel._window = 16383
        self.assertIn(b"flow control window exceeded", wire.send(part))
        self.assertTrue(wire.closed)
