"""Port-forward over SPDY: each connection of the client is a pair of streams (reference SIM-24)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from orchtw.simulation.agent.small_answer import SmallServer
from orchtw.simulation.agent.spdy import Connection
from orchtw.wire.objects import Object


class PortForward:
    """Answers on every port that is asked for."""

    def __init__(self, pod: Object, transport: Any) -> None:
        self._pod = pod
        self._connection = Connection(self, transport.write)
        self._servers: dict[int, SmallServer] = {}

    def feed(self, data: bytes) -> None:
        """Take in bytes of the client. Raises ProtocolError."""
        self._connection.feed(data)

    def lost(self) -> None:
        """Note that the client has gone."""
        self._servers.clear()

    def opened(self, stream: int, headers: Mapping[str, str]) -> None:
        """Serve a stream of data; one of errors stays empty. See `spdy.Listener`, also for the methods below."""
        if headers.get("streamtype") == "data":
            send = self._connection.send
            self._servers[stream] = SmallServer(
                self._pod, headers.get("port", ""), partial(send, stream), partial(send, stream, b"", last=True)
            )
        else:
            self._connection.send(stream, b"", last=True)

    def received(self, stream: int, data: bytes) -> None:
        if stream in self._servers:
            self._servers[stream].feed(data)

    def finished(self, stream: int) -> None:
        server = self._servers.pop(stream, None)
        if server is not None:
            server.feed(b"")

    def reset(self, stream: int) -> None:
        self._servers.pop(stream, None)
