"""States of all keys, the present one and those of the history, with the rules of writes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from orchtw import errors
from orchtw.memory.untracked import untrack
from orchtw.storage.compaction import check_revision
from orchtw.storage.counts import Counts
from orchtw.storage.keys import prefix_end
from orchtw.storage.store import Change, KeyValue, Op, Page, Restored, WriteOutcome

FIRST_REVISION: Final = 1
"""Revision of an empty store, as in etcd: its first write is the next one."""

_revision_of: Final = attrgetter("revision")


class Versions:
    """Multi-version map: the present values, and the changes since the last compaction, by which they are undone.

    A key's state at a revision is what the first later change of that key replaced; without one it is the present
    value. `compacted` is the oldest revision that can be read. Compacting sets it at once; `sweep` then frees what
    no revision shows any more.
    """

    def __init__(self) -> None:
        self.revision = FIRST_REVISION
        self.compacted = 0
        self._live: dict[str, KeyValue] = {}
        # A plain list: to insert into 100,000 keys moves 400 KB of pointers, 10 µs, which is little beside a write.
        self._keys: list[str] = []  # sorted: keys that are live or were so at a readable revision
        self._changes: list[Change] = []  # of the revisions after `_swept`, without gaps
        self._past: dict[str, list[Change]] = {}  # the same by key
        self._dead: set[str] = set()  # of the keys, those that are not live
        self._counts = Counts()
        self._swept = FIRST_REVISION

    def __len__(self) -> int:
        return len(self._live)

    @property
    def changes(self) -> int:
        """Number of the changes that are kept."""
        return len(self._changes)

    @property
    def sweeps(self) -> bool:
        """Report whether changes are left that no readable revision needs."""
        return self._swept < self.compacted

    def write(self, op: Op) -> tuple[WriteOutcome, Change | None]:
        """Decide `op` against all writes before it, and commit it; None: nothing was written."""
        key, value, expected, guard = op.key, op.value, op.expected, op.guard
        live = self._live
        held = live.get(key)
        if guard is not None:
            fence = live.get(guard[0])
            if (0 if fence is None else fence.revision) != guard[1]:
                return WriteOutcome(0, fenced=True), None
        if held is None:
            if value is None or expected:
                return WriteOutcome(0), None
        elif expected is not None and expected != held.revision:
            return WriteOutcome(0, held), None
        return WriteOutcome(self.revision + 1), self._commit(op, held)

    def replace(self, ops: Sequence[Op]) -> Sequence[Change]:
        """Commit `ops`, no two of one key, whatever their preconditions say; deletions of missing keys are left out.

        The same as single commits, but the keys are sorted once; notes, of which all have one, stay in the history.
        """
        live, past, known = self._live, self._past, len(self._keys)
        changes: list[Change] = []
        for op in ops:
            key, value = op.key, op.value
            held = live.get(key)
            if value is None:
                if held is None:
                    continue
                del live[key]
                self._dead.add(key)
            else:
                created = self.revision + 1 if held is None else held.create_revision
                item = KeyValue(key, value, self.revision + 1, created)
                untrack(item)
                live[key] = item
                if held is None:
                    self._dead.discard(key)
            self.revision += 1
            change = Change(self.revision, key, value, held, op.note)
            untrack(change)
            changes.append(change)
            earlier = past.get(key)
            if earlier is not None:
                earlier.append(change)
                continue
            past[key] = [change]
            if held is None:
                self._keys.append(key)
        self._changes += changes
        if len(self._keys) > known:
            self._keys.sort()
        return changes

    def _commit(self, op: Op, held: KeyValue | None) -> Change:
        key, value = op.key, op.value
        self.revision = revision = self.revision + 1
        if value is None:
            del self._live[key]
            self._dead.add(key)
        else:
            self._dead.discard(key)
            item = KeyValue(key, value, revision, revision if held is None else held.create_revision)
            untrack(item)
            self._live[key] = item
        change = Change(revision, key, value, held, op.note)
        # Notes would live as long as the history; those of a restore are one object.
        kept = change if op.note is None or type(op.note) is Restored else Change(revision, key, value, held)
        untrack(kept)
        self._changes.append(kept)
        past = self._past.get(key)
        if past is None:
            self._past[key] = [kept]
            if held is None:
                insort(self._keys, key)
        else:
            past.append(kept)
        return change

    def get(self, key: str, revision: int = 0) -> KeyValue | None:
        """Return the key as of `revision` (0: the latest). Raises Timeout (504) or Expired (410)."""
        check_revision(revision, self.compacted, self.revision)
        return self._at(key, revision or self.revision)

    def _at(self, key: str, revision: int) -> KeyValue | None:
        past = self._past.get(key)
        if past is not None and past[-1].revision > revision:
            return past[bisect_right(past, revision, key=_revision_of)].previous
        return self._live.get(key)

    def page(self, prefix: str, revision: int, limit: int, start: str) -> Page:
        """Return a page, as `Store.list`.

        Its cost depends on its length, on the writes since `revision`, and on the keys deleted lately.
        """
        check_revision(revision, self.compacted, self.revision)
        revision = revision or self.revision
        keys, end, first = self._keys, prefix_end(prefix), max(prefix, start)
        known = self._counts.find((prefix, revision, first)) if limit else None
        place = bisect_left(keys, first)
        after = bisect_left(keys, end, place) if end else len(keys)
        items: list[KeyValue] = []
        while place < after and (not limit or len(items) < limit):
            stop = min(after, place + limit - len(items)) if limit else after
            items += self._present(keys[place:stop], revision)
            place = stop
        if place == after:
            return Page(items, revision)
        remaining = self._count(place, after, revision) if known is None else known - len(items)
        self._counts.keep(prefix, revision, [item.key for item in items[-2:]], remaining)
        return Page(items, revision, remaining > 0, remaining)

    def _present(self, keys: Sequence[str], revision: int) -> list[KeyValue]:
        """Return the values that these keys had at `revision`."""
        live, since = self._live, self.revision - revision
        found: Iterable[KeyValue | None]
        if not since:
            found = map(live.get, keys)
        elif since < len(keys):
            before = self._before(revision)
            found = (before[key] if key in before else live.get(key) for key in keys)
        else:
            found = (self._at(key, revision) for key in keys)
        return [item for item in found if item is not None]

    def _before(self, revision: int) -> dict[str, KeyValue | None]:
        """Return the states at `revision` of all keys that have been written since."""
        later = self._changes[revision - self._swept :]
        return {change.key: change.previous for change in reversed(later)}

    def _count(self, place: int, after: int, revision: int) -> int:
        """Return how many of the keys in these places existed at `revision`."""
        low, high, live = self._keys[place], self._keys[after - 1], self._live
        count = after - place - sum(low <= key <= high for key in self._dead)
        for key, then in self._before(revision).items():
            if low <= key <= high:
                count += (then is not None) - (key in live)
        return count

    def since(self, after: int, upto: int) -> Sequence[Change]:
        """Return the changes after `after` up to `upto`. Raises Expired (410) when `after` is compacted."""
        if after < self.compacted:
            raise errors.Expired.watch(after, self.compacted)
        first = max(after, self._swept)
        return self._changes[first - self._swept : upto - self._swept]

    def compact(self, revision: int) -> None:
        """Make `revision` the oldest readable one, unless a later one is already."""
        self.compacted = max(self.compacted, revision)

    def sweep(self, most: int) -> None:
        """Free up to `most` changes that no readable revision needs."""
        count = min(most, self.compacted - self._swept)
        counts: dict[str, int] = {}
        for change in self._changes[:count]:
            counts[change.key] = counts.get(change.key, 0) + 1
        for key, freed in counts.items():
            past = self._past[key]
            if freed < len(past):
                del past[:freed]
                continue
            del self._past[key]
            if key in self._dead:
                self._dead.remove(key)
                del self._keys[bisect_left(self._keys, key)]
        del self._changes[:count]
        self._swept += count
