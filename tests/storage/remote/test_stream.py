# mypy: disallow-untyped-calls=False
"""Sockets between owner and workers."""

from __future__ import annotations

import socket

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionAborted, ConnectionDone, ConnectionLost
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from orchtw.storage.remote.stream import adopt
from tests.storage.store_files import reactor

LARGE = bytes(range(256)) * 8192
"""More than a socket holds."""


class End(Protocol):
    """One end, and what has come to it."""

    def __init__(self) -> None:
        self.found = bytearray()
        self.wanted = 0
        self.whole: Deferred[None] = Deferred()
        self.lost: Deferred[Failure] = Deferred()

    def dataReceived(self, data: bytes) -> None:
        """Fire `whole` when all of it is there."""
        self.found += data
        if len(self.found) == self.wanted:
            self.whole.callback(None)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Fire `lost` with the reason."""
        self.lost.callback(reason)


class StreamTests(TestCase):
    """Both ends in one process."""

    def setUp(self) -> None:
        here, there = socket.socketpair()
        self.ends = End(), End()
        for end, stream in zip(self.ends, (here, there), strict=True):
            adopt(reactor, stream, end)

    async def test_large(self) -> None:
        """Data beyond the socket's room is sent as the other end reads, and all of it before the end."""
        one, other = self.ends
        other.wanted = len(LARGE)
        one.transport.write(LARGE)  # type: ignore[union-attr]
        one.transport.loseConnection()  # type: ignore[union-attr]
        await other.whole
        self.assertEqual(bytes(other.found), LARGE)
        await self.assertFailure(other.lost, ConnectionDone)
        await self.assertFailure(one.lost, ConnectionDone)

    async def test_abort(self) -> None:
        """An aborted stream ends at both ends, whatever is queued, once."""
        one, other = self.ends
        other.transport.pauseProducing()  # type: ignore[union-attr]
        one.transport.write(LARGE)  # type: ignore[union-attr]
        for _ in range(2):
            one.transport.abortConnection()  # type: ignore[union-attr]
        await self.assertFailure(one.lost, ConnectionAborted)
        other.transport.resumeProducing()  # type: ignore[union-attr]
        await self.assertFailure(other.lost, ConnectionDone, ConnectionLost)
        self.assertLess(len(other.found), len(LARGE))

    async def test_silent_after_its_end(self) -> None:
        """Data for a stream that has ended is dropped."""
        one, other = self.ends
        one.transport.abortConnection()  # type: ignore[union-attr]
        await self.assertFailure(one.lost, ConnectionAborted)
        one.transport.write(b"late")  # type: ignore[union-attr]
        one.transport.abortConnection()  # type: ignore[union-attr]
        await self.assertFailure(other.lost, ConnectionDone, ConnectionLost)
        self.assertEqual(other.found, b"")
