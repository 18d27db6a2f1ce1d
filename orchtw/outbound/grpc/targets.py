"""Servers that a channel connects to: by TCP and perhaps TLS, or over a Unix socket."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec
from twisted.internet.endpoints import UNIXClientEndpoint
from twisted.internet.error import ConnectError
from twisted.internet.protocol import Factory

from orchtw.outbound.destination import Destination
from orchtw.outbound.dialer import Dialer, Unreachable
from orchtw.outbound.grpc.connection import GrpcConnection
from orchtw.outbound.tls import ClientTLS

PROTOCOLS: Final = (b"h2",)
_DIAL_S: Final = 3


class Target(Protocol):
    """Server of a channel; `scheme` and `authority` are those of its requests."""

    @property
    def scheme(self) -> str:
        """URL scheme of the server: `http` or `https`."""

    @property
    def authority(self) -> str:
        """Host and port, as requests name them."""

    async def connect(self, make: Callable[[], GrpcConnection]) -> GrpcConnection:
        """Return a connection that is ready for data. Raises Unreachable, ConfigError, TooManyRequests (429)."""


class TCPTarget:
    """Server at a destination. `renewed` returns TLS settings for the next connection; None: the destination's."""

    def __init__(
        self, dialer: Dialer, destination: Destination, renewed: Callable[[], ClientTLS | None] = lambda: None
    ) -> None:
        self._dialer = dialer
        self._destination = destination
        self._renewed = renewed
        self.scheme = destination.scheme
        self.authority = destination.authority

    async def connect(self, make: Callable[[], GrpcConnection]) -> GrpcConnection:
        """Dial with the present certificates; see `Target`."""
        tls = msgspec.structs.replace(self._renewed() or self._destination.tls, protocols=PROTOCOLS)
        return await self._dialer.exchange(msgspec.structs.replace(self._destination, tls=tls), make)


class UnixTarget:
    """Server on a socket of this machine; a `path` that begins with a zero byte is an abstract name."""

    scheme = "http"
    authority = "localhost"

    def __init__(self, reactor: Any, path: str) -> None:
        self._reactor = reactor
        self._path = path

    async def connect(self, make: Callable[[], GrpcConnection]) -> GrpcConnection:
        """Connect to the socket; see `Target`."""
        endpoint: Any = UNIXClientEndpoint(self._reactor, self._path, timeout=_DIAL_S)  # type: ignore[no-untyped-call]
        try:
            connection: GrpcConnection = await endpoint.connect(Factory.forProtocol(make))
        except ConnectError as problem:
            why = os.strerror(problem.osError).lower() if problem.osError else str(problem)
            shown = self._path.replace("\0", "@", 1)
            raise Unreachable(f"dial unix {shown}: connect: {why}") from None
        try:
            await connection.secured.addTimeout(_DIAL_S, self._reactor)
        except Exception as problem:  # noqa: BLE001 - any error that ends a connection before its first frame
            connection.abort()
            raise Unreachable(f"server preface was not received: {problem}") from None
        return connection
