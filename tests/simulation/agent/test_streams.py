"""Channels of remote commands by WebSocket (reference SIM-24)."""

from __future__ import annotations

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, Request

from orchtw.simulation.agent.session import Session, WantedStreams, Wire
from orchtw.simulation.agent.streams import WebSocketChannels
from orchtw.simulation.clock import SimulationClock
from orchtw.simulation.shell.programs import Surroundings
from orchtw.simulation.shell.session import executed

WANTED = WantedStreams(stdin=False, stdout=True, stderr=True, tty=False)


class Transport:
    """A connection that keeps what is written."""

    def __init__(self) -> None:
        self.sent = b""

    def write(self, data: bytes) -> None:
        self.sent += data

    def loseConnection(self) -> None:
        """Take the end of a session; the test reads what came before."""

    def hold(self, held: bool) -> None:
        """Take a pause, which these short sessions never ask for."""


class WebSocketTests(SynchronousTestCase):
    def messages(self, line: str, *protocols: str) -> tuple[str | None, list[bytes]]:
        """Return the protocol and the messages of a command."""
        reactor, transport = Clock(), Transport()

        def make(wanted: WantedStreams, wire: Wire) -> Session:
            around = Surroundings(variables={}, hostname="web", now=lambda: 0.0)
            clock = SimulationClock(reactor, 0.0)
            return Session(executed(["sh", "-c", line], around), wanted, wire, reactor, clock)

        client = WSConnection(ConnectionType.CLIENT)
        request = client.send(Request(host="h", target="/exec", subprotocols=list(protocols)))
        headers = [
            (name.lower(), value)
            for name, _, value in (each.partition(b": ") for each in request.split(b"\r\n")[1:] if each)
        ]
        WebSocketChannels(headers, "/exec", WANTED, make, transport)
        reactor.advance(0)
        client.receive_data(transport.sent)
        events = list(client.events())
        accepted = next(each for each in events if isinstance(each, AcceptConnection))
        return accepted.subprotocol, [bytes(each.data) for each in events if isinstance(each, BytesMessage)]

    def test_status(self) -> None:
        """Clients of the newer protocols get a Status."""
        chosen, found = self.messages("echo a", "v4.channel.orch.io", "channel.orch.io")
        self.assertEqual(chosen, "v4.channel.orch.io")
        self.assertEqual(found, [b"\x01a\n", b'\x03{"metadata":{},"status":"Success"}'])

    def test_message(self) -> None:
        """Other clients get the message of a failure, and nothing of a success."""
        self.assertEqual(self.messages("echo a", "channel.orch.io"), ("channel.orch.io", [b"\x01a\n"]))
        why = b"\x03command terminated with non-zero exit code: exit code 3"
        self.assertEqual(self.messages("exit 3"), (None, [why]))
