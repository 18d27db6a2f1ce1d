"""Kept connections and deadlines by a clock that the test sets, in memory (reference HOOK-27)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound import pools
from orchtw.outbound.caller import CallAnswer, Caller, CallFailed, Question
from orchtw.outbound.destination import Destination
from orchtw.outbound.kept import KeptConnections
from orchtw.outbound.pool import IDLE_S, KEPT
from orchtw.outbound.remote import Remote
from orchtw.outbound.services import Resolver
from orchtw.outbound.tls import ClientTLS
from orchtw.outbound.unanswered import Lost
from orchtw.outbound.web import Pool
from tests.outbound.doubles import Cluster
from tests.outbound.test_services import OWN

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Transport(StringTransport):
    """Is gone when it is closed."""

    kept: KeptConnections

    def loseConnection(self) -> None:
        if not self.disconnecting:
            super().loseConnection()
            self.kept.connectionLost(Failure(ConnectionDone()))

    abortConnection = loseConnection  # type: ignore[assignment]


class Lines:
    """Dials in memory; with `held` a connection takes until that fires."""

    def __init__(self) -> None:
        self.transports: list[Transport] = []
        self.held: Deferred[None] | None = None

    async def exchange(self, _destination: Destination, make: Callable[[], KeptConnections]) -> KeptConnections:
        if self.held is not None:
            await self.held
        made = make()
        transport = Transport()
        transport.kept = made
        made.makeConnection(transport)
        self.transports.append(transport)
        return made


class PoolTests(SynchronousTestCase):
    """A caller whose connections lead to the test."""

    def setUp(self) -> None:
        self.clock, self.lines = Clock(), Lines()
        self.patch(pools, "Dialer", lambda reactor, what: self.lines)
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
                each.kept.dataReceived(OK)

    def test_endpoint(self) -> None:
        """A pool asks its way for what is dialled."""
        asked: list[Any] = []

        async def route(*place: Any) -> Destination:
            asked.append(place)
            return Destination(scheme="http", host="b", port=1, tls=ClientTLS(), timeout_s=1)

        lines: Any = self.lines
        pool = Pool(self.clock, lines, route)
        asking = pool.client.get("http://a:81/x", reactor=self.clock)
        self.assertEqual((asked, pool.connections), ([("http", "a", 81)], 1))
        self.successResultOf(Deferred.fromCoroutine(pool.stop()))
        self.failureResultOf(asking, Lost)
        self.assertEqual(pool.connections, 0)

    def test_idle(self) -> None:
        """A connection that nobody needs is closed after some time, which every use begins anew."""
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
        asked = gatherResults([self.ask() for _ in range(KEPT + 5)])
        self.assertEqual(self.open, KEPT + 5)
        self.answer()
        self.successResultOf(asked)
        self.assertEqual(self.open, KEPT)
        other = self.ask("b")
        self.answer()
        self.successResultOf(other)
        self.assertEqual(self.open, KEPT + 1)
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
        transport.kept.dataReceived(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
        transport.kept.dataReceived(b"x")
        self.late(asked)
