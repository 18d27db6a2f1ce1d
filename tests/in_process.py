"""In-process server of the tests: all with the same settings begin as the first of them did.

To create the bootstrap objects is two thirds of what a start costs, and some thousand tests start a server. Tests of
that, and of folders that have a store, take `orchtw.testing.in_process`.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from orchtw.storage.sqlite.store import FILE
from orchtw.testing import in_process

_begun: dict[str, bytes] = {}
"""Stores by the settings of their servers, as they were when these were ready."""


def with_roles(server: in_process.InProcessServer) -> None:
    """Let a server that is yet to be started take its roles as they are: its store is as one left it that made them.

    To read and compare them is a third of what a start costs otherwise.
    """
    if (bootstrap := server.instance.membership.duties.bootstrap) is not None:
        bootstrap._has_roles = True


class InProcessServer(in_process.InProcessServer):
    """`orchtw.testing.in_process.InProcessServer`, whose store is a copy of an earlier one's where that can be."""

    def __init__(self, reactor: Any, data_dir: str | os.PathLike[str], **settings: Any) -> None:
        self._store = Path(data_dir) / FILE
        self._key = "" if self._store.exists() else repr(sorted(settings.items()))
        if " at 0x" in self._key:  # an object that other servers do not have
            self._key = ""
        begun = self._key in _begun
        if begun:
            self._store.parent.mkdir(parents=True, exist_ok=True)
            self._store.write_bytes(_begun[self._key])
        super().__init__(reactor, data_dir, **settings)
        if begun:
            with_roles(self)

    async def start(self) -> None:
        """Open the store and fill the caches."""
        await super().start()
        if self._key and self._key not in _begun and self._store.exists():
            with closing(sqlite3.connect(self._store)) as store:
                _begun[self._key] = store.serialize()
