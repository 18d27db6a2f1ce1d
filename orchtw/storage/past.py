"""A resource as it was at a past revision: the present state with its recent history taken back, step by step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterable, Sequence
from heapq import merge
from operator import attrgetter
from typing import Final

import attrs

from orchtw.storage.ordered import NO_ENTRIES, Entries
from orchtw.watch.entry import Entry
from orchtw.watch.log import Event

STRIDE: Final = 1024  # events or entries between two steps: half a millisecond

_key = attrgetter("key")

Steps = Generator[None, None, Entries]


@attrs.frozen(slots=True, eq=False)
class Past:
    """What there is `now` from key `low` on and before `high` ("": no end), and the `events` that led there."""

    now: Entries
    events: Sequence[Event]
    low: str
    high: str

    def steps(self) -> Steps:
        """The entries that there were before the events, after a number of steps."""
        if not self.events:
            return self.now
        then: dict[str, Entry | None] = {}
        for start in range(0, len(self.events), STRIDE):
            for event in self.events[start : start + STRIDE]:
                then.setdefault(event.key, event.old)
            yield
        found = yield from self._with(then)
        return found

    def _with(self, then: dict[str, Entry | None]) -> Steps:
        """The present entries, but `then` where that says otherwise: block by block, with what was in it."""
        blocks = self.now.blocks
        firsts = [block[0].key for block in blocks]
        were: list[list[Entry]] = [[] for _ in blocks] or [[]]
        for count, (key, entry) in enumerate(then.items()):
            if entry is not None and key >= self.low and (not self.high or key < self.high):
                were[max(0, bisect_right(firsts, key) - 1)].append(entry)
            if not count % STRIDE:
                yield
        found: list[Sequence[Entry]] = []
        for block, old in zip(blocks or ((),), were, strict=True):
            kept = [entry for entry in block if entry.key not in then]
            if old:
                kept = yield from _in_order(kept, old)
            if kept:
                found.append(kept)
            yield
        return Entries(found) if found else NO_ENTRIES


def _in_order(kept: Iterable[Entry], old: list[Entry]) -> Generator[None, None, list[Entry]]:
    """Both in key order, as one list; `kept` is in order."""
    runs: list[Iterable[Entry]] = [kept]
    for start in range(0, len(old), STRIDE):
        runs.append(sorted(old[start : start + STRIDE], key=_key))
        yield
    found: list[Entry] = []
    for entry in merge(*runs, key=_key):
        found.append(entry)
        if not len(found) % STRIDE:
            yield
    return found
