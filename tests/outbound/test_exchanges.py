"""Connections that carry one request after the other."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound.destination import Destination
from orchtw.outbound.exchange import ClientExchange, ResponseHead
from orchtw.outbound.exchanges import IDLE_S, MOST_IDLE, Exchanges
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

    async def exchange(self, destination: Destination, make: Callable[[], ClientExchange]) -> ClientExchange:
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


class ExchangesTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.dialled = Dialled()
        self.exchanges = Exchanges(self.dialled, self.clock)  # type: ignore[arg-type]

    def begin(self, *, fresh: bool = False) -> tuple[ClientExchange, bool]:
        """An exchange, and whether its connection was used before."""
        return self.successResultOf(ensureDeferred(self.exchanges.exchange(THERE, fresh=fresh)))

    def answered(self, answer: bytes = OK, exchange: ClientExchange | None = None) -> bytes:
        """The body of an answer to a request."""
        exchange = exchange or self.begin()[0]
        waiting: Deferred[ResponseHead] = exchange.ask("GET", "/", [("Host", "there")])
        exchange.dataReceived(answer)
        self.successResultOf(waiting)
        sink = Collector()
        exchange.read_into(sink)
        return sink.data

    def test_used_again(self) -> None:
        """After a complete answer a connection carries another request (reference AGG-11)."""
        self.assertEqual([self.answered() for _ in range(3)], [b"ok"] * 3)
        self.assertEqual(len(self.dialled.lines), 1)
        self.assertEqual(self.dialled.counted_exchanges, 3)
        self.assertEqual(self.begin(fresh=True)[1], False)

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

        def lost(line: Line) -> None:
            line.protocol.connectionLost(Failure(ConnectionDone()))  # type: ignore[attr-defined]

        for end in (
            lambda line: self.clock.advance(IDLE_S),
            lost,
            lambda line: line.protocol.dataReceived(b"x"),  # type: ignore[attr-defined]
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
