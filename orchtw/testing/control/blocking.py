"""Blocking sockets, for tests without an event loop and for threads."""

from __future__ import annotations

import os
import select
import socket
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

CONNECT_S = 30.0
"""Timeout of a connection, TLS handshake included; the server is on this machine."""

CHUNK = 65536


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine over a `BlockingNetwork` to its end, also inside a running event loop.

    Raises RuntimeError if it suspends, for which it would need a loop. This frame, as others of the package that lead
    to an error, is hidden from the tracebacks of pytest.
    """
    __tracebackhide__ = True
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise RuntimeError("the coroutine waits for an event loop: use AsyncApiServer")


def blocking_iterator(values: AsyncIterator[T]) -> Iterator[T]:
    """Yield the values of an asynchronous generator over a `BlockingNetwork`, and close it in the end."""
    __tracebackhide__ = True

    async def step() -> T:
        return await anext(values)

    try:
        while True:
            try:
                value = finish(step())
            except StopAsyncIteration:
                return
            yield value
    finally:
        if isinstance(values, AsyncGenerator):
            finish(values.aclose())


class BlockingConnection:
    """Connection over a blocking socket, for the process that opened it."""

    def __init__(self, tls: ssl.SSLSocket) -> None:
        self._tls = tls
        self._pid = os.getpid()

    async def send(self, data: bytes) -> None:
        """Send all of the data."""
        self._tls.settimeout(None)
        self._tls.sendall(data)

    async def receive(self, timeout_s: float) -> bytes:
        """Return some bytes, empty at the end. Raises TimeoutError."""
        self._tls.settimeout(max(timeout_s, 0.001))  # 0 would mean not to wait at all, and another error
        try:
            return self._tls.recv(CHUNK)
        except ssl.SSLEOFError:
            return b""

    def idle(self) -> bool:
        """Report whether the server has sent nothing, and has not closed the connection, since the last response."""
        if self._pid != os.getpid() or self._tls.fileno() < 0 or self._tls.pending():
            return False
        poll = select.poll()
        poll.register(self._tls, select.POLLIN)
        return not poll.poll(0)

    def close(self) -> None:
        """Close the socket; the parent of a forked process keeps its own."""
        self._tls.close()


class BlockingNetwork:
    """Network whose coroutines block and never suspend."""

    async def connect(self, host: str, port: int, ca_pem: str) -> BlockingConnection:
        """Return a new connection. Raises OSError."""
        return open_connection(host, port, ca_pem)

    async def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns."""
        return work()

    async def sleep(self, seconds: float) -> None:
        """Block for that time."""
        time.sleep(seconds)


def open_connection(host: str, port: int, ca_pem: str) -> BlockingConnection:
    """Return a new connection to a server with a certificate of that authority. Raises OSError."""
    context = ssl.create_default_context(cadata=ca_pem)
    plain = socket.create_connection((host, port), timeout=CONNECT_S)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return BlockingConnection(context.wrap_socket(plain, server_hostname=host))
    except BaseException:
        plain.close()
        raise
