"""Twisted service that listens with TLS and serves an app."""

# mypy: allow-untyped-calls
# Twisted's Service is not annotated.

from __future__ import annotations

import socket
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

from twisted.application.service import Service
from twisted.internet.defer import Deferred, TimeoutError, maybeDeferred, succeed
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory
from twisted.internet.task import LoopingCall
from twisted.internet.threads import deferToThreadPool

from orchtw.errors import ConfigError
from orchtw.serving.compression import RunInThread
from orchtw.serving.edge import TICK_S, App, AtOnce, Decline, Edge, Screen
from orchtw.serving.gzip_cache import GzipCache
from orchtw.serving.http1 import HTTPChannel
from orchtw.serving.http2.multiplexer import Multiplexer
from orchtw.serving.limits import EdgeLimits
from orchtw.serving.tls_context import ServingTLS
from orchtw.serving.tls_port import TLSPort

# Connections that the system completes before we accept them: a thousand clients may come at once.
BACKLOG = 1024
# How long the end waits for clients to close after the last answer, before it drops them.
_CLOSE_S = 1.0
_FREE_AGAIN_S = 0.1


class HTTPFactory(Factory):
    """Factory of the channel of each connection."""

    noisy = False

    def __init__(self, edge: Edge) -> None:
        self.edge = edge

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """Return a channel on the shared edge."""
        return HTTPChannel(self.edge)


def bind(address: str, port: int, *, shared: bool = False, listening: bool = True) -> socket.socket:
    """Return a listening socket, whose port is known before it is served; `port` 0 picks a free one.

    `address` is an IPv4 or IPv6 address. A `shared` port may be listened on by several servers; one that is not
    `listening` yet gets none of its connections. Raises ConfigError, one line, if it is not available.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.bind((address, port))
        if listening:
            bound.listen(BACKLOG)
        bound.setblocking(False)
    except OSError as problem:
        bound.close()
        raise ConfigError(f"cannot listen on {address} port {port}: {problem.strerror}") from None
    return bound


def make_sure_free(address: str, port: int, patience_s: float) -> None:
    """Check that a port to be `shared` by processes of one server is free.

    Another server that shares it as well would get some of the connections. The sockets of a killed server's
    processes may take a moment to close. Raises ConfigError, one line, when it is still taken after that time.
    """
    until = monotonic() + patience_s
    while True:
        try:
            bind(address, port, listening=False).close()
        except ConfigError:
            if monotonic() >= until:
                raise
            sleep(_FREE_AGAIN_S)
        else:
            return


class Listener(Service):
    """Serves `app` on the socket `bound` (see `bind`) from `startService` on.

    `at_once`, where it is given, is asked before the app; `screen` sees heads before bodies come, `decline` answers
    them where the body is not taken, `compressed` keeps long answers.

    `stopService` stops accepting, ends idle connections and streams, gives running requests `grace_s`
    seconds and drops what is left.
    """

    def __init__(
        self,
        app: App,
        tls: ServingTLS,
        bound: socket.socket,
        *,
        reactor: Any,
        limits: EdgeLimits | None = None,
        screen: Screen | None = None,
        decline: Decline | None = None,
        at_once: AtOnce | None = None,
        compressed: GzipCache | None = None,
        grace_s: float = 10.0,
        run_in_thread: RunInThread | None = None,
    ) -> None:
        self.tls = tls
        run_in_thread = run_in_thread or in_threads_of(reactor)
        self.edge = Edge(
            app,
            clock=reactor,
            run_in_thread=run_in_thread,
            limits=limits,
            screen=screen,
            decline=decline,
            at_once=at_once,
            compressed=compressed,
        )
        if self.edge.limits.http2_streams:
            self.edge.multiplexed = Multiplexer(self.edge, self.edge.limits.http2_streams).take_over
        self.address, self.port = bound.getsockname()[:2]
        self._bound = bound
        self._reactor = reactor
        self._grace_s = grace_s
        self._listening = TLSPort(
            HTTPFactory(self.edge),
            tls,
            bound,
            max_connections=self.edge.limits.max_connections,
            stall_s=self.edge.limits.write_stall_s,
            reactor=reactor,
        )
        self._tick = LoopingCall(self.edge.tick)
        self._tick.clock = reactor
        self._accepting = False

    def startService(self) -> None:
        """Begin to accept connections."""
        super().startService()
        self._accepting = True
        self._bound.listen(BACKLOG)
        self._listening.startListening()
        self._tick.start(TICK_S, now=False)

    def stopService(self) -> Deferred[None]:
        """Stop the listener, as the class describes; fires when every connection is closed."""
        super().stopService()
        return Deferred.fromCoroutine(self._stop())

    def stop_accepting(self) -> Deferred[None]:
        """Close the listening socket; what is connected stays."""
        if self._accepting:
            self._accepting = False
            return maybeDeferred(self._listening.stopListening)
        self._bound.close()
        return succeed(None)

    @property
    def failed_handshakes(self) -> int:
        """Connections that did not get through TLS."""
        return self._listening.failed_handshakes

    async def finish_requests(self) -> bool:
        """Wait until nothing but streams is in flight; whether that was so before `grace_s` had passed."""
        answered = await self._in_time(self.edge.answered(), self._grace_s)
        if not answered:
            self._grace_s = _CLOSE_S
        return answered

    def drain(self) -> Deferred[None]:
        """Return a Deferred that fires when no request is in flight; streams count as requests."""
        return self.edge.drain()

    async def _stop(self) -> None:
        await self.stop_accepting()
        self.edge.wind_down()
        if await self._in_time(self.drain(), self._grace_s):
            await self._in_time(self._listening.idle(), _CLOSE_S)
        self._listening.abort()
        await self._listening.idle()
        if self._tick.running:
            self._tick.stop()

    async def _in_time(self, waiting: Deferred[None], limit_s: float) -> bool:
        try:
            await waiting.addTimeout(limit_s, self._reactor)
        except TimeoutError:
            return False
        return True


def in_threads_of(reactor: Any) -> RunInThread:
    """Return a runner of functions in the reactor's own thread pool."""

    def run(function: Callable[..., bytes], *arguments: Any) -> Deferred[bytes]:
        return deferToThreadPool(reactor, reactor.getThreadPool(), function, *arguments)

    return run
