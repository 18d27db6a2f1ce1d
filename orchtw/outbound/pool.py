"""The kept connections of one TLS policy, and the treq client that sends requests by them.

A pool of Twisted's tells connections apart by scheme, host and port alone: what has other certificates needs another.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final

from treq.client import HTTPClient
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.web.client import URI, Agent, HTTPConnectionPool
from twisted.web.iweb import IAgentEndpointFactory
from zope.interface import implementer

from orchtw.outbound.destination import Destination
from orchtw.outbound.dialer import Dialer
from orchtw.outbound.kept import KeptConnections

KEPT: Final = 64
"""Connections that are kept for one host while no request needs them: more at a time are made and closed each time,
which costs two milliseconds of the server's CPU."""

IDLE_S: Final = 90.0
"""How long they are."""

Route = Callable[[str, str, int], Awaitable[Destination]]
"""What is dialled for a URL's scheme, host and port."""

Idle = Callable[[Any], None]
"""Takes a connection whose request has been answered."""


@implementer(IAgentEndpointFactory)
class Pool:
    """Sends requests by `client`; `route` finds what is dialled when no kept connection is free."""

    def __init__(self, reactor: Any, dialer: Dialer, route: Route) -> None:
        self._dialer = dialer
        self._route = route
        self._retired = False
        self._lines: set[KeptConnections] = set()
        pool: Any = HTTPConnectionPool(reactor)  # type: ignore[no-untyped-call]
        pool.maxPersistentPerHost = KEPT
        pool.cachedConnectionTimeout = IDLE_S
        pool.retryAutomatically = False
        pool._factory = self._idle
        self._pool = pool
        agent = Agent.usingEndpointFactory(reactor, self, pool)  # type: ignore[no-untyped-call]
        no_cookies: Any = CookieJar(DefaultCookiePolicy(allowed_domains=()))
        self.client = HTTPClient(agent, no_cookies)

    @property
    def connections(self) -> int:
        """Those that are open."""
        return len(self._lines)

    def retire(self) -> None:
        """Keep no connection any more; the requests that run come to their ends."""
        self._retired = True
        self._pool.closeCachedConnections()

    async def stop(self) -> None:
        """Drop all connections, and wait until they are gone."""
        self.retire()
        await DeferredList([line.abort() for line in list(self._lines)])

    def endpointForURI(self, uri: URI) -> IStreamClientEndpoint:
        """Return the endpoint that connects to a URL's host."""
        return _Endpoint(lambda idle: self._connect(uri, idle))

    async def _connect(self, uri: URI, idle: Idle) -> KeptConnections:
        scheme, host = uri.scheme.decode("ascii"), uri.host.decode("ascii")
        destination = await self._route(scheme, host, uri.port)
        return await self._dialer.exchange(destination, lambda: self._made(idle, destination))

    def _made(self, idle: Idle, destination: Destination) -> KeptConnections:
        line = KeptConnections(idle, tls=destination.scheme == "https")
        self._lines.add(line)
        line.on_end(lambda _: self._lines.discard(line))
        return line

    def _idle(self, keep: Idle, _shown: str) -> Idle:
        """Return what Twisted's pool hands to the endpoint in place of a factory."""
        return lambda line: line.transport.loseConnection() if self._retired else keep(line)


@implementer(IStreamClientEndpoint)
class _Endpoint:
    """Connects by a coroutine."""

    def __init__(self, connect: Callable[[Any], Coroutine[Deferred[Any], Any, KeptConnections]]) -> None:
        self._connect = connect

    def connect(self, protocolFactory: Any) -> Deferred[Any]:
        """Fires with a secured connection."""
        return Deferred.fromCoroutine(self._connect(protocolFactory))
