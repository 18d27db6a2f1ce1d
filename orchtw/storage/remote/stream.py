# mypy: disallow-untyped-calls=False
"""Transport of a link: a connected socket."""

from __future__ import annotations

import socket
from typing import Any, Final

from twisted.internet.abstract import FileDescriptor
from twisted.internet.error import ConnectionAborted
from twisted.internet.interfaces import IProtocol
from twisted.internet.main import CONNECTION_DONE, CONNECTION_LOST
from twisted.python.failure import Failure

READ_BYTES: Final = 64 << 10


class LinkStream(FileDescriptor):
    """Connected socket of `link`. Twisted's own transport reads with room for file descriptors, at twice the cost."""

    def __init__(self, reactor: Any, stream: socket.socket, link: IProtocol) -> None:
        super().__init__(reactor)
        self.socket = stream
        self.fileno = stream.fileno  # type: ignore[method-assign]
        self._clock = reactor
        self._link = link
        self._aborting = False
        self.connected = 1

    def doRead(self) -> Failure | Exception | None:
        """Pass on what has come."""
        try:
            data = self.socket.recv(READ_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return CONNECTION_LOST
        if not data:
            return CONNECTION_DONE
        self._link.dataReceived(data)
        return None

    def writeSomeData(self, data: bytes) -> int | Exception:
        """Send a part of what is queued."""
        try:
            return self.socket.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            return CONNECTION_LOST

    def abortConnection(self) -> None:
        """Close the stream soon, whatever is queued."""
        if self.connected and not self._aborting:
            self._aborting = True
            self.stopReading()
            self.stopWriting()
            self._clock.callLater(0, self.connectionLost, Failure(ConnectionAborted()))

    def connectionLost(self, reason: Failure) -> None:
        """Close the socket, and tell the link."""
        if self.connected:
            super().connectionLost(reason)
            self.socket.close()
            self._link.connectionLost(reason)


def adopt(reactor: Any, stream: socket.socket, link: IProtocol) -> None:
    """Run `link` on a connected stream, which belongs to it from now on."""
    with stream:
        transport = LinkStream(reactor, stream.dup(), link)
    transport.socket.setblocking(False)
    link.makeConnection(transport)
    transport.startReading()
