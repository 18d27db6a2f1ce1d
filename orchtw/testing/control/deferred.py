"""Sockets of Twisted's reactor, for trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet import defer
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol, wrapClientTLS
from twisted.internet.interfaces import ITCPTransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.ssl import Certificate, optionsForClientTLS
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.python.failure import Failure

from orchtw.testing.control.blocking import CONNECT_S

T = TypeVar("T")


class DeferredConnection(Protocol):
    """Connection over a transport of the reactor, which is used once: tests leave no open sockets behind."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._data = b""
        self._ended = False
        self._waiting: Deferred[None] | None = None

    async def send(self, data: bytes) -> None:
        """Send all of the data."""
        assert self.transport is not None
        self.transport.write(data)

    async def receive(self, timeout_s: float) -> bytes:
        """Return some bytes, empty at the end. Raises TimeoutError."""
        if not self._data and not self._ended:
            self._waiting = Deferred()
            try:
                await self._waiting.addTimeout(max(timeout_s, 0), self._reactor)
            except (defer.TimeoutError, TimeoutError):
                raise TimeoutError from None
            finally:
                self._waiting = None
        data, self._data = self._data, b""
        return data

    def idle(self) -> bool:
        """Return False: it is not kept."""
        return False

    def close(self) -> None:
        """Drop the connection without waiting."""
        if ITCPTransport.providedBy(self.transport):
            self.transport.abortConnection()

    def dataReceived(self, data: bytes) -> None:
        """Keep the data and wake the reader."""
        self._data += data
        self._wake()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Note the end and wake the reader."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.called:
            self._waiting.callback(None)


class DeferredNetwork:
    """I/O of a reactor; what blocks runs in its threads."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor

    async def connect(self, host: str, port: int, ca_pem: str) -> DeferredConnection:
        """Return a new connection. Raises OSError."""
        trust = Certificate.loadPEM(ca_pem.encode())
        endpoint = wrapClientTLS(
            optionsForClientTLS(host, trustRoot=trust), TCP4ClientEndpoint(self._reactor, host, port, CONNECT_S)
        )
        try:
            made: DeferredConnection = await connectProtocol(  # type: ignore[no-untyped-call]
                endpoint, DeferredConnection(self._reactor)
            )
            return made
        except Exception as error:
            raise ConnectionError(f"{host}:{port}: {error}") from error

    async def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns; a thread does it."""
        return await deferToThread(work)

    async def sleep(self, seconds: float) -> None:
        """Wait without blocking the reactor."""
        await deferLater(self._reactor, seconds)
