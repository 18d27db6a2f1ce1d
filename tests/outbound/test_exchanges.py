"""Connections that carry one request after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound.destination import Destination
from orchtw.outbound.exchange import Broken, CallOutcome, ClientExchange, ResponseHead
from orchtw.outbound.exchanges import ALL_IDLE, IDLE_S, MOST_IDLE, Exchanges
from orchtw.outbound.tls import ClientTLS
from tests.outbound.doubles import BackendTransport, Collector

THERE = Destination(scheme="http", host="there", port=80, tls=ClientTLS(), timeout_s=1.0)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Line(BackendTransport):
    """A transport that knows its protocol, as those of Twisted do."""

    protocol: object = None
    aborting = False

    def abortConnection(self) -> None:
        self.aborting = True


class Dialled:
    """Makes connected exchanges in place of a `Dialer`."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.counted_exchanges = 0

    async def exchange(self, _destination: Destination, make: Callable[[], ClientExchange]) -> ClientExchange:
        made, line = self.counted(make), Line()
        line.protocol = line.exchange = made
        made.makeConnection(line)
        if not made.secured.called:
            made.handshakeCompleted()
        self.lines.append(line)
        return made

    def counted(self, make: Callable[[], ClientExchange]) -> ClientExchange:
        self.counted_exchanges += 1
        return make()


def lost(line: Line) -> None:
    """The other side's connection ends."""
    line.protocol.connectionLost(Failure(ConnectionDone()))  # type: ignore[attr-defined]


