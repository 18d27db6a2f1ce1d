"""A resource as it was at a past revision: the present state with its recent history taken back, step by step."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import islice
from typing import Final

import attrs

from orchtw.storage.cache.ordered import Entries, Ordered
from orchtw.storage.cache.union import Candidates
from orchtw.watch.entry import Entry
from orchtw.watch.log import Event
from orchtw.watch.selection import Test

STRIDE: Final = 256  # events between two steps: half a millisecond

Steps = Generator[None, None, Candidates]


@attrs.frozen(slots=True, eq=False)
class Past:
    """Past state: the selected entries `now` at least, and the `events` that led there.

    Asked for is what there was from key `low` on and before `high` ("": no end), as far as it `matches`; more may be
    found. The cost follows the number of events, not that of entries: the other blocks are those of `now`.
    """

    now: Candidates
    events: Sequence[Event]
    low: str
    high: str
    matches: Test

    def steps(self) -> Steps:
        """The entries that there were before the events, after a number of steps."""
        then: dict[str, tuple[Entry | None, Entry | None]] = {}
        for start in range(0, len(self.events), STRIDE):
            for event in self.events[start : start + STRIDE]:
                if event.key >= self.low and (not self.high or event.key < self.high):
                    old, _ = then.get(event.key, (event.old, None))
                    then[event.key] = old, event.new
            yield
        if not then:
            return self.now.between(self.low, self.high)
        ordered = yield from _ordered(self.now)
        changes = iter(then.items())
        while some := list(islice(changes, STRIDE)):
            for key, (old, new) in some:
                if old is not None and self.matches(old):
                    ordered.put(old)
                elif new is not None and self.matches(new):
                    ordered.remove(key)
            yield
        return ordered.snapshot().between(self.low, self.high)


def _ordered(entries: Candidates) -> Generator[None, None, Ordered]:
    """Make a changeable copy of these entries, in steps."""
    if isinstance(entries, Entries):
        return Ordered.of(entries)
    for _ in entries.blocks():
        yield
    return Ordered(entries)
