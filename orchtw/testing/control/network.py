"""Ways to the server: what the rest of the package needs of sockets and threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class ServerConnection(Protocol):
    """TLS connection to the server."""

    async def send(self, data: bytes) -> None:
        """Send all of the data. Raises OSError."""

    async def receive(self, timeout_s: float) -> bytes:
        """Return some bytes, empty at the end. Raises OSError; after a TimeoutError it may be tried again."""

    def idle(self) -> bool:
        """Report whether another request may be sent: open, with nothing to read, in this process and event loop."""

    def close(self) -> None:
        """Close the connection without waiting."""


class Network(Protocol):
    """Kind of I/O. Without a loop, its coroutines never suspend."""

    async def connect(self, host: str, port: int, ca_pem: str) -> ServerConnection:
        """Return a new connection to a server with a certificate of that authority. Raises OSError."""

    async def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, which may block."""

    async def sleep(self, seconds: float) -> None:
        """Wait for that time."""
