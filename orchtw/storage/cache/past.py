"""States of a resource at past revisions: the present one with its recent history undone, step by step."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import islice
from typing import Final

import msgspec

from orchtw.storage.cache.ordered import Entries, Ordered
from orchtw.storage.cache.union import Candidates
from orchtw.watch.entry import Entry
from orchtw.watch.event_log import Event
from orchtw.watch.selection import Test

STRIDE: Final = 256  # events between two steps: half a millisecond

Steps = Generator[None, None, Candidates]


class Past(msgspec.Struct, frozen=True, eq=False):
    """Past state, from the present entries (`now`, at least the selected ones) and the `events` since.

    Wanted are entries from key `low` on and before `high` ("": no end) that `matches` accepts; others may be among
    them. The cost depends on the number of events, not of entries: unchanged blocks are those of `now`.
    """

    now: Candidates
    events: Sequence[Event]
    low: str
    high: str
    matches: Test

    def steps(self) -> Steps:
        """Return the entries before the events, in steps."""
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
