"""Whether a connection is dead though nobody has said so: a member that is stopped, a cable that is pulled."""

from __future__ import annotations

from typing import Final

from orchtw.storage.etcd.connection import Connection

ASKED_S: Final = 1.0
"""So long may calls be under way without a word before the member is asked whether it is there."""

IDLE_S: Final = 6.0
"""The same while no answer is due. A member puts up with a question every 5 seconds."""

ANSWER_S: Final = 4.0
"""So long it has for that answer."""


class Silence:
    """Looks at one connection, several times a second."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._asked_at: float | None = None

    def look(self, connection: Connection, now: float) -> None:
        """Ask the member if it has been silent for long, and drop it if it still is."""
        if connection.heard or self._since is None:
            connection.heard = False
            self._since, self._asked_at = now, None
        elif self._asked_at is not None:
            if now - self._asked_at >= ANSWER_S:
                connection.drop("keepalive ping failed to receive ACK within timeout")
        elif now - self._since >= (ASKED_S if connection.due else IDLE_S):
            self._asked_at = now
            connection.ping()
