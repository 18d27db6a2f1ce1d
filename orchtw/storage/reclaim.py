"""Keeps within its limit what is held of objects beside the objects: the coldest forms are packed, then dropped.

A hand goes round all entries. Who asks for an object by itself makes its JSON plain again, so that what the hand
finds packed has not been asked for since it last went by. Nothing goes by while there is room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from orchtw.storage.cache_resource import ResourceCache
from orchtw.watch.entry import Entry
from orchtw.watch.room import Room
from orchtw.watch.turns import Turns

RUN: Final = 512  # entries that are looked for at a time
STRIDE: Final = 16  # entries between two looks at the clock: a millisecond of packing
SPARE: Final = 32  # a share of the room that is freed beyond what has to be, so that it lasts for a while
HARDLY: Final = 8  # a share of the room: with less plain than that, packing does not help any more


class Reclaim:
    """`caches` gives all of them."""

    def __init__(self, room: Room, turns: Turns, caches: Callable[[], Sequence[ResourceCache]]) -> None:
        self._room = room
        self._turns = turns
        self._caches = caches
        self._hand: Iterator[tuple[ResourceCache, Entry]] | None = None
        self._running = False

    def begin(self) -> None:
        """Free what is too much, in slices, from where the hand stands."""
        if self._room.excess > 0 and not self._running:
            self._running = True
            self._turns.later(self._go_on)

    def _go_on(self) -> None:
        end, room = self._turns.end(), self._room
        target = -(room.limit // SPARE)
        if self._hand is None:
            self._hand = self._round()
        for count, (cache, entry) in enumerate(self._hand):
            if entry.json is not None or entry.other is not None:
                cache.spare(entry, drop=room.plain < room.limit // HARDLY)
            if room.excess <= target:
                self._running = False
                return
            if not count % STRIDE and self._turns.seconds() >= end:
                self._turns.later(self._go_on)
                return
        self._hand = None
        self._running = False  # a whole round: what is left can wait for the next tick

    def _round(self) -> Iterator[tuple[ResourceCache, Entry]]:
        """All entries once, but for what comes and goes meanwhile."""
        for cache in self._caches():
            start = ""
            while entries := cache.snapshot(start=start)[:RUN]:
                for entry in entries:
                    yield cache, entry
                start = entries[-1].key + "\0"
