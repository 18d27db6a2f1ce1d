"""Kept connections and deadlines by a clock that the test sets, in memory (reference HOOK-27)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, gatherResults
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound import caller
from orchtw.outbound.caller import CallAnswer, Caller, CallFailed, Question
from orchtw.outbound.destination import Destination
from orchtw.outbound.exchange import ClientExchange
from orchtw.outbound.exchanges import IDLE_S, MOST_IDLE
from orchtw.outbound.remote import Remote
from orchtw.outbound.services import Resolver, ServicePlace, ServiceReference
from tests.outbound.doubles import BackendTransport, Cluster
from tests.outbound.test_services import OWN

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Transport(BackendTransport):
    """Is gone when it is closed."""

    protocol: Any = None

    def loseConnection(self) -> None:
        if not self.disconnecting:
            super().loseConnection()
            self.protocol.connectionLost(Failure(ConnectionDone()))

    abortConnection = loseConnection


class Lines:
    """Dials in memory; with `held` a connection takes until that fires."""

    def __init__(self) -> None:
        self.transports: list[Transport] = []
        self.held: Deferred[None] | None = None

    async def exchange(self, _destination: Destination, make: Callable[[], ClientExchange]) -> ClientExchange:
        if self.held is not None:
            await self.held
        made, transport = make(), Transport()
        transport.protocol = made
        made.makeConnection(transport)
        self.transports.append(transport)
        return made

    def counted(self, make: Callable[[], ClientExchange]) -> ClientExchange:
        return make()


class CallerTests(SynchronousTestCase):
    """A caller whose connections lead to the test."""

    def setUp(self) -> None:
        self.clock, self.lines = Clock(), Lines()
        self.patch(caller, "Dialer", lambda reactor, what: self.lines)
        self.caller = Caller(self.clock, Resolver(Cluster(), OWN, Random(1)), "me")

    def ask(self, host: str = "a") -> Deferred[CallAnswer]:
        remote = Remote(url=f"http://{host}/")
        return Deferred.fromCoroutine(self.caller.ask(remote, Question(), timeout_s=10))

    @property
    def open(self) -> int:
        return sum(not each.disconnecting for each in self.lines.transports)

    def answer(self) -> None:
        """On every connection that waits for one."""
        for each in self.lines.transports:
            if each.value():
                each.clear()
                each.protocol.dataReceived(OK)

    def test_new_place(self) -> None:
        """A Service that gets another place is called there at once: kept connections lead to the old one."""
        places: dict[ServiceReference, ServicePlace] = {}
        self.caller = Caller(self.clock, Resolver(Cluster(), OWN, Random(1), mapped=places.get), "me")
        service = ServiceReference(namespace="n", name="s")
        remote = Remote(url="http://s.n.svc:443/", service=service)
        for port, dialled in ((1, 1), (1, 1), (2, 2), (1, 2)):
            places[service] = ServicePlace(host="127.0.0.1", port=port, public=False)
            asked = Deferred.fromCoroutine(self.caller.ask(remote, Question(), timeout_s=10))
            self.answer()
            self.assertEqual(self.successResultOf(asked).code, 200)
            self.assertEqual(len(self.lines.transports), dialled)

    def test_stop(self) -> None:
        """At the end the connections of running calls are dropped, and those that wait."""
        self.ask()
        self.answer()
        asked = [self.ask() for _ in range(2)]
        self.assertEqual(self.open, 2)
        self.successResultOf(self.caller.stopService())
        for each in asked:
            self.failureResultOf(each, CancelledError)
        self.assertEqual((self.open, self.clock.getDelayedCalls()), (0, []))

    def test_idle(self) -> None:
        """A connection that no call needs is closed after some time, which every use begins anew."""
        for _ in range(3):
            asked = self.ask()
            self.answer()
            self.assertEqual(self.successResultOf(asked).body, b"{}")
            self.clock.advance(IDLE_S - 1)
        self.assertEqual((len(self.lines.transports), self.open), (1, 1))
        self.clock.advance(1)
        self.assertEqual(self.open, 0)

    def test_most(self) -> None:
        """So many are kept for a host, and no more."""
        asked = gatherResults([self.ask() for _ in range(MOST_IDLE + 5)])
        self.assertEqual(self.open, MOST_IDLE + 5)
        self.answer()
        self.successResultOf(asked)
        self.assertEqual(self.open, MOST_IDLE)
        other = self.ask("b")
        self.answer()
        self.successResultOf(other)
        self.assertEqual(self.open, MOST_IDLE + 1)
        self.successResultOf(self.caller.stopService())
        self.assertEqual((self.open, self.clock.getDelayedCalls()), (0, []))

    def late(self, asked: Deferred[Any]) -> None:
        """The time of a call is over: not before, and with everything gone that it needed."""
        self.clock.advance(9.9)
        self.assertNoResult(asked)
        self.clock.advance(0.1)
        failure = self.failureResultOf(asked, CallFailed)
        self.assertEqual(str(failure.value), 'Get "http://a/": context deadline exceeded')
        self.assertEqual((self.open, self.clock.getDelayedCalls()), (0, []))

    def test_late_connection(self) -> None:
        """The time of a call counts from its beginning: connecting is part of it."""
        self.lines.held = Deferred()
        self.late(self.ask())

    def test_late_head(self) -> None:
        """So is waiting for an answer."""
        self.late(self.ask())

    def test_late_body(self) -> None:
        """And reading its body, however steadily that comes."""
        asked = self.ask()
        (transport,) = self.lines.transports
        transport.protocol.dataReceived(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
        transport.protocol.dataReceived(b"x")
        self.late(asked)
