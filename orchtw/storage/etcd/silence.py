"""Detection of dead connections: a member that is stopped, a cable that is pulled."""

from __future__ import annotations

from typing import Final

from orchtw.storage.etcd.connection import EtcdConnection

ASKED_S: Final = 1.0
"""So long may calls be under way without a word before the member is asked whether it is there."""

IDLE_S: Final = 6.0
"""The same while no answer is due. A member puts up with a question every 5 seconds."""

ANSWER_S: Final = 4.0
"""So long it has for that answer."""


class Silence:
    """Looks at one connection, several times a second."""

    def __init__(self) -> None:
        self._silent_s = 0.0
        self._asked = False

    def look(self, connection: EtcdConnection, passed_s: float) -> None:
        """Ask the member if it has been silent for long, and drop it if it still is.

        So much has passed since the last look; the caller bounds it, for data is not read between looks either.
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
