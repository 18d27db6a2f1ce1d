"""Sources of `orch-store`: consistent snapshots of a store's file or of an etcd cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from orchtw.errors import ConfigError
from orchtw.storage.sqlite.snapshot import Snapshot
from orchtw.storage.store import Damaged, KeyValue


class StoreSource(Protocol):
    """Snapshot of a store at one revision."""

    @property
    def vocabulary(self) -> str:
        """Return the vocabulary of the objects."""

    @property
    def revision(self) -> int:
        """Return the revision of the snapshot."""

    async def count(self) -> int:
        """Return the number of live keys."""

    async def ends(self) -> Mapping[int, int]:
        """Return the expiry times of values, in milliseconds since the epoch, by the revision of their write."""

    def live(self) -> AsyncIterator[KeyValue | Damaged]:
        """Yield all live keys in order."""


def agreed(where: object, found: str, given: str) -> str:
    """Return the vocabulary `found` in a store. Raises ConfigError if a different one was `given`."""
    if given not in ("", found):
        raise ConfigError(f"{where} is of --vocabulary {found}, not {given}")
    return found


class FileSource:
    """Snapshot of a store's file."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @property
    def vocabulary(self) -> str:
        """Return the vocabulary of the objects (see `StoreSource`)."""
        return self._snapshot.vocabulary

    @property
    def revision(self) -> int:
        return int(self._snapshot.revision)

    async def count(self) -> int:
        return self._snapshot.count()

    async def ends(self) -> Mapping[int, int]:
        return self._snapshot.ends()

    async def live(self) -> AsyncIterator[KeyValue | Damaged]:
        for item in self._snapshot.live():
            yield item
