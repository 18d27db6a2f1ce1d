"""A store that is opened under the other vocabulary until the process is killed.

`python -m tests.storage.sqlite.rewrite_child FILE COUNT`

Kills itself before the translation of value COUNT (0 is the first key); prints `done` when it gets that far.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from twisted.internet import reactor as installed_reactor

from orchtw.storage.sqlite.store import SqliteStore
from tests.storage.store_files import Capitals


class Deadly(Capitals):
    """Ends the process in the middle."""

    def __init__(self, left: int) -> None:
        self._left = left

    def value(self, key: str, value: bytes) -> bytes:
        """One value less to live."""
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1
        return super().value(key, value)


if __name__ == "__main__":
    path, left = sys.argv[1], int(sys.argv[2])
    reactor: Any = installed_reactor
    store = SqliteStore(path, "kubernetes", reactor=reactor, clock=reactor, translation=lambda _: Deadly(left))
    store.probe()
    print("done", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
