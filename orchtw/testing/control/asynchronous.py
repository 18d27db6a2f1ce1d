"""Connections over the sockets of asyncio."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from orchtw.testing.control.blocking import CHUNK, CONNECT_S

T = TypeVar("T")


class AsyncioConnection:
    """Connection over asyncio's streams, which is used once: the next request may run in another event loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        """Send all of the data."""
        self._writer.write(data)
        await self._writer.drain()

    async def receive(self, timeout_s: float) -> bytes:
        """Return some bytes, empty at the end. Raises TimeoutError."""
        # Not wait_for: in Python 3.11 it loses a cancellation that comes together with the data.
        async with asyncio.timeout(timeout_s):
            return await self._reader.read(CHUNK)

    def idle(self) -> bool:
        """Return False: it is not kept."""
        return False

    def close(self) -> None:
        """Drop the connection, unless its loop has dropped everything."""
        with suppress(RuntimeError):
            self._writer.transport.abort()


class AsyncioNetwork:
    """I/O of the running event loop."""

    async def connect(self, host: str, port: int, ca_pem: str) -> AsyncioConnection:
        """Return a new connection. Raises OSError."""
        context = ssl.create_default_context(cadata=ca_pem)
        async with asyncio.timeout(CONNECT_S):
            streams = await asyncio.open_connection(host, port, ssl=context, server_hostname=host)
        return AsyncioConnection(*streams)

    async def run(self, work: Callable[[], T]) -> T:
        """Return what `work` returns; a thread does it."""
        return await asyncio.to_thread(work)

    async def sleep(self, seconds: float) -> None:
        """Wait without blocking the loop."""
        await asyncio.sleep(seconds)
