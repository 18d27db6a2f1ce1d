"""Time limits of clients, on a clock that the test moves."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.request import Response
from orchtw.serving.limits import EdgeLimits
from tests.serving.edge_doubles import GET, POST, RecordedStream, Wire, answering


class TimeTests(SynchronousTestCase):
    limits = EdgeLimits(handshake_s=4, idle_s=10, arrival_s=6, write_stall_s=8)

    def test_idle(self) -> None:
        """A connection without requests is closed after the idle time, counted from its last answer."""
        wire = Wire(limits=self.limits)
        wire.pass_time(8)
        wire.send(GET)
        wire.pass_time(8)
        self.assertFalse(wire.closed)
        wire.pass_time(6)
        self.assertTrue(wire.closed)

    def test_slow_request(self) -> None:
        """A request that does not arrive in time, trickling or not, ends its connection."""
        wire = Wire(limits=self.limits)
        for byte in POST[:10]:
            wire.send(bytes([byte]))
            wire.pass_time(1)
        self.assertTrue(wire.closed)

    def test_handshake(self) -> None:
        """A handshake that does not end in time ends the connection."""
        wire = Wire(limits=self.limits)
        wire.channel._phase = 0
        wire.pass_time(8)
        self.assertTrue(wire.transport.disconnected)

    def test_running_request(self) -> None:
        """The edge sets no time limit to a request that the app is serving, nor to a quiet stream."""
        wire = Wire(answering(Response(stream=RecordedStream())), limits=self.limits)
        wire.send(GET)
        wire.pass_time(100)
        self.assertFalse(wire.closed)

    def test_stalled_reader(self) -> None:
        """A peer that takes nothing of what waits for it is dropped; one that takes a little is not
        (reference LIMIT-10).
        """
        wire = Wire(answering(Response(stream=RecordedStream())), limits=self.limits)
        wire.transport.blocked = True
        wire.send(GET)
        for _ in range(5):
            wire.pass_time(6)
            wire.transport.progress += 1
        self.assertFalse(wire.closed)
        wire.pass_time(12)
        self.assertTrue(wire.transport.disconnected)

    def test_patient_stream(self) -> None:
        """A reader of a log may pause; the next response on the connection has the usual limit."""
        stream = RecordedStream()
        wire = Wire(answering(Response(stream=stream, patient=True), Response(stream=RecordedStream())), self.limits)
        wire.transport.blocked = True
        wire.send(GET)
        wire.transport.unsent = 1
        wire.pass_time(3600)
        self.assertEqual((wire.closed, wire.transport.patient), (False, True))
        wire.transport.drain()
        stream.channel.finish()
        wire.send(GET)
        wire.transport.unsent = 1
        wire.pass_time(14)
        self.assertTrue(wire.transport.disconnected)

    def test_stalled_list(self) -> None:
        """A long body whose next part waits for the peer is dropped too, with nothing of it unsent in the buffer."""
        wire = Wire(answering(Response(body=b"x" * 600000)), limits=self.limits)
        wire.send(GET)
        self.assertEqual(wire.transport.unsent, 0)
        wire.pass_time(12)
        self.assertTrue(wire.transport.disconnected)

    def test_idle_time_waits_for_the_client(self) -> None:
        """While an answer drains, the idle time does not run (reference LIMIT-10, DESIGN-12)."""
        wire = Wire(answering(Response(body=b"x" * 1000)), limits=self.limits)
        wire.transport.blocked = True
        wire.send(GET)
        for _ in range(5):
            wire.pass_time(6)
            wire.transport.progress += 1
        wire.transport.drain()
        wire.pass_time(8)
        self.assertFalse(wire.closed)