class ExchangesCase(SynchronousTestCase):
    """Exchanges whose connections lead to the test."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.dialled = Dialled()
        self.routed: list[Destination] = []
        dialer: Any = self.dialled
        self.exchanges: Exchanges[Destination] = Exchanges(dialer, self.clock, self.route)

    async def route(self, destination: Destination) -> Destination:
        self.routed.append(destination)
        return destination

    def begin(self, there: Destination = THERE, *, fresh: bool = False) -> tuple[ClientExchange, bool]:
        """An exchange, and whether its connection was used before."""
        return self.successResultOf(ensureDeferred(self.exchanges.exchange(there, fresh=fresh)))

    def answered(self, answer: bytes = OK, exchange: ClientExchange | None = None) -> bytes:
        """The body of an answer to a request."""
        exchange = exchange or self.begin()[0]
        waiting: Deferred[ResponseHead] = exchange.ask("GET", "/", [("Host", "there")])
        exchange.dataReceived(answer)
        self.successResultOf(waiting)
        sink = Collector()
        exchange.read_into(sink)
        return sink.data


class ExchangesTests(ExchangesCase):
    """Connections that are kept, and for how long."""

    def test_used_again(self) -> None:
        """After a complete answer a connection carries another request (reference AGG-11)."""
        self.assertEqual([self.answered() for _ in range(3)], [b"ok"] * 3)
        self.assertEqual(len(self.dialled.lines), 1)
        self.assertEqual(self.dialled.counted_exchanges, 3)
        self.assertEqual(self.begin(fresh=True)[1], False)
        self.assertEqual(self.routed, [THERE] * 2)

    def test_used_at_once(self) -> None:
        """A request that is made at the end of an answer has the connection of that answer."""
        used: list[bool] = []

        class Next(Collector):
            def ended(_self, outcome: CallOutcome) -> None:  # noqa: N805 - `self` is the test
                used.append(self.begin()[1])

        exchange = self.begin()[0]
        exchange.ask("GET", "/", [("Host", "there")])
        exchange.read_into(Next())
        exchange.dataReceived(OK)
        self.assertEqual(used, [True])

    def test_other_keys(self) -> None:
        """Connections are shared by equal keys alone (reference HOOK-27)."""
        self.answered()
        for other in (
            msgspec.structs.replace(THERE, tls=ClientTLS()),
            msgspec.structs.replace(THERE, server_name="there.example"),
            msgspec.structs.replace(THERE, port=81),
        ):
            self.assertEqual(self.begin(other)[1], False)
        self.assertEqual(self.begin()[1], True)

    def test_slow_reader(self) -> None:
        """A connection whose reader came late, or has paused, is kept ready to be read."""
        exchange = self.begin()[0]
        exchange.ask("GET", "/", [("Host", "there")])
        exchange.dataReceived(OK)
        exchange.read_into(Collector())
        (line,) = self.dialled.lines
        self.assertEqual((line.producerState, self.begin()[1]), ("producing", True))

    def test_not_kept(self) -> None:
        """One whose server closes it, or that has bytes behind the answer, carries none (reference AGG-11)."""
        for answer in (OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), OK + b"x"):
            self.answered(answer)
            self.assertEqual(self.begin()[1], False)

    def test_one_at_a_time(self) -> None:
        """A connection is not shared while a request runs on it (reference AGG-11)."""
        first, second = self.begin()[0], self.begin()[0]
        self.assertIsNot(first.transport, second.transport)

    def test_earlier_exchange(self) -> None:
        """A finished exchange cannot touch the next one on its connection (reference AGG-11)."""
        first = self.begin()[0]
        self.answered(exchange=first)
        second, used = self.begin()
        self.assertTrue(used)
        first.abort()
        first.pause()
        first.write(b"x")
        self.assertEqual(self.answered(exchange=second), b"ok")
        self.assertFalse(self.dialled.lines[0].aborting)

    def test_ends(self) -> None:
        """A connection that waits ends with its time, with the other side, and with bytes that nobody asked for."""

        for end in (
            lambda line: self.clock.advance(IDLE_S),
            lost,
            lambda line: line.protocol.dataReceived(b"x"),
            lambda line: self.exchanges.close(),
        ):
            self.answered()
            end(self.dialled.lines[-1])
            self.assertEqual(self.begin()[1], False)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_bounded(self) -> None:
        """Only so many wait for one destination; the others are closed."""
        begun = [self.begin()[0] for _ in range(MOST_IDLE + 5)]
        for each in begun:
            self.answered(exchange=each)
        self.assertEqual(sum(line.aborting for line in self.dialled.lines), 5)
        self.exchanges.close()
        self.assertTrue(all(line.aborting for line in self.dialled.lines))

    def test_bounded_in_all(self) -> None:
        """Of too many waiting connections the one that has waited longest is closed, whatever its key."""
        for port in range(ALL_IDLE + 2):
            self.answered(exchange=self.begin(msgspec.structs.replace(THERE, port=port))[0])
        self.assertEqual([line.aborting for line in self.dialled.lines], [True] * 2 + [False] * ALL_IDLE)
        self.exchanges.close()
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_closed(self) -> None:
        """After the end running exchanges still get their answers, and their connections are not kept."""
        exchange = self.begin()[0]
        self.exchanges.close()
        self.assertEqual(self.answered(exchange=exchange), b"ok")
        self.assertTrue(self.dialled.lines[0].aborting)

    def test_stop(self) -> None:
        """Running exchanges are dropped and waiting connections closed; the end waits for all of them."""
        self.answered()
        first, _ = self.begin()
        second, _ = self.begin()
        self.answered(exchange=first)
        stopping = ensureDeferred(self.exchanges.stop())
        self.assertTrue(all(line.aborting for line in self.dialled.lines))
        lost(self.dialled.lines[0])
        self.assertNoResult(stopping)
        lost(self.dialled.lines[1])
        self.successResultOf(stopping)
        self.assertIs(second.transport, self.dialled.lines[1])
        self.successResultOf(ensureDeferred(self.exchanges.stop()))


class AskTests(ExchangesCase):
    """Requests that are sent again (reference HOOK-27, AGG-11)."""

    def ask(self, *, repeatable: bool = True) -> Deferred[tuple[ClientExchange, ResponseHead]]:
        asking = self.exchanges.ask(THERE, "GET", "/", [("Host", "there")], b"", repeatable=repeatable)
        return ensureDeferred(asking)

    def test_again(self) -> None:
        """A request on a kept connection that ends before any of the answer is sent on a fresh one, once."""
        self.answered()
        asked = self.ask()
        lost(self.dialled.lines[0])
        self.assertEqual(len(self.dialled.lines), 2)
        lost(self.dialled.lines[1])
        self.failureResultOf(asked, Broken)
        self.assertEqual(len(self.dialled.lines), 2)

    def test_not_again(self) -> None:
        """Neither one that may not be repeated, nor one whose answer has begun, nor one on a fresh connection."""
        for kept, repeatable, data in ((True, False, b""), (True, True, b"H"), (False, True, b"")):
            self.setUp()
            if kept:
                self.answered()
            asked = self.ask(repeatable=repeatable)
            (line,) = self.dialled.lines
            if data:
                line.protocol.dataReceived(data)  # type: ignore[attr-defined]
            lost(line)
            self.failureResultOf(asked, Broken)
            self.assertEqual(len(self.dialled.lines), 1)
