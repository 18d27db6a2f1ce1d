"""Snapshots that are kept: a bounded number of states, each of a bounded size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Final

import msgspec

from orchtw.errors import Forbidden, NotFound
from orchtw.registry.targets import REGISTRY
from orchtw.snapshots.extent import Extent
from orchtw.storage.store import KeyValue, Store

MAX_SNAPSHOTS: Final = 100
MAX_BYTES: Final = 512 << 20
"""Most bytes of values in all snapshots. A snapshot of the store in memory shares them with it and counts all the
same.
"""

START: Final = "start"
"""Name of the snapshot that the server takes by itself once it is ready."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One state: its keys with their values as of `revision`, and those whose values could not be read.

    `taken` is in seconds since the epoch.
    """

    name: str
    revision: int
    items: Mapping[str, KeyValue]
    unreadable: frozenset[str]
    size_bytes: int
    taken: float


class Snapshots:
    """Snapshots by name, oldest first."""

    def __init__(self, store: Store, max_snapshots: int = MAX_SNAPSHOTS, max_bytes: int = MAX_BYTES) -> None:
        self._store = store
        self._most = max_snapshots
        self._max_bytes = max_bytes
        self._kept: dict[str, Snapshot] = {}
        self._number = 0

    @property
    def kept(self) -> Sequence[Snapshot]:
        """Return all snapshots that are kept."""
        return tuple(self._kept.values())

    def get(self, name: str) -> Snapshot:
        """Return a snapshot. Raises NotFound (404)."""
        if name not in self._kept:
            raise NotFound.of("snapshots", "", name)
        return self._kept[name]

    def release(self, name: str) -> None:
        """Forget a snapshot. Raises NotFound (404), and Forbidden (403) for that of the start."""
        if name == START:
            raise Forbidden.of("snapshots", "", name, "the startup snapshot is kept as long as the server runs")
        del self._kept[self.get(name).name]

    async def take(self, extent: Extent, now: float, name: str = "") -> Snapshot:
        """Keep the present state, by default under a new name. Raises Forbidden (403) beyond the limits."""
        if len(self._kept) >= self._most:
            raise self._refusal(f"there are {self._most} snapshots already, which is the maximum; release some")
        items: dict[str, KeyValue] = {}
        unreadable: set[str] = set()
        room = self._max_bytes - sum(each.size_bytes for each in self._kept.values())
        revision = size = 0
        async for page in self._store.scan(REGISTRY):
            revision = page.revision
            for item in page.items:
                if extent.holds(item.key):
                    items[item.key] = item
                    size += len(item.value)
            unreadable.update(lost.key for lost in page.damaged)
            if size > room:
                raise self._refusal(f"snapshots may hold {self._max_bytes} bytes in all; release some")
        self._number += 1
        name = name or f"{self._number}-{token_hex(4)}"
        taken = self._kept[name] = Snapshot(
            name=name,
            revision=revision,
            items=items,
            unreadable=frozenset(unreadable),
            size_bytes=size,
            taken=now,
        )
        return taken

    @staticmethod
    def _refusal(why: str) -> Forbidden:
        return Forbidden.of("snapshots", "", "", why)
