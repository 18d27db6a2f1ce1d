"""Clients that end their own side of the connection, over a connection in memory."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.request import Request, Response
from tests.serving.edge_doubles import GET, POST, RecordedStream, Waiting, Wire, answering, lose, ok


class HalfCloseTests(SynchronousTestCase):
    """A client that ends its own side is answered (reference LIMIT-13)."""

    def test_running_request(self) -> None:
        """The answer to a running request comes whole; then the connection closes."""
        app = Waiting()
        wire = Wire(app)
        wire.send(GET)
        wire.channel.readConnectionLost()
        self.assertEqual((app.ended, wire.closed), ([], False))
        app.waits[0].callback(Response(body=b"1"))
        self.assertEqual((wire.transport.taken(), wire.closed), (ok(b"1"), True))

    def test_passed_on(self) -> None:
        """Forwarded requests are cancelled, whatever the method: they may take for ever."""
        for request in (GET, POST):
            app = Waiting()

            async def passing_on(asked: Request, app: Waiting = app) -> Response:
                asked.passed_on = True
                return await app(asked)

            wire = Wire(passing_on)
            wire.send(request)
            wire.channel.readConnectionLost()
            self.assertTrue(wire.transport.disconnected)
            lose(wire)
            self.assertEqual((app.ended[:1], wire.edge.in_flight), (["cancelled"], 0))

    def test_long_answer(self) -> None:
        """A long answer goes on to its end."""
        wire = Wire(answering(Response(body=b"y" * 600000)))
        wire.transport.blocked = True
        wire.channel.dataReceived(GET)
        wire.channel.readConnectionLost()
        while wire.transport.producer is not None:
            wire.transport.drain()
        self.assertTrue(wire.transport.value().endswith(b"\r\n\r\n" + b"y" * 600000))
        self.assertTrue(wire.closed)

    def test_pipelined_requests(self) -> None:
        """All that was asked before the end is answered; half a request is not."""
        app = Waiting()
        wire = Wire(app)
        wire.send(GET + GET + GET)
        wire.send(GET + GET[:20])
        wire.channel.readConnectionLost()
        for number in range(4):
            app.waits[number].callback(Response(body=b"%d" % number))
        self.assertEqual(wire.transport.taken(), b"".join(ok(b"%d" % number) for number in range(4)))
        self.assertEqual((len(app.waits), wire.closed), (4, True))

    def test_nothing_asked(self) -> None:
        """An idle connection, or one amid a request, just closes."""
        for data in (b"", GET, POST[:30], POST[:-1]):
            wire = Wire()
            wire.send(data)
            wire.channel.readConnectionLost()
            self.assertEqual((wire.transport.taken(), wire.closed), (b"", True))

    def test_stream(self) -> None:
        """A stream ends in order, as in Go's server, which takes the end of sending for the end of interest."""
        stream = RecordedStream()
        wire = Wire(answering(Response(stream=stream)))
        wire.send(GET)
        wire.channel.readConnectionLost()
        self.assertEqual((wire.transport.taken(), stream.lost, wire.closed), (b"0\r\n\r\n", 1, True))
        self.assertEqual(wire.edge.in_flight, 0)

    def test_stream_that_begins_late(self) -> None:
        """A stream that begins after the client's end says what it has to say at once, and ends."""
        app, stream = Waiting(), RecordedStream()
        wire = Wire(app)
        wire.send(GET)
        wire.channel.readConnectionLost()
        app.waits[0].callback(Response(stream=stream))
        self.assertTrue(wire.transport.taken().endswith(b"\r\n\r\n0\r\n\r\n"))
        self.assertEqual((stream.lost, wire.closed), (1, True))
