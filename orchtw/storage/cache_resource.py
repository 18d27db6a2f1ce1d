"""The cache of one stored resource: entries by key, in key order, with their recent history and their watches."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from math import inf
from sys import intern
from typing import Protocol

from sortedcontainers import SortedList  # type: ignore[import-untyped]

from orchtw.errors import Expired, InternalError, Timeout
from orchtw.storage.interface import Change
from orchtw.watch.dispatch import Dispatcher
from orchtw.watch.entry import Entry, LabelSets
from orchtw.watch.frames import Wire
from orchtw.watch.log import Event, EventLog, Head
from orchtw.watch.member import Member
from orchtw.watch.recent import Budget
from orchtw.watch.selection import Selection, by_key
from orchtw.watch.timers import Timers


class StoredResource(Protocol):
    """What the cache must know of a resource: `registry.stored.Stored` is one.

    Served versions and groups with the same storage are one stored resource.
    """

    @property
    def prefix(self) -> str:
        """The start of its keys, such as "/registry/pods/"."""

    def build(self, key: str, value: bytes, revision: int) -> Entry:
        """The entry of a value read from the store; `key` is the rest of the store key after `prefix`."""


class Noted(Protocol):
    """What `Op.note` must be for a put of this process: the object, decoded already."""

    def entry(self, revision: int) -> Entry:
        """The entry once the store has committed the object at `revision`."""


class DamagedObject(InternalError):
    """500: an object is stored at `revision`, and cannot be read."""

    def __init__(self, store_key: str, revision: int) -> None:
        shown = InternalError.damaged(store_key)
        super().__init__(shown.message, shown.details)
        self.revision = revision


class ResourceCache:
    """Entries of one resource as of `revision`, the store's revision that the whole cache has reached.

    Keys are tails: "namespace/name" or "name". Lists that come out are shared: callers leave them as they are.
    `damaged` has the revisions of objects that cannot be read: lists and watches are without them.
    """

    def __init__(
        self, resource: StoredResource, head: Head, timers: Timers, budget: Budget, history_s: float
    ) -> None:
        self.log = EventLog(0, history_s=history_s)
        self.dispatcher = Dispatcher(self.log, head, budget)
        self.loaded_revision = 0
        self._resource = resource
        self._prefix = resource.prefix
        self._prefix_length = len(resource.prefix)
        self._head = head
        self._timers = timers
        self.damaged: dict[str, int] = {}
        self._entries: dict[str, Entry] = {}
        self._keys: SortedList[str] = SortedList()
        self._all: list[Entry] | None = None
        self._label_sets = LabelSets()
        self._followers: tuple[Callable[[Event], None], ...] = ()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def revision(self) -> int:
        """The revision that reads are at: a list's resourceVersion."""
        return self._head.revision

    def get(self, key: str) -> Entry | None:
        """The entry at that key, or None. Raises DamagedObject (500) for one that is stored and cannot be read."""
        entry = self._entries.get(key)
        if entry is None and key in self.damaged:
            raise DamagedObject(self._prefix + key, self.damaged[key])
        return entry

    def snapshot(self, namespace: str = "") -> Sequence[Entry]:
        """All entries, or those of one namespace, in key order."""
        entries = self._entries
        if namespace:
            return [entries[key] for key in self._keys.irange(f"{namespace}/", f"{namespace}0")]  # "0" follows "/"
        if self._all is None:
            self._all = [entries[key] for key in self._keys]
        return self._all

    def snapshot_at(self, revision: int, namespace: str = "") -> Sequence[Entry]:
        """As `snapshot` was at `revision` exactly (seed 1 §4.6).

        Raises Expired (410) when the log does not reach back so far (the store still may), Timeout (504) for
        a revision that has not come yet.
        """
        if revision > self._head.revision:
            raise Timeout.future_version(revision, self._head.revision)
        try:
            then = self.log.overlay(revision, self._timers.now)
        except Expired:
            raise Expired.list() from None
        now = self.snapshot(namespace)
        if not then:
            return now
        start = f"{namespace}/" if namespace else ""
        found = [entry for entry in now if entry.key not in then]
        found += [entry for key, entry in then.items() if entry is not None and key.startswith(start)]
        found.sort(key=_key)
        return found

    def page(self, start: str, namespace: str = "", revision: int = 0) -> Sequence[Entry]:
        """Entries from key `start` on (inclusive), now or at an exact revision; raises as `snapshot_at`."""
        entries = self.snapshot_at(revision, namespace) if revision else self.snapshot(namespace)
        return entries[bisect_left(entries, start, key=_key) :] if start else entries

    def select(self, selection: Selection) -> Sequence[Entry]:
        """The selected entries in key order; one object is looked up, not searched for."""
        found = self._candidates(selection)
        if selection.everything:
            return found
        matches = selection.matches
        return [entry for entry in found if matches(entry)]

    def watch(
        self,
        selection: Selection,
        wire: Wire,
        *,
        since: int | None,
        bookmarks: bool = False,
        deadline: float = inf,
    ) -> Member:
        """A watch that is yet to be started: after revision `since`, or from the present state on if None.

        `deadline` is in seconds of the cacher's clock. An expired `since` shows as an ERROR 410 in the stream.
        """
        state = self._candidates(selection) if since is None else None
        cursor = self._head.revision if since is None else since
        return Member(
            self.dispatcher,
            self._timers,
            selection,
            wire,
            cursor,
            state=state,
            bookmarks=bookmarks,
            deadline=deadline,
        )

    def _candidates(self, selection: Selection) -> Sequence[Entry]:
        """Entries among which all the selected ones are."""
        if selection.facet is by_key:
            entry = self._entries.get(str(selection.term))
            return [] if entry is None else [entry]
        return self.snapshot(selection.namespace)

    def load(self, store_key: str, value: bytes, revision: int) -> None:
        """Take in what the store held at the start; `begin` follows."""
        key = store_key[self._prefix_length :]
        self._entries[key] = self._adopt(self._resource.build(key, value, revision), None)

    def set_aside(self, store_key: str, revision: int, now: float = 0.0) -> bool:
        """Do without an object that cannot be read at `revision`; returns whether that may concern a watch.

        To watches that had it in an earlier state it is deleted, as it is to lists.
        """
        key = store_key[self._prefix_length :]
        old = self._entries.get(key)
        if old is not None and old.revision >= revision:
            return False
        self.damaged[key] = revision
        return old is not None and self._removed(key, old, revision, now)

    def begin(self, revision: int) -> None:
        """Everything up to `revision` has been loaded: changes follow."""
        self._keys = SortedList(self._entries)
        self._all = None
        self.log.oldest = self.loaded_revision = revision

    def apply(self, change: Change, now: float) -> bool:
        """Take over a committed change at time `now`; returns whether it may concern a watch."""
        key = change.key[self._prefix_length :]
        old = self._entries.get(key)
        if change.value is None:
            self.damaged.pop(key, None)
            return old is not None and self._removed(key, old, change.revision, now)
        new = self._adopt(self._new_entry(change, key), old)
        if old is None:
            self._keys.add(new.key)
            self.damaged.pop(key, None)
        self._entries[new.key] = new
        return self._happened(change.revision, key, old, new, now)

    def _removed(self, key: str, old: Entry, revision: int, now: float) -> bool:
        self._keys.remove(key)
        del self._entries[key]
        return self._happened(revision, key, old, None, now)

    def _happened(self, revision: int, key: str, old: Entry | None, new: Entry | None, now: float) -> bool:
        """Tell the log, the watches and the followers; returns whether it may concern a watch."""
        self._all = None
        event = self.log.append(revision, key, old, new, now)
        concerns_watchers = self.dispatcher.dispatch(event)
        for deliver in self._followers:
            deliver(event)
        return concerns_watchers

    def follow(self, deliver: Callable[[Event], None]) -> Callable[[], None]:
        """Call `deliver` with every event from now on, before the event's writer is answered.

        `deliver` must not raise. What comes back ends it.
        """
        self._followers = (*self._followers, deliver)

        def leave() -> None:
            self._followers = tuple(each for each in self._followers if each is not deliver)

        return leave

    def _new_entry(self, change: Change, key: str) -> Entry:
        note: Noted | None = change.note  # type: ignore[assignment]  # the store hands it through as it came
        if note is not None:
            return note.entry(change.revision)
        assert change.value is not None
        return self._resource.build(key, change.value, change.revision)

    def _adopt(self, entry: Entry, old: Entry | None) -> Entry:
        """Share what entries have in common: 10,000 pods have few namespaces, nodes and label sets."""
        if old is not None:
            entry.key, entry.name = old.key, old.name
        entry.namespace = intern(entry.namespace)
        entry.labels = self._label_sets.share(entry.labels)
        entry.fields = tuple(map(intern, entry.fields))
        return entry


def _key(entry: Entry) -> str:
    return entry.key
