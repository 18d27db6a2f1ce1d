"""Connections that are kept for the next request to the same server: a handshake costs both sides milliseconds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Generic, TypeVar
from typing import Protocol as Interface

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchtw.outbound.destination import Destination
from orchtw.outbound.dialer import Dialer
from orchtw.outbound.exchange import Broken, ClientExchange, Headers, ResponseHead
from orchtw.outbound.idle import IdleConnection
from orchtw.outbound.open_connections import OpenConnections

IDLE_S: Final = 60.0
"""Lifetime of an idle connection: less than this server, as the other side, would keep it."""

MOST_IDLE: Final = 64
"""Usual limit of idle connections by one key.

More are closed after their response, and the next burst costs two milliseconds of CPU for each.
"""

ALL_IDLE: Final = 500
"""Limit of idle connections by all keys, 46 KiB each; beyond it the longest idle one is closed."""


class ConnectionKey(Interface):
    """Hashable value; connections of equal keys may carry each other's requests."""

    @property
    def scheme(self) -> str:
        """URL scheme: `https` for connections over TLS."""


K = TypeVar("K", bound=ConnectionKey)


class Exchanges(Generic[K]):
    """Exchanges over kept connections. One is kept only after a complete answer, with nothing behind it.

    Requests by equal keys share connections: the user must be identified by the key or in the request.
    `route` finds the destination of a key when a connection is dialled. `most_idle` are kept by one key.
    """

    def __init__(
        self,
        dialer: Dialer,
        clock: IReactorTime,
        route: Callable[[K], Awaitable[Destination]],
        most_idle: int = MOST_IDLE,
    ) -> None:
        self._dialer = dialer
        self._clock = clock
        self._route = route
        self._most_idle = most_idle
        self._idle: dict[K, dict[IdleConnection, None]] = {}
        self._oldest_first: dict[IdleConnection, None] = {}
        self._sweep: IDelayedCall | None = None
        self._connections = OpenConnections()
        self._closed = False

    async def ask(
        self, key: K, method: str, target: str, headers: Headers, body: bytes, *, repeatable: bool
    ) -> tuple[ClientExchange, ResponseHead]:
        """Send a request; return the exchange that the body comes from, and the head of the response.

        A kept connection may have been closed meanwhile: a `repeatable` request that the other side has apparently
        not read is sent once more, on a fresh connection. Raises Broken, BadRequest (400) for a request that cannot
        be encoded, and as `route` and `Dialer.exchange` do.
        """
        exchange, used = await self.exchange(key)
        try:
            return exchange, await exchange.ask(method, target, headers, body)
        except Broken as problem:
            if not (used and repeatable and problem.unanswered):
                raise
        exchange, _ = await self.exchange(key, fresh=True)
        return exchange, await exchange.ask(method, target, headers, body)

    async def exchange(self, key: K, *, fresh: bool = False) -> tuple[ClientExchange, bool]:
        """Return a connected exchange, and whether its connection was used before; with `fresh`, never.

        Raises as `route` and `Dialer.exchange` do.
        """

        def make() -> ClientExchange:
            tls = key.scheme == "https"
            return ClientExchange(tls=tls, keep=partial(self._keep, key), connections=self._connections)

        waiting = self._idle.get(key)
        if waiting and not fresh:
            exchange = self._dialer.counted(make)
            next(reversed(waiting)).leave(exchange)
            return exchange, True
        return await self._dialer.exchange(await self._route(key), make), False

    def close(self) -> None:
        """Close the idle connections, and keep none from now on."""
        self._closed = True
        for each in list(self._oldest_first):
            each.end()
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None

    async def stop(self) -> None:
        """Drop all connections, and wait until they are closed."""
        self.close()
        await self._connections.drop()

    def _keep(self, key: K, transport: Any) -> None:
        waiting = self._idle.setdefault(key, {})
        idle = IdleConnection(transport, self._clock.seconds(), partial(self._gone, key), self._connections)
        waiting[idle] = self._oldest_first[idle] = None
        if self._closed or len(waiting) > self._most_idle:
            idle.end()
        elif len(self._oldest_first) > max(ALL_IDLE, self._most_idle):
            next(iter(self._oldest_first)).end()
        if self._sweep is None and not self._closed:
            self._sweep = self._clock.callLater(IDLE_S, self._end_old)

    def _end_old(self) -> None:
        """Close the connections that were idle for too long; one timer for all of them is cheaper."""
        self._sweep = None
        now = self._clock.seconds()
        for each in list(self._oldest_first):
            if each.since + IDLE_S > now:
                self._sweep = self._clock.callLater(each.since + IDLE_S - now, self._end_old)
                return
            each.end()

    def _gone(self, key: K, idle: IdleConnection) -> None:
        waiting = self._idle[key]
        del waiting[idle], self._oldest_first[idle]
        if not waiting:
            del self._idle[key]
