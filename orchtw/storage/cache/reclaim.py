"""Reclaim of cache memory beside the stored objects, to keep within its limit (reference LIMIT-19).

The coldest JSON is packed first: to unpack it takes a microsecond. Where there is hardly any left to pack, unused
compressed pieces of lists go, and the coldest forms are dropped. Indexes go when a whole round has not been enough.

A hand goes round all entries. A GET of an object makes its JSON plain again, so that entries that the hand finds
packed have not been asked for since it last went by. Nothing goes by while there is room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from orchtw.storage.cache.resource_cache import ResourceCache
from orchtw.watch.entry import Entry
from orchtw.watch.room import Room
from orchtw.watch.turns import ReactorTurns

RUN: Final = 512  # entries that are looked for at a time
STRIDE: Final = 8  # entries between two looks at the clock: a millisecond of packing
SPARE: Final = 32  # a share of the room that is freed beyond what has to be, so that it lasts for a while
HARDLY: Final = 8  # a share of the room: with less plain than that, packing does not help any more


class Reclaim:
    """Reclaim over the `caches` of all resources, in slices."""

    def __init__(self, room: Room, turns: ReactorTurns, caches: Callable[[], Sequence[ResourceCache]]) -> None:
        self._room = room
        self._turns = turns
        self._caches = caches
        self._hand: Iterator[tuple[ResourceCache, Entry]] | None = None
        self._running = False
        self._whole = False  # whether the hand has begun at the first entry since there was too much

    def begin(self) -> None:
        """Free excess memory in slices, from where the hand stands."""
        room = self._room
        if self._running or room.excess <= 0:
            return
        if room.compressed is not None and self._is_packed():
            room.compressed.give_up(room.excess + room.limit // SPARE)
        if room.excess > 0:
            self._running, self._whole = True, self._hand is None
            self._turns.later(self._go_on)

    def _go_on(self) -> None:
        end, room = self._turns.end(), self._room
        target = -(room.limit // SPARE)
        if self._hand is None:
            self._hand = self._round()
        for count, (cache, entry) in enumerate(self._hand):
            if entry.json is not None or entry.other is not None:
                cache.spare(entry, drop=self._is_packed())
            if room.excess <= target:
                self._running = False
                return
            if not count % STRIDE and self._turns.seconds() >= end:
                self._turns.later(self._go_on)
                return
        self._hand = None
        self._running = False  # a round: what is left can wait for the next tick
        if self._whole:
            self._drop_indexes()

    def _is_packed(self) -> bool:
        """Report whether packing does not help any more."""
        return self._room.plain < self._room.limit // HARDLY

    def _drop_indexes(self) -> None:
        """Drop the indexes unused for the longest time: nothing else is left."""
        indexes = [cache.indexes for cache in self._caches()]
        while self._room.excess > 0 and (indexes := [each for each in indexes if len(each)]):
            min(indexes, key=lambda each: each.asked_at).drop_coldest()

    def _round(self) -> Iterator[tuple[ResourceCache, Entry]]:
        """Yield all entries once, except for changes meanwhile."""
        for cache in self._caches():
            start = ""
            while entries := cache.snapshot(start=start)[:RUN]:
                for entry in entries:
                    yield cache, entry
                start = entries[-1].key + "\0"
