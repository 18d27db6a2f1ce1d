"""Detection of dead connections, after a server was stopped or a cable pulled."""

from __future__ import annotations

from typing import Final

from orchtw.outbound.grpc.connection import GrpcConnection

ASKED_S: Final = 1.0
"""Silence, with calls waiting, after which the server is pinged."""

IDLE_S: Final = 6.0
"""Silence of an idle connection after which the server is pinged. An etcd member tolerates a ping every 5 seconds."""

ANSWER_S: Final = 4.0
"""Time limit of the response to a ping in seconds."""


class Silence:
    """Silence of one connection, checked several times a second."""

    def __init__(self) -> None:
        self._silent_s = 0.0
        self._asked = False

    def look(self, connection: GrpcConnection, passed_s: float) -> None:
        """Ping the server if it has been silent for long, and drop the connection if it stays silent.

        `passed_s` is the time since the last check; the caller bounds it, for no data is read between checks either.
        """
        if connection.heard:
            connection.heard = False
            self._silent_s, self._asked = 0.0, False
            return
        self._silent_s += passed_s
        if self._asked:
            if self._silent_s >= ANSWER_S:
                connection.drop("keepalive ping failed to receive ACK within timeout")
        elif self._silent_s >= (ASKED_S if connection.due else IDLE_S):
            self._silent_s, self._asked = 0.0, True
            connection.ping()
