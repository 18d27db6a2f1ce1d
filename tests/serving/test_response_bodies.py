"""Answers that come in pieces, over time, or for ever."""

from __future__ import annotations

from collections.abc import Iterator

from twisted.trial.unittest import SynchronousTestCase

from orchtw.request import Response, chunk
from tests.serving.edge_doubles import (
    CLOSE,
    DATE,
    GET,
    RecordedStream,
    Wire,
    answering,
    lose,
    ok,
)


class PieceBodyTests(SynchronousTestCase):
    def test_waits_for_the_client(self) -> None:
        """A long body is written a quarter of a MiB at a time, each part when the one before has been sent."""
        pieces = [bytes([i % 256]) * 6000 for i in range(200)]
        wire = Wire(answering(Response(body=pieces), Response(body=b"2")))
        wire.transport.blocked = True
        written = wire.send(GET + GET)
        self.assertIn(b"Content-Length: 1200000\r\n", written)
        largest = 0
        while wire.transport.producer is not None:
            wire.transport.drain()
            part = wire.transport.taken()
            largest = max(largest, len(part))
            written += part
        self.assertEqual(written.partition(b"\r\n\r\n")[2], b"".join(pieces) + ok(b"2"))
        self.assertLessEqual(largest, 270000)

    def test_one_large_piece(self) -> None:
        """Complete bytes are cut the same way."""
        wire = Wire(answering(Response(body=b"y" * 600000)))
        wire.transport.blocked = True
        written = wire.send(GET)
        while wire.transport.producer is not None:
            wire.transport.drain()
            written += wire.transport.taken()
        self.assertTrue(written.endswith(b"\r\n\r\n" + b"y" * 600000))

    def test_client_leaves(self) -> None:
        """A client that leaves amid a body ends the request."""
        wire = Wire(answering(Response(body=b"y" * 600000)))
        wire.transport.blocked = True
        wire.send(GET)
        lose(wire)
        self.assertEqual(wire.edge.in_flight, 0)


class PartsTests(SynchronousTestCase):
    def parts(self, made: list[int]) -> Iterator[bytes]:
        for i in range(5):
            made.append(i)
            yield b"%d" % i * 30000

    def test_made_as_they_are_sent(self) -> None:
        """Parts without a length go out as chunks, each made when the one before has been sent."""
        made: list[int] = []
        wire = Wire(answering(Response(parts=self.parts(made)), Response(body=b"2")))
        wire.transport.blocked = True
        written = wire.send(GET + GET)
        self.assertIn(b"Transfer-Encoding: chunked\r\n", written)
        while wire.transport.producer is not None:
            self.assertLess(len(made), 2 + written.count(b"7530\r\n"))
            wire.transport.drain()
            written += wire.transport.taken()
        framed = b"".join(chunk(b"%d" % i * 30000) for i in range(5))
        self.assertEqual(written.partition(b"\r\n\r\n")[2], framed + b"0\r\n\r\n" + ok(b"2"))

    def test_http10(self) -> None:
        """HTTP/1.0 gets the parts as they are and the close as their end."""
        wire = Wire(answering(Response(parts=iter([b"a", b"b"]))))
        written = wire.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        while wire.transport.producer is not None:
            wire.transport.drain()
            written += wire.transport.taken()
        self.assertNotIn(b"chunked", written)
        self.assertTrue(written.endswith(b"\r\n\r\nab"), written)
        self.assertTrue(wire.transport.disconnecting)

    def test_client_leaves(self) -> None:
        """The rest of a body is not produced for a client that has gone."""
        made: list[int] = []
        wire = Wire(answering(Response(parts=self.parts(made))))
        wire.transport.blocked = True
        wire.send(GET)
        lose(wire)
        self.assertEqual(wire.edge.in_flight, 0)
        self.assertLess(len(made), 3)


class StreamTests(SynchronousTestCase):
    def test_pieces_are_one_chunk(self) -> None:
        """The pieces of a large event are framed together and written as they are."""
        stream = RecordedStream()
        wire = Wire(answering(Response(stream=stream)))
        wire.send(GET)
        stream.channel.write_pieces([b"head", b"x" * 20, b"end"])
        self.assertEqual(wire.transport.taken(), chunk(b"head" + b"x" * 20 + b"end"))

    def test_chunks_go_through_uncopied(self) -> None:
        """The head is sent at once; framed bytes follow as they are; the connection then goes on
        (reference WATCH-5).
        """
        stream = RecordedStream()
        wire = Wire(answering(Response(stream=stream, content_type="a/b"), Response(body=b"2")))
        expected = b"Transfer-Encoding: chunked\r\nContent-Type: a/b\r\n\r\n"
        self.assertEqual(wire.send(GET), b"HTTP/1.1 200 OK\r\n" + DATE + expected)
        stream.channel.write(chunk(b"event\n"))
        self.assertEqual(wire.transport.taken(), b"6\r\nevent\n\r\n")
        self.assertEqual(wire.send(GET), b"")
        stream.channel.finish()
        self.assertEqual(wire.transport.taken(), b"0\r\n\r\n" + ok(b"2"))
        self.assertEqual((stream.lost, wire.edge.in_flight), (0, 0))

    def test_http10(self) -> None:
        """HTTP/1.0 gets the bare content, and the close as its end."""
        stream = RecordedStream()
        wire = Wire(answering(Response(stream=stream)))
        written = wire.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        self.assertEqual(written, b"HTTP/1.1 200 OK\r\n" + DATE + CLOSE + b"\r\n")
        stream.channel.write(chunk(b"one") + chunk(b"two\r\n"))
        stream.channel.finish()
        self.assertEqual(wire.transport.taken(), b"onetwo\r\n")
        self.assertTrue(wire.closed)

    def test_backpressure(self) -> None:
        """The transport's pauses reach the stream's producer; finishing takes it away."""
        stream = RecordedStream()
        wire = Wire(answering(Response(stream=stream)))
        wire.send(GET)
        wire.transport.blocked = True
        stream.channel.registerProducer(stream, True)
        stream.channel.write(chunk(b"x" * 70000))
        self.assertEqual(stream.paused, 1)
        wire.transport.drain()
        self.assertEqual(stream.paused, 0)
        stream.channel.finish()
        self.assertIsNone(wire.transport.producer)

    def test_client_leaves(self) -> None:
        """A stream is told once that its client has left."""
        stream = RecordedStream()
        wire = Wire(answering(Response(stream=stream)))
        wire.send(GET)
        lose(wire)
        self.assertEqual((stream.lost, wire.edge.in_flight), (1, 0))

    def test_abort(self) -> None:
        """A stream that aborts drops the connection and is not told that it is lost."""
        stream = RecordedStream()
        wire = Wire(answering(Response(stream=stream)))
        wire.send(GET)
        stream.channel.abort()
        lose(wire)
        self.assertEqual((wire.transport.disconnected, stream.lost, wire.edge.in_flight), (True, 0, 0))

    def test_head_never_starts_it(self) -> None:
        """HEAD of a stream sends the head alone; the stream hears at once that nobody listens."""
        stream = RecordedStream()
        wire = Wire(answering(Response(stream=stream), Response(body=b"2")))
        wire.send(GET.replace(b"GET", b"HEAD"))
        self.assertEqual((stream.channel, stream.lost), (None, 1))
        self.assertEqual(wire.send(GET), ok(b"2"))
