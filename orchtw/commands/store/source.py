"""Sources of `orch-store`: one state of a store's file, or of a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from orchtw.errors import ConfigError
from orchtw.storage.interface import Damaged, KeyValue
from orchtw.storage.sqlite.snapshot import Snapshot


class StoreSource(Protocol):
    """One state: of a vocabulary, at a revision."""

    @property
    def vocabulary(self) -> str:
        """That of its objects."""

    @property
    def revision(self) -> int:
        """The revision that is read."""

    async def ends(self) -> Mapping[int, int]:
        """When values that end by themselves do, in milliseconds since the epoch, by the revision of their write."""

    def live(self) -> AsyncIterator[KeyValue | Damaged]:
        """Every live key in order."""


def agreed(where: object, found: str, given: str) -> str:
    """Return the vocabulary `found` in a store. Raises ConfigError if another one was `given`."""
    if given not in ("", found):
        raise ConfigError(f"{where} is of --vocabulary {found}, not {given}")
    return found


class FileSource:
    """The state of a file."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @property
    def vocabulary(self) -> str:
        """See `StoreSource`, as all of these."""
        return self._snapshot.vocabulary

    @property
    def revision(self) -> int:
        return int(self._snapshot.revision)

    async def ends(self) -> Mapping[int, int]:
        return self._snapshot.ends()

    async def live(self) -> AsyncIterator[KeyValue | Damaged]:
        for item in self._snapshot.live():
            yield item
