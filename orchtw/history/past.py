"""States at past revisions: the present one with recorded writes undone; before the record, the store's history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Final

import msgspec

from orchtw.errors import ServiceUnavailable, StatusError, Timeout
from orchtw.history.recorder import Recorder
from orchtw.history.resource import RecordedResource
from orchtw.history.ring import RecordedWrite, Ring
from orchtw.registry.stored import Stored
from orchtw.responses.slices import in_turns, turn
from orchtw.storage.cache.watch_cache import Cacher
from orchtw.storage.store import KeyValue, Store
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object

STRIDE: Final = 100
BUILD_STRIDE: Final = 8
RUN: Final = 1000
"""Objects that are looked at, decoded and sorted in one step."""

MOST_TURNS: Final = 1000
"""Turns of the reactor in which the record may reach the caches' revision."""

PAGE: Final = 200
"""Objects that are yielded at once."""

Wanted = Callable[[RecordedResource], bool]
"""Test of whether the objects of a resource are needed."""

FirstWrites = dict[str, RecordedWrite]
"""The first write of each object after a revision, by store key."""

_key = attrgetter("key")


class PastObjects(msgspec.Struct, frozen=True, eq=False):
    """Some objects of a resource, in key order; `stored` is None if it is not served any more."""

    resource: RecordedResource
    stored: Stored | None
    entries: Sequence[Entry]

    def load(self, entry: Entry) -> Object:
        """Return one of the objects, without redaction."""
        return self.resource.load(entry) if self.stored is None else self.stored.load(entry)


class PastStates(msgspec.Struct, frozen=True, eq=False):
    """Reader of past states. Objects that cannot be read are left out, as lists leave them out."""

    recorder: Recorder
    cacher: Cacher
    store: Store

    async def resolve(self, revision: int) -> int:
        """Return a revision to read at: the given one, or the latest for 0.

        Raises Timeout (504) for a future one, and ServiceUnavailable (503) if the record lags behind the caches.
        """
        await self._caught_up()
        if revision > self.recorder.head:
            raise Timeout.future_version(revision, self.recorder.head)
        return revision or self.recorder.head

    async def _caught_up(self) -> None:
        """Wait until the record has what the caches have. Raises ServiceUnavailable (503)."""
        for _ in range(MOST_TURNS):
            if self.recorder.head >= self.cacher.revision:  # both are fed by the store, one after the other
                return
            await turn(self.recorder.turns)
        raise ServiceUnavailable("the record of writes lags behind the caches")

    async def objects(self, wanted: Wanted, revision: int) -> AsyncIterator[PastObjects]:
        """Yield the objects of wanted resources as of a resolved revision, some at a time, all of one state.

        Raises Expired (410) if neither the record nor the store reaches back so far.
        """
        await self._caught_up()
        present = [pair for pair in self.recorder.resources.present() if wanted(pair[1])]
        if revision < self.recorder.ring.floor:
            for stored, resource in present:
                async for values in self._stored(resource.prefix, revision):
                    entries = await in_turns(self.recorder.turns, _built(resource, values))
                    yield PastObjects(resource, stored, entries)
            return
        # All of this is of one moment: nothing is awaited between the place in the record and the snapshots.
        ring = self.recorder.ring
        start, end = ring.after(revision), ring.end
        snapshots: dict[str, tuple[RecordedResource, Stored | None, Sequence[Entry]]] = {
            resource.prefix: (resource, stored, stored.cache.snapshot()) for stored, resource in present
        }
        undone = await in_turns(self.recorder.turns, _first_writes(ring, start, end, wanted))
        for prefix in dict.fromkeys([*snapshots, *undone]):
            changed = undone.get(prefix, {})
            # Without a snapshot, the definition of the resource has been deleted since.
            found = snapshots.pop(prefix, None) or (next(iter(changed.values())).resource, None, ())
            async for objects in self._undone(*found, changed):
                yield objects

    async def _undone(
        self, resource: RecordedResource, live: Stored | None, entries: Sequence[Entry], changed: FirstWrites
    ) -> AsyncIterator[PastObjects]:
        """Yield the entries of a snapshot, those that have been written since as they were before."""
        before = await in_turns(self.recorder.turns, _built(resource, _replaced(changed)))
        runs = await in_turns(self.recorder.turns, _sorted_runs(before))
        kept = (entry for entry in entries if resource.prefix + entry.key not in changed)
        merged = merge(kept, *runs, key=_key)
        while some := list(islice(merged, PAGE)):
            yield PastObjects(resource, live, some)
            await turn(self.recorder.turns)

    async def _stored(self, prefix: str, revision: int) -> AsyncIterator[Sequence[KeyValue]]:
        start, more = "", True
        while more:
            page = await self.store.list(prefix, revision=revision, limit=PAGE, start=start)
            yield page.items
            more = page.more
            if page.items:
                start = page.items[-1].key + "\0"


def _first_writes(
    ring: Ring, start: int, end: int, wanted: Wanted
) -> Generator[None, None, dict[str, FirstWrites]]:
    """Return the first write of each object of wanted resources among numbered records, by prefix, in steps."""
    found: dict[str, FirstWrites] = defaultdict(dict)
    for record in (yield from ring.between(start, end)):
        if wanted(record.resource):
            found[record.resource.prefix].setdefault(record.key, record)
            if len(found[record.resource.prefix]) % STRIDE == 0:
                yield
    return found


def _sorted_runs(entries: Sequence[Entry]) -> Generator[None, None, list[list[Entry]]]:
    """Return entries in runs that are each in key order, in steps: sorting them all would take too long."""
    runs: list[list[Entry]] = []
    for start in range(0, len(entries), RUN):
        runs.append(sorted(entries[start : start + RUN], key=_key))
        yield
    return runs


def _replaced(changed: FirstWrites) -> Sequence[KeyValue]:
    """Return the values that writes have replaced; created objects have none, damaged ones an empty one."""
    return [
        KeyValue(key, record.previous, record.previous_revision, 0)
        for key, record in changed.items()
        if record.previous
    ]


def _built(resource: RecordedResource, values: Sequence[KeyValue]) -> Generator[None, None, list[Entry]]:
    """Return the entries of stored values that can be read, in steps."""
    found: list[Entry] = []
    for start in range(0, len(values), BUILD_STRIDE):
        for item in values[start : start + BUILD_STRIDE]:
            found += _read(resource, item)
        yield
    return found


def _read(resource: RecordedResource, item: KeyValue) -> Iterator[Entry]:
    try:
        yield resource.build(item.key, item.value, item.revision)
    except (StatusError, ValueError, KeyError, TypeError):
        return
