"""The other end of a connection that the server opens, in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from orchtw.outbound.destination import Destination
from orchtw.outbound.exchange import CallOutcome, ClientExchange
from orchtw.wire.objects import Object


class BackendTransport(StringTransport):
    """A transport whose other end answers written bytes by `reply`; it supports half-closed connections."""

    def __init__(self, reply: Callable[[bytes], bytes] = lambda _: b"") -> None:
        super().__init__()
        self.reply = reply
        self.exchange: ClientExchange | None = None
        self.write_closed = False

    def write(self, data: bytes) -> None:
        super().write(data)
        if answer := self.reply(data):
            assert self.exchange is not None
            self.exchange.dataReceived(answer)

    def loseWriteConnection(self) -> None:
        self.write_closed = True

    def unregisterProducer(self) -> None:
        self.producer = None

    def taken(self) -> bytes:
        """Return the bytes written since the last call."""
        data: bytes = self.value()
        self.clear()
        return data


class Backend:
    """Makes connected exchanges in place of a `Dialer`; `reply` answers each request's bytes."""

    def __init__(self, reply: Callable[[bytes], bytes] = lambda _: b"") -> None:
        self.reply = reply
        self.dialled: list[Destination] = []
        self.transports: list[BackendTransport] = []
        self.exchanges: list[ClientExchange] = []
        self.trouble: Exception | None = None

    async def exchange(
        self, destination: Destination, make: Callable[[], ClientExchange] | None = None
    ) -> ClientExchange:
        self.dialled.append(destination)
        if self.trouble is not None:
            raise self.trouble
        return self.open()

    def open(self) -> ClientExchange:
        """A connection without TLS."""
        made = ClientExchange(tls=False)
        transport = BackendTransport(self.reply)
        transport.exchange = made
        made.makeConnection(transport)
        self.transports.append(transport)
        self.exchanges.append(made)
        return made


class Collector:
    """Sink that records what it receives."""

    def __init__(self) -> None:
        self.data = b""
        self.outcomes: list[CallOutcome] = []

    def received(self, data: bytes) -> None:
        self.data += data

    def ended(self, outcome: CallOutcome) -> None:
        self.outcomes.append(outcome)


def lose(exchange: ClientExchange, *, clean: bool = True) -> None:
    """The other side's connection ends."""
    reason: Any = ConnectionDone() if clean else ConnectionLost()
    exchange.connectionLost(Failure(reason))


class Cluster:
    """The objects that Services are resolved by."""

    def __init__(self) -> None:
        self.services: dict[tuple[str, str], Object] = {}
        self.endpoints_of: dict[tuple[str, str], Object] = {}

    def add(
        self, namespace: str, name: str, *, port: int = 443, endpoints: Object | None = None, **spec: Any
    ) -> None:
        """A Service, and an endpoint of it: address and port."""
        key = namespace, name
        self.services[key] = {"spec": {"clusterIP": "10.96.0.9", "ports": [{"port": port, "name": "web"}], **spec}}
        if endpoints is not None:
            ports = [{"name": "web", "port": endpoints["port"]}]
            self.endpoints_of[key] = {"subsets": [{"addresses": [{"ip": endpoints["ip"]}], "ports": ports}]}

    async def service(self, namespace: str, name: str) -> Object | None:
        return self.services.get((namespace, name))

    async def endpoints(self, namespace: str, name: str) -> Object | None:
        return self.endpoints_of.get((namespace, name))
