"""Pools of connections, one for each way in which servers are reached and believed, and what each dials."""

from __future__ import annotations

import sys
from collections import OrderedDict
from functools import partial
from importlib import import_module
from typing import Any, Final, Protocol

import attrs
from twisted.internet.threads import deferToThreadPool

from orchtw.outbound.destination import Destination
from orchtw.outbound.dialer import Dialer
from orchtw.outbound.policy import TLSPolicy
from orchtw.outbound.services import Resolver, ServicePlace, ServiceReference

DIAL_S: Final = 30.0
"""How long a connection may take, whatever the time of a call."""

_WEB: Final = "orchtw.outbound.web"

POOLS: Final = 200
"""The pool that was not used for longest goes first."""


@attrs.frozen(slots=True, kw_only=True)
class Way:
    """Key of connections that may carry each other's requests, beside scheme, host and port."""

    tls: TLSPolicy
    service: ServiceReference | None = None
    endpoints_only: bool = False


class ConnectionPool(Protocol):
    """The part of `orchtw.outbound.pool.Pool`, which is imported when first needed, that `Pools` and callers use."""

    client: Any

    @property
    def connections(self) -> int:
        """Return the number of open connections."""

    def retire(self) -> None:
        """Close idle connections, and the others when their requests end."""

    async def stop(self) -> None:
        """Drop all connections, and wait until they are closed."""


class Pools:
    """Makes them as they are asked for, at most POOLS of them."""

    def __init__(self, reactor: Any, resolver: Resolver) -> None:
        self._reactor = reactor
        self._resolver = resolver
        self._dialer = Dialer(reactor, "webhooks and other servers")
        self._pools: OrderedDict[Way, ConnectionPool] = OrderedDict()
        self._retired: list[ConnectionPool] = []

    async def of(self, way: Way) -> ConnectionPool:
        """The pool of a way."""
        if (found := self._pools.get(way)) is not None:
            self._pools.move_to_end(way)
            return found
        web = await web_module(self._reactor)
        made = web.Pool(self._reactor, self._dialer, partial(self.destination, way))
        pool: ConnectionPool = self._pools.setdefault(way, made)
        if len(self._pools) > POOLS:
            _, oldest = self._pools.popitem(last=False)
            oldest.retire()
            self._retired = [each for each in (*self._retired, oldest) if each.connections]
        return pool

    async def destination(self, way: Way, scheme: str, host: str, port: int) -> Destination:
        """Return the destination to dial. Raises Unresolved, BadTLS."""
        place = ServicePlace(host=host, port=port, public=False)
        if way.service is not None:
            place = await self._resolver.place(way.service, endpoints_only=way.endpoints_only)
        return Destination(
            scheme="https" if scheme == "https" else "http",
            host=place.host,
            port=place.port,
            tls=way.tls.tls(),
            timeout_s=DIAL_S,
            public=place.public,
            server_name=way.tls.server_name or host,
        )

    async def close(self) -> None:
        """Drop all connections, and wait until they are gone."""
        pools = [*self._pools.values(), *self._retired]
        self._pools.clear()
        self._retired.clear()
        for pool in pools:
            await pool.stop()


async def web_module(reactor: Any) -> Any:
    """The module `web`: read in a thread, when first needed.

    That takes longer than requests should wait for, and a server without webhooks never needs it.
    """
    if _WEB not in sys.modules:
        await deferToThreadPool(reactor, reactor.getThreadPool(), import_module, _WEB)
    return import_module(_WEB)
