"""Cache of one stored resource: entries by key, in key order, with their recent history and watches."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from math import inf

import msgspec

from orchtw.errors import Expired, InternalError, Timeout
from orchtw.memory.untracked import untrack
from orchtw.storage.cache.freshness import Freshness
from orchtw.storage.cache.indexes import Indexes
from orchtw.storage.cache.kept import KeptStates
from orchtw.storage.cache.looks import Looks, share_fields
from orchtw.storage.cache.ordered import NO_ENTRIES, Entries, Ordered
from orchtw.storage.cache.past import Past
from orchtw.storage.cache.pins import Pins
from orchtw.storage.cache.resource import DamagedObject, Follower, Noted, StoredResource
from orchtw.storage.cache.selecting import namespace_of, range_of, selected
from orchtw.storage.cache.union import Candidates
from orchtw.storage.store import Change, Terms
from orchtw.watch.bookmarks import TimerWheel
from orchtw.watch.dispatcher import Dispatcher
from orchtw.watch.entry import LARGE_BYTES, Entry, LabelSets, Texts, Unread, size_at_rest, unread
from orchtw.watch.event_log import HISTORY_S, Event, EventLog, HeadRevision
from orchtw.watch.frames import Wire
from orchtw.watch.room import Room
from orchtw.watch.selection import Selection, by_key, by_name
from orchtw.watch.turns import ReactorTurns
from orchtw.watch.watcher import Watcher


class Shared(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """State that the caches of all resources share: head revision, timers, and limits."""

    timers: TimerWheel
    turns: ReactorTurns
    head: HeadRevision
    freshness: Freshness
    outdated: Callable[[str], bool] = lambda key: False
    unreadable: Callable[[ResourceCache, Entry, Exception], None] = lambda cache, entry, error: None
    room: Room = msgspec.field(default_factory=Room)
    texts: Texts = msgspec.field(default_factory=Texts)
    history_s: float = HISTORY_S


class ResourceCache:
    """Entries of one resource as of `revision`, the store's revision that the whole cache has reached.

    Keys are tails: "namespace/name" or "name". `damaged` has the revisions of objects that cannot be read: lists and
    watches omit them. `locked` has the reasons why objects cannot be read for now; a list of them must fail
    (`check_unlocked`), for nothing may be concluded from their absence. `large` has the keys of objects over
    LARGE_BYTES. A reader asks `freshness` first. Once it is `closed` it stays as it was: another cache, or none, has
    taken its place. `loaded` is the number of objects read when it was filled; `raw_bytes` the size of all objects as
    stored.
    """

    def __init__(self, resource: StoredResource, shared: Shared) -> None:
        self.log = EventLog(0, history_s=shared.history_s, total=shared.room.history)
        self.dispatcher = Dispatcher(self.log, shared.head, shared.room.recent, shared.turns)
        self.pins = Pins(self.log)
        self.kept = KeptStates(self.pins, shared.history_s)
        self.freshness = shared.freshness
        self.loaded_revision = self.loaded = self.raw_bytes = 0
        self.closed = False
        self._resource = resource
        self._prefix = resource.prefix
        self._prefix_length = len(resource.prefix)
        self.damaged: dict[str, int] = {}
        self.locked: dict[str, str] = {}
        self.large: set[str] = set()
        self._head = shared.head
        self._timers = shared.timers
        self._entries: dict[str, Entry] = {}
        self._ordered = Ordered()
        self.indexes = Indexes(self._entries, self._ordered.snapshot, shared.turns, shared.room.indexes)
        self._texts = shared.texts
        self._outdated = shared.outdated
        self._label_sets = LabelSets(shared.texts)
        self._followers: tuple[Follower, ...] = ()
        self.room = shared.room
        self._unreadable = shared.unreadable
        self._look = Looks(self, resource, self._label_sets, shared.texts)  # one for all entries
        self._loading = ""  # the namespace that is being loaded

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def prefix(self) -> str:
        """Prefix of its keys in the store."""
        return self._prefix

    @property
    def revision(self) -> int:
        """Revision that reads are at: a list's resourceVersion."""
        return self._head.revision

    def get(self, key: str) -> Entry | None:
        """Return the entry at that key, or None.

        Raises DamagedObject (500) for one that is stored and cannot be read, InternalError (500) for a locked one.
        """
        entry = self._entries.get(key)
        return entry if type(entry) is Entry and not self.damaged else self._looked_at(key, entry)

    def holds(self, key: str) -> bool:
        """Report whether there is an object at that key, readable or not; from any thread."""
        return key in self._entries or key in self.locked

    def _looked_at(self, key: str, entry: Entry | None) -> Entry | None:
        if type(entry) is Unread:
            entry.look()
        if key in self.damaged:
            raise DamagedObject(self._prefix + key, self.damaged[key])
        if entry is None and key in self.locked:
            raise InternalError.unreadable(self._prefix + key, self.locked[key])
        return entry

    def keys(self) -> Iterator[str]:
        """Yield the store keys of all objects, including those set aside."""
        return (self._prefix + key for held in (self._entries, self.damaged, self.locked) for key in held)

    def check_unlocked(self, namespace: str = "") -> None:
        """Check that no object, of one namespace or at all, is locked. Raises InternalError (500)."""
        for key, why in self.locked.items():
            if not namespace or key.startswith(f"{namespace}/"):
                raise InternalError.unreadable(self._prefix + key, why)

    def outdated(self, key: str) -> bool:
        """Report whether the object is still stored in an outdated form."""
        return self._outdated(self._prefix + key)

    def snapshot(self, namespace: str = "", start: str = "") -> Entries:
        """Return all entries, or those of one namespace, from key `start` on (inclusive)."""
        everything = self._ordered.snapshot()
        if not namespace and not start:
            return everything
        low, high = range_of(namespace, start)
        return everything.between(low, high)

    def past(self, revision: int, selection: Selection) -> Past:
        """Return the state at `revision` exactly, with the selected entries among others (STORE-6, READ-5).

        Raises Expired (410) when the log does not reach back so far (the store still may), Timeout (504) for
        a revision that has not come yet.
        """
        if revision > self._head.revision:
            raise Timeout.future_version(revision, self._head.revision)
        try:
            events = self.log.undoing(revision, self._timers.now)
        except Expired:
            raise Expired.list() from None
        return Past(self.candidates(selection), events, *range_of(namespace_of(selection), ""), selection.matches)

    def keep(self, revision: int, selection: Selection, entries: Candidates) -> None:
        """Keep the candidates at `revision` of a selection: pages of it will be requested."""
        whole = self._ordered.snapshot() if revision == self._head.revision else None
        is_whole = whole is not None and isinstance(entries, Entries) and entries.chunks is whole.chunks
        part = None if is_whole else entries
        self.kept.keep(revision, self._timers.now, selection, part, whole)

    def found(self, revision: int, selection: Selection) -> Candidates | None:
        """Return the candidates kept at a revision for such a selection, or None."""
        return self.kept.find(revision, self._timers.now, selection, *range_of(namespace_of(selection), ""))

    def select(self, selection: Selection) -> Generator[None, None, Sequence[Entry]]:
        """Return the selected entries in key order, in steps; a single object is looked up, not searched for."""
        entries = self.candidates(selection)
        if selection.whole:
            return entries
        found, _ = yield from selected(entries, selection, self.indexes)
        return found

    def watch(
        self,
        selection: Selection,
        wire: Wire,
        *,
        since: int | None,
        with_state: bool = True,
        marks: bool = False,
        bookmarks: bool = False,
        deadline: float = inf,
    ) -> Watcher:
        """Return a watch that is yet to be started: after revision `since`, or from the present state on if None.

        `with_state` False: without an ADDED for each of its objects. `marks` is as for `Watcher`. `deadline` is in
        seconds of the cacher's clock. An expired `since` shows as an ERROR 410 in the stream.
        """
        state = self.candidates(selection) if since is None and with_state else None
        cursor = self._head.revision if since is None else since
        member = Watcher(
            self.dispatcher,
            self._timers,
            selection,
            wire,
            cursor,
            state=state,
            bookmarks=bookmarks,
            marks=marks,
            deadline=deadline,
        )
        if state:
            self.pins.add(member)
            if not selection.whole:
                self.indexes.looked(selection, len(state), 0)
        return member

    def large_among(self, selection: Selection) -> list[Entry]:
        """Return the selected entries of more than LARGE_BYTES, in no order."""
        found, large = self.candidates(selection), self.large
        if len(found) < len(large):
            return [entry for entry in found if entry.key in large and selection.matches(entry)]
        return [entry for entry in map(self._entries.__getitem__, large) if selection.matches(entry)]

    def candidates(self, selection: Selection) -> Candidates:
        """Return candidates: entries that include all the selected ones."""
        return self.indexed(selection)[0]

    def indexed(self, selection: Selection) -> tuple[Candidates, str]:
        """Return the candidates, and the kind of index used; "": all, or those of a namespace, are candidates."""
        if selection.indexer is by_key or (selection.indexer is by_name and self._is_without_namespaces()):
            entry = self._entries.get(str(selection.term))
            return NO_ENTRIES if entry is None else Entries.run((entry,)), "key"
        namespace = namespace_of(selection)
        return self.indexes.shortest(selection, self.snapshot(namespace), *range_of(namespace, ""))

    def _is_without_namespaces(self) -> bool:
        """Report whether names are keys: thousands of nodes watch themselves by name."""
        return bool(self._entries) and "/" not in self._ordered.snapshot()[0].key

    def load(self, store_key: str, value: bytes, revision: int) -> None:
        """Load an object that the store held at the start; `begin` follows."""
        key = store_key[self._prefix_length :]
        if self._resource.is_plain(key, value):
            namespace, _, name = key.rpartition("/")
            if namespace != self._loading:
                self._loading = self._texts.share(namespace)
            self._entries[key] = unread(key, self._loading, name, revision, self._look, value)
            self.raw_bytes += (size := len(value))
            if size > LARGE_BYTES:
                self.large.add(key)
        else:
            self._entries[key] = entry = self._adopt(self._resource.build(key, value, revision), None)
            self._note_size(key, len(entry.raw))
            self.room.count(entry.forms())
        self.loaded += 1

    def spoilt(self, entry: Entry, error: Exception) -> DamagedObject:
        """Note that a loaded value is not an object: a GET of it fails, and lists soon omit it."""
        damaged = DamagedObject(self._prefix + entry.key, entry.revision)
        if self._entries.get(entry.key) is entry and entry.key not in self.damaged:
            self.damaged[entry.key] = entry.revision
            self._unreadable(self, entry, error)
        return damaged

    def looked(self, entry: Entry, more: int) -> None:
        """Count the size of a loaded entry that has been read, unless it is gone."""
        if self._entries.get(entry.key) is entry:
            self.raw_bytes += more

    def retire(self, entry: Entry, now: float) -> bool:
        """Set aside an object that was `spoilt`; returns whether that concerns a watch, which is sent its names."""
        if self._entries.get(entry.key) is not entry:
            return False
        nameplate = self._resource.placeholder(entry.namespace, entry.name, entry.revision)
        self.raw_bytes += len(nameplate.raw) - len(entry.raw)
        self.room.count(entry.forms(), -1)
        entry.raw, entry.json, entry.other = nameplate.raw, nameplate.json, None
        self.room.count(entry.forms())
        return self._removed(entry.key, entry, self._head.revision, now)

    def set_aside(self, store_key: str, revision: int, now: float = 0.0, locked: str = "") -> bool:
        """Set aside an object unreadable at `revision`; returns whether that may concern a watch.

        `locked` is the reason if it may become readable. Watches that sent an earlier state of it send a deletion.
        """
        key = store_key[self._prefix_length :]
        old = self._entries.get(key)
        if old is not None and old.revision >= revision:
            return False
        if locked:
            self.locked[key] = locked
        else:
            self.damaged[key] = revision
        return old is not None and self._removed(key, old, revision, now)

    def begin(self, revision: int) -> None:
        """Begin to follow changes: everything up to `revision` has been loaded."""
        self._ordered.fill(self._entries.values())
        self.log.oldest = self.loaded_revision = revision

    def apply(self, change: Change, now: float) -> bool:
        """Take over a committed change at time `now`; returns whether it may concern a watch."""
        key = change.key[self._prefix_length :]
        old = self._entries.get(key)
        if change.value is None:
            self._not_aside(key)
            return old is not None and self._removed(key, old, change.revision, now)
        new = self._adopt(self._new_entry(change, key), old)
        self._put(old, new)
        self.room.count(new.forms())
        return self._happened(change.revision, key, old, new, now)

    def restore(
        self, changes: Sequence[Change], now: float, failed: Callable[[Change, Exception], None], *, shown: bool
    ) -> bool:
        """Take over changes of a restore, no two of one object; returns whether they may concern a watch.

        Followers are told of each; the log and the watches only if they are `shown` it. A restored value is read when
        somebody asks for it: most are not asked for before the next restore. `failed` is called with a change that
        cannot be applied.
        """
        events: list[Event] = []
        # 200 of 1,000 new places cost as much as to sort them all.
        whole = len(changes) * 4 >= len(self._entries)
        for change in changes:
            try:
                event = self._restored(change, now, whole)
            except Exception as error:  # noqa: BLE001 - one bad object must not stop the others
                failed(change, error)
                continue
            if event is not None:
                events.append(event)
        if whole:
            self._ordered.fill(self._entries.values())
        concerns_watchers = False
        if shown:
            self.log.extend(events, now)
            dispatch = self.dispatcher.dispatch
            for event in events if self.dispatcher.groups else ():
                concerns_watchers = dispatch(event) or concerns_watchers
        for follower in self._followers:
            for event in events:
                follower.take(event)
        return concerns_watchers

    def _restored(self, change: Change, now: float, unordered: bool) -> Event | None:
        """Take over one change, and leave the order of entries as it is if they are `unordered` for now."""
        key, value = change.key[self._prefix_length :], change.value
        old, new = self._entries.get(key), None
        if value is None:
            if self.damaged or self.locked:
                self._not_aside(key)
            if old is None:
                return None
            self._take_out(key, old, unordered)
        else:
            if self._resource.is_plain(key, value):
                namespace, _, name = key.rpartition("/")
                new = unread(key, self._texts.share(namespace), name, change.revision, self._look, value)
                untrack(new)
            else:
                new = self._adopt(self._new_entry(change, key), old)
                self.room.count(new.forms())
            self._put(old, new, unordered)
        return Event(change.revision, key, old, new, now)

    def _put(self, old: Entry | None, new: Entry, unordered: bool = False) -> None:
        if self.damaged or self.locked:
            self._not_aside(new.key)
        if not unordered:
            self._ordered.put(new)
        self._entries[new.key] = new
        self.indexes.change(old, new)
        self._note_size(new.key, size_at_rest(new))
        if old is not None:
            self._gone(old)

    def forget_past(self, revision: int) -> None:
        """Forget all states and events before `revision`, which is the present: watches from there are expired."""
        self.log.forget(revision)
        self.kept.clear()

    def trim(self, now: float) -> None:
        """Drop old history, and the data of readers that are gone."""
        self.log.trim(now)
        self.kept.trim(now)
        self.indexes.trim()

    def _not_aside(self, key: str) -> None:
        self.damaged.pop(key, None)
        self.locked.pop(key, None)

    def _removed(self, key: str, old: Entry, revision: int, now: float) -> bool:
        self._take_out(key, old)
        return self._happened(revision, key, old, None, now)

    def _take_out(self, key: str, old: Entry, unordered: bool = False) -> None:
        if not unordered:
            self._ordered.remove(key)
        del self._entries[key]
        self.indexes.change(old, None)
        self.large.discard(key)
        self._gone(old)

    def _gone(self, old: Entry) -> None:
        """Stop counting an entry's bytes: the log counts them from now on."""
        self.raw_bytes -= size_at_rest(old)
        self.room.count(old.forms(), -1)

    def made(self, entry: Entry, plain: int, packed: int, other: int) -> None:
        """Count new forms that an entry keeps; the log counts those of its entries when it gets them."""
        if self._entries.get(entry.key) is entry:
            self.room.count((plain, packed, other))

    def spare(self, entry: Entry, *, drop: bool) -> None:
        """Reduce an entry that is still there (see `StoredResource.spare`)."""
        if self._entries.get(entry.key) is not entry:
            return
        self.room.count(entry.forms(), -1)
        self._resource.spare(entry, drop=drop)
        self.room.count(entry.forms())

    def _note_size(self, key: str, size: int) -> None:
        self.raw_bytes += size
        if size > LARGE_BYTES:
            self.large.add(key)
        elif self.large:
            self.large.discard(key)

    def _happened(self, revision: int, key: str, old: Entry | None, new: Entry | None, now: float) -> bool:
        """Pass a change to the log, the watches and the followers; returns whether it may concern a watch."""
        event = self.log.append(revision, key, old, new, now)
        concerns_watchers = self.dispatcher.dispatch(event)
        self._tell(event)
        return concerns_watchers

    def _tell(self, event: Event) -> None:
        for follower in self._followers:
            follower.take(event)

    def follow(self, follower: Follower) -> None:
        """Hand every event from now on to `follower`, before the event's writer is answered."""
        self._followers = (*self._followers, follower)

    def leave(self, follower: Follower) -> None:
        """Stop handing events to `follower`; repeated calls do nothing."""
        self._followers = tuple(each for each in self._followers if each is not follower)

    def close(self) -> None:
        """Close the cache of a removed resource: end all watches normally, and those that start later.

        Earlier events are still sent, as many as fit in a slice.
        """
        self.closed = True
        self.indexes.close()
        self.dispatcher.flush()
        self.dispatcher.close()
        followers, self._followers = self._followers, ()
        for follower in followers:
            follower.closed()
        self._resource = self._resource.alone()  # who holds the resource holds the cache: no reference goes back
        self._look.detach(self._resource)

    def _new_entry(self, change: Change, key: str) -> Entry:
        terms = b""
        if type(change.note) is Terms:
            terms = change.note.terms
        else:
            note: Noted | None = change.note  # type: ignore[assignment]  # the store hands it through as it came
            if note is not None and note.stored is self._resource:
                return note.entry(change.revision)
        value, revision = change.value, change.revision
        assert value is not None
        if not self._resource.is_plain(key, value):
            return self._resource.build(key, value, revision)
        # What another server has written costs a look, a tenth of decoding a Pod; other processes of this one tell.
        labels, fields, raw, other = self._resource.glance(value, revision, terms)
        namespace, _, name = key.rpartition("/")
        return Entry(key, namespace, name, revision, labels, fields, raw, other=other)

    def _adopt(self, entry: Entry, old: Entry | None) -> Entry:
        """Share what entries have in common: 10,000 pods have few namespaces, nodes and label sets."""
        untrack(entry)
        if old is not None:
            entry.key, entry.name = old.key, old.name
        entry.namespace = self._texts.share(entry.namespace)
        entry.labels = self._label_sets.share(entry.labels)
        entry.fields = share_fields(self._texts, entry.fields)
        return entry
