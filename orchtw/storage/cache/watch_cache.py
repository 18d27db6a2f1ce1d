"""Entries of all stored objects in memory, from which reads, lists and watches are served.

The `Cacher` lists the store once at one revision and then follows its changes; each resource has a `ResourceCache`.
Nothing here awaits between looking and changing, so every reader sees whole batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from orchtw.errors import Expired, NotFound, StatusError, Timeout
from orchtw.storage.cache.freshness import MOST_RECENT, Freshness
from orchtw.storage.cache.loading import Loading
from orchtw.storage.cache.reclaim import Reclaim
from orchtw.storage.cache.resource import StoredResource
from orchtw.storage.cache.resource_cache import ResourceCache, Shared
from orchtw.storage.cache.starting_point import starting_point
from orchtw.storage.encryption.provider import MARK, NOT_PLAIN
from orchtw.storage.store import Change, Damaged, KeyValue, Locked, Restored, Store, Subscription
from orchtw.watch.bookmarks import RESOLUTION_S, TimerWheel
from orchtw.watch.entry import Entry
from orchtw.watch.event_log import HISTORY_S, HeadRevision
from orchtw.watch.room import Room
from orchtw.watch.turns import SLICE_S, ReactorTurns

ROOT: Final = "/registry/"
STRIDE: Final = 32  # objects that are loaded between two looks at the clock
TRIM_INTERVAL_S: Final = 15.0  # how long a quiet resource's log may outlive its history

Find = Callable[[str], ResourceCache | None]
"""Finds the cache that a store key belongs to, if there is one."""

__all__ = ["Cacher", "ResourceCache", "StoredResource"]


class Cacher:
    """The caches of all resources, fed by one subscription.

    `call_soon` runs a function once the reactor has handled what it is handling now: a batch's writers are answered
    first, then its watchers get one write each. `limit_bytes` bounds the memory held for readers beside the objects
    themselves (0: no limit). `clock` must be monotonic (see `monotonic`).
    """

    log_failures = Logger()

    def __init__(
        self,
        store: Store,
        clock: IReactorTime,
        call_soon: Callable[[Callable[[], None]], Any],
        *,
        history_s: float = HISTORY_S,
        limit_bytes: int = 0,
    ) -> None:
        self.turns = ReactorTurns(clock.seconds, call_soon)
        self.timers = TimerWheel(clock.seconds())
        self.ready = False
        self._store = store
        self._clock = clock
        self._call_soon = call_soon
        self._history_s = history_s
        self._head = HeadRevision()
        self.freshness = Freshness(store, self._head, clock)
        self.room = Room(limit_bytes)
        self._reclaim = Reclaim(self.room, self.turns, lambda: tuple(self._caches.values()))
        self._shared = Shared(
            timers=self.timers,
            turns=self.turns,
            head=self._head,
            freshness=self.freshness,
            outdated=store.outdated,
            unreadable=self._unreadable,
            room=self.room,
            history_s=history_s,
        )
        self.loading: Loading | None = None
        self.adding: Loading | None = None  # of a resource that has come up at run time
        self._caches: dict[str, ResourceCache] = {}
        self._touched: dict[ResourceCache, None] = {}
        self._loading: dict[str, list[Change]] = {}  # what happens below a prefix while it is being listed
        self._subscription: Subscription | None = None
        self._ticking: IDelayedCall | None = None
        self._next_trim = 0.0
        self._spoilt: list[tuple[ResourceCache, Entry]] = []

    @property
    def revision(self) -> int:
        """Store revision that the cache has reached, for all resources together."""
        return self._head.revision

    @property
    def caches(self) -> Iterable[ResourceCache]:
        """The caches of all resources."""
        return self._caches.values()

    @property
    def damaged(self) -> int:
        """Number of stored objects that cannot be read."""
        return sum(len(cache.damaged) for cache in self._caches.values())

    def held_bytes(self) -> Mapping[str, int]:
        """Return the bytes that are held for readers beside the objects, by purpose."""
        return {
            "encodings": self.room.plain,
            "packed": self.room.packed,
            "rows": self.room.rows,
            "history": self.room.history.used_bytes,
            "snapshots": self.room.pinned,
            "batches": self.room.recent.used_bytes,
            "indexes": self.room.indexes.used_bytes,
            "compressed": self.room.compressed_bytes,
        }

    def of(self, resource: StoredResource) -> ResourceCache:
        """Return the cache of a stored resource. Raises NotFound (404) if it has been removed or never added."""
        cache = self._caches.get(resource.prefix)
        if cache is None:
            raise NotFound.generic()
        return cache

    async def start(self, resources: Iterable[StoredResource]) -> None:
        """Load everything and follow the store from there.

        An object that cannot be read is logged and set aside (see `ResourceCache.damaged`); all others are served.
        """
        known = tuple(resources)
        self._store.remembers(self._keys)
        try:
            await self._follow(known, await starting_point(self._store, f"{ROOT}namespaces/default"))
        except Expired:  # the history of that revision was given up meanwhile
            await self._follow(known, 0)
        if (due := self.freshness.due(MOST_RECENT)) is not None:
            with suppress(Timeout):  # readers wait for themselves
                await due
        self.ready = True
        self._tick()

    async def _follow(self, resources: Iterable[StoredResource], revision: int) -> None:
        """Load the state of a revision (0: the latest), and follow the store from there."""
        for resource in resources:
            self._caches[resource.prefix] = self._new_cache(resource)
        self.loading = Loading(self._clock.seconds())
        revision = await self._load(ROOT, self._find, revision, self.loading)
        for cache in self._caches.values():
            cache.begin(revision)
        self._head.revision = revision
        self._subscription = await self._store.subscribe(revision, self._deliver)

    def _keys(self) -> Iterator[str]:
        """Yield the keys of all objects, readable or set aside."""
        for cache in list(self._caches.values()):
            yield from cache.keys()

    async def stop(self) -> None:
        """End all watches and stop following the store."""
        self.ready = False
        self.end_watches()
        if self._subscription is not None:
            self._subscription.stop()
            self._subscription = None
        if self._ticking is not None and self._ticking.active():
            self._ticking.cancel()
        self.freshness.stop()

    @property
    def delivered(self) -> bool:
        """Report whether every watcher has been sent all events."""
        return all(cache.dispatcher.delivered for cache in self._caches.values())

    def end_watches(self) -> None:
        """End all watches normally, including those about to start: the server is shutting down."""
        for cache in self._caches.values():
            cache.dispatcher.close()

    def expire(self, revision: int) -> None:
        """End the watches of all clients with an ERROR 410: the state is to be that of `revision` at once."""
        error = Expired.watch(self._head.revision, revision)
        for cache in self._caches.values():
            cache.dispatcher.fail(error)

    def forget_past(self) -> None:
        """Forget the history of all resources: earlier resourceVersions are expired for lists and watches."""
        for cache in self._caches.values():
            cache.forget_past(self._head.revision)

    async def add(self, resource: StoredResource) -> ResourceCache:
        """Add a resource that came up at run time, with its stored objects.

        It takes the place of a resource with the same prefix, whose watches end then, not earlier. It is listed at
        the revision that all caches have reached: the store may be ahead of them, and a list's version must not be
        older than what is on it. Later changes are kept and applied afterwards. Raises what the store raises; then
        everything is as before.
        """
        cache, prefix = self._new_cache(resource), resource.prefix
        kept = self._loading[prefix] = []
        self.adding = loading = Loading(self._clock.seconds(), prefix=prefix)
        try:
            revision = await self._load(prefix, lambda key: cache, self._head.revision, loading)
        except BaseException:
            self.room.history.leave(cache.log)
            raise
        finally:
            del self._loading[prefix]
            if self.adding is loading:
                self.adding = None
        cache.begin(revision)
        self.remove(resource)
        self._caches[prefix] = cache
        for change in kept:
            if change.revision > revision:
                self._apply(cache, change)
        return cache

    def remove(self, resource: StoredResource) -> None:
        """Remove a resource and end all watches on it. Its cache stays as it is for those who still hold it."""
        cache = self._caches.pop(resource.prefix, None)
        if cache is not None:
            self._touched.pop(cache, None)
            cache.close()
            self.room.history.leave(cache.log)

    def _new_cache(self, resource: StoredResource) -> ResourceCache:
        return ResourceCache(resource, self._shared)

    async def _load(self, prefix: str, find: Find, revision: int, loading: Loading) -> int:
        """Load all keys below `prefix` at one revision (0: the latest), in slices; returns the revision."""
        until = self.turns.seconds() + SLICE_S
        async for page in self._store.scan(prefix, revision=revision, wanted=_wanted(find)):
            revision, where = page.revision, prefix
            for start in range(0, len(page.items), STRIDE):
                where = self._load_some(find, page.items[start : start + STRIDE]) or where
                if self.turns.seconds() >= until:
                    await self._turn()
                    until = self.turns.seconds() + SLICE_S
            for lost in page.damaged:
                cache = find(lost.key)
                if cache is not None:
                    self._set_aside(cache, lost, "its checksum is wrong")
            if page.items:
                loading.advanced(self._clock.seconds(), len(page.items), page.remaining, where)
        return revision

    def _load_some(self, find: Find, items: Iterable[KeyValue]) -> str:
        """Load a few objects; returns the prefix of the last one."""
        cache, where = None, ""
        for item in items:
            if not where or not item.key.startswith(where):
                cache = find(item.key)
                where = "" if cache is None else cache.prefix
            if cache is None:
                continue
            try:
                cache.load(item.key, item.value, item.revision)
            except MemoryError:
                raise
            except Exception as error:  # noqa: BLE001 - one bad object must not be the end of the start
                why, locked = f"it cannot be decoded ({error})", _why_locked(item.value, None)
                self._set_aside(cache, Damaged(item.key, item.revision, locked), why)
        return where

    def _turn(self) -> Deferred[None]:
        """Return a Deferred that fires when the reactor has handled its pending work."""
        waiting: Deferred[None] = Deferred()
        self._call_soon(lambda: None if waiting.called else waiting.callback(None))
        return waiting

    def _set_aside(self, cache: ResourceCache, lost: Damaged, why: str, now: float = 0.0) -> bool:
        """Log a damaged object and set it aside, as `ResourceCache.set_aside`."""
        text = "{key} at {revision} is damaged and set aside: {why}"
        if lost.locked:
            text, why = "{key} at {revision} cannot be read for now: {why}", lost.locked
        self.log_failures.error(text, key=lost.key, revision=lost.revision, why=why)
        return cache.set_aside(lost.key, lost.revision, now, lost.locked)

    def _find(self, key: str) -> ResourceCache | None:
        """Return the cache that a store key belongs to: `/registry/<plural>/…` or `/registry/<group>/<plural>/…`."""
        first = key.find("/", len(ROOT)) + 1
        cache = self._caches.get(key[:first])
        if cache is None and first:
            cache = self._caches.get(key[: key.find("/", first) + 1])
        return cache

    def _deliver(self, changes: Sequence[Change]) -> None:
        """Take over a batch of committed changes; runs before the batch's writers are answered."""
        head, note = self._head, changes[0].note
        if type(note) is Restored:
            self._restore(changes, note.expires)
            return
        for change in changes:
            if change.revision < head.revision:
                continue
            cache = self._find(change.key)
            if cache is not None and change.revision > cache.loaded_revision:
                self._apply(cache, change)
            for prefix, kept in self._loading.items():
                if change.key.startswith(prefix):
                    kept.append(change)
            head.revision = change.revision
        if self._touched:
            # For each batch anew: should one call be late or lost, the next batch, or the next tick, makes up for it.
            self._call_soon(self._flush)
        self.freshness.advanced()

    def _restore(self, changes: Sequence[Change], expires: bool) -> None:
        """Take over a batch by which an earlier state comes back: a run of changes of one resource after the other.

        `expires`: no watch of a client is told of them.
        """
        if expires:  # watches end before the first change
            self.expire(changes[-1].revision)
        now, start = self._clock.seconds(), 0
        while start < len(changes):
            cache = self._find(changes[start].key)
            stop = start + 1 if cache is None else _end_of_run(changes, start, cache.prefix)
            run = changes[start:stop] if stop - start < len(changes) else changes
            self._head.revision = run[-1].revision
            if cache is not None:
                self._restore_run(cache, run, now, expires)
            for prefix, kept in self._loading.items():
                kept += [change for change in run if change.key.startswith(prefix)]
            start = stop
        if expires:  # what was before has no history
            self.forget_past()
        elif self._touched:
            self._call_soon(self._flush)
        self.freshness.advanced()

    def _restore_run(self, cache: ResourceCache, run: Sequence[Change], now: float, expires: bool) -> None:
        def failed(change: Change, error: Exception) -> None:
            if self._not_applied(cache, change, error, now) and not expires:
                self._touched[cache] = None

        if cache.restore(run, now, failed, shown=not expires):
            self._touched[cache] = None

    def _apply(self, cache: ResourceCache, change: Change) -> None:
        """Apply one change; one that cannot be read is logged and set aside, and the others go on."""
        now = self._clock.seconds()
        try:
            concerns_watchers = cache.apply(change, now)
        except Exception as error:  # noqa: BLE001 - one bad object must not stop the feed
            concerns_watchers = self._not_applied(cache, change, error, now)
        if concerns_watchers:
            self._touched[cache] = None

    def _not_applied(self, cache: ResourceCache, change: Change, error: Exception, now: float) -> bool:
        """Set aside an unreadable change: damaged objects are named in the log, our own mistakes traced."""
        if change.value is None or not isinstance(error, (StatusError, ValueError)):
            self.log_failures.failure("{key} at {revision} cannot be read", key=change.key, revision=change.revision)
        if change.value is None:
            return False
        lost = Damaged(change.key, change.revision, _why_locked(change.value, change.note))
        return self._set_aside(cache, lost, f"it cannot be decoded ({error})", now)

    def _flush(self) -> None:
        """Flush the watchers once per reactor turn with changes, those of later caches in the next turns."""
        end = self.turns.seconds() + SLICE_S
        touched = self._touched
        while touched:
            cache = next(iter(touched))
            del touched[cache]
            cache.dispatcher.flush()
            if touched and self.turns.seconds() >= end:
                self.turns.later(self._flush)
                return

    def _unreadable(self, cache: ResourceCache, entry: Entry, error: Exception) -> None:
        """Log an object that could not be read on demand, maybe in a thread, and set it aside soon."""
        why = f"it cannot be decoded ({error})"
        text = "{key} at {revision} is damaged and set aside: {why}"
        self.log_failures.error(text, key=cache.prefix + entry.key, revision=entry.revision, why=why)
        self._spoilt.append((cache, entry))

    def _retire_spoilt(self) -> None:
        spoilt, self._spoilt = self._spoilt, []
        for cache, entry in spoilt:
            if cache.retire(entry, self._clock.seconds()):
                self._touched[cache] = None

    def _tick(self) -> None:
        """Flush pending changes, and handle bookmarks, deadlines and old history."""
        self._ticking = self._clock.callLater(RESOLUTION_S, self._tick)
        if self._spoilt:
            self._retire_spoilt()
        if self._touched:
            self._flush()
        now = self._clock.seconds()
        self._turn_timers()
        self._bound_pins()
        self._reclaim.begin()
        if now >= self._next_trim:
            self._next_trim = now + min(TRIM_INTERVAL_S, self._history_s)
            for cache in self._caches.values():
                cache.trim(now)

    def _turn_timers(self) -> None:
        """Handle due bookmarks and deadlines, as many as fit in a slice; the rest in the next turns."""
        if self.timers.tick(self._clock.seconds(), self.turns.seconds, self.turns.end()):
            self.turns.later(self._turn_timers)

    def _bound_pins(self) -> None:
        """Expire the readers of the oldest states when these hold too much."""
        caches = list(self._caches.values())
        held = sum(cache.pins.bytes for cache in caches)
        while held > self.room.pinned_limit:
            worst = max(caches, key=lambda cache: cache.pins.bytes)
            held -= worst.pins.bytes
            worst.pins.expire_oldest()
            held += worst.pins.bytes
        self.room.pinned = held


def _wanted(find: Find) -> Callable[[str], bool]:
    """Return a test, for keys in order, of whether a cache wants a key."""
    prefix = ""

    def wanted(key: str) -> bool:
        nonlocal prefix
        if prefix and key.startswith(prefix):
            return True
        cache = find(key)
        prefix = "" if cache is None else cache.prefix
        return cache is not None

    return wanted


def _end_of_run(changes: Sequence[Change], start: int, prefix: str) -> int:
    """Return the position after the changes from `start` on whose keys begin with `prefix`."""
    stop = start + 1
    while stop < len(changes) and changes[stop].key.startswith(prefix):
        stop += 1
    return stop


def _why_locked(value: bytes, note: object) -> str:
    """Return why a value is unreadable without other keys; empty: encryption is not the reason."""
    if isinstance(note, Locked):
        return note.why
    return NOT_PLAIN if value.startswith(MARK) else ""
