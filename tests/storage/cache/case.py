"""A cache over a store that does what a test says, and entries that are no more than bytes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from twisted.internet.defer import Deferred, ensureDeferred, succeed
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.storage.cache.ordered import Entries
from orchtw.storage.cache.resource_cache import ResourceCache
from orchtw.storage.cache.watch_cache import Cacher
from orchtw.storage.store import (
    Change,
    Damaged,
    KeyValue,
    Op,
    Page,
    Store,
    Subscription,
    WriteOutcome,
)
from orchtw.watch.entry import Entry, Glance
from orchtw.watch.event_log import Event
from orchtw.watch.selection import Selection


class FakeSubscription(Subscription):
    """Handle that can be stopped."""

    def __init__(self, store: FakeStore) -> None:
        self._store = store

    def stop(self) -> None:
        self._store.deliver = None


class FakeStore(Store):
    """Keys and revisions in memory; `gate`, when set, holds the next list back after it has been read."""

    shared = False

    def __init__(self) -> None:
        self.items: dict[str, KeyValue] = {}
        self.now = 1
        self.deliver: Callable[[Sequence[Change]], None] | None = None
        self.pages = 0
        self.asked: list[int] = []
        self.gate: Deferred[None] | None = None
        self.damaged: set[str] = set()

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def check(self) -> None: ...

    async def alive(self) -> None: ...

    async def compact(self, revision: int) -> None: ...

    async def revision(self) -> int:
        return self.now

    async def get(self, key: str, revision: int = 0) -> KeyValue | None:
        return self.items.get(key)

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, start: str = "") -> Page:
        self.pages += 1
        self.asked.append(revision)
        keys = sorted(key for key in self.items if key.startswith(prefix) and key >= start)
        chosen = [key for key in keys if key not in self.damaged][:limit]
        last = chosen[-1] if len(chosen) == limit else "~"
        bad = [Damaged(key, self.items[key].revision) for key in keys if key in self.damaged and key <= last]
        found = [self.items[key] for key in chosen]
        page = Page(found, revision or self.now, any(key > last for key in keys), damaged=bad)
        if self.gate is not None:
            await self.gate
        return page

    def commit(self, op: Op) -> Deferred[WriteOutcome]:
        self.write([op])
        return succeed(WriteOutcome(self.now))

    async def subscribe(self, after_revision: int, deliver: Callable[[Sequence[Change]], None]) -> Subscription:
        self.deliver = deliver
        return FakeSubscription(self)

    def write(self, ops: Sequence[Op]) -> None:
        """Commit a batch of writes."""
        changes = []
        for op in ops:
            self.now += 1
            previous = self.items.pop(op.key, None)
            if op.value is not None:
                self.items[op.key] = KeyValue(op.key, op.value, self.now, self.now)
            changes.append(Change(self.now, op.key, op.value, previous, op.note))
        if self.deliver is not None:
            self.deliver(changes)

    def put(self, key: str, value: bytes = b"", note: object = None) -> None:
        """Commit a put of one value."""
        self.write([Op(key, value, note=note)])


class Resource:
    """Values are text such as `label node`; counts what had to be decoded."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.built = 0
        self.built_one: Callable[[], None] = lambda: None
        self.glances: list[bytes] = []

    def build(self, key: str, value: bytes, revision: int) -> Entry:
        self.built += 1
        self.built_one()
        return make_entry(key, value, revision)

    def is_plain(self, key: str, value: bytes) -> bool:
        return value.startswith(b"plain")

    def glance(self, value: bytes, revision: int, terms: bytes = b"") -> Glance:
        if terms:
            return {"l": terms.decode()}, ("told",), value.upper(), None
        self.glances.append(value)
        if value.endswith(b"bad"):
            raise ValueError("not an object")
        entry = make_entry("", value, revision)
        return entry.labels, entry.fields, value.upper(), None

    def spare(self, entry: Entry, *, drop: bool) -> None:
        """Ignore the call: there is nothing to do."""

    def alone(self) -> Any:
        return self

    def placeholder(self, namespace: str, name: str, revision: int) -> Entry:
        return Entry(f"{namespace}/{name}", namespace, name, revision, {}, ("",), b"nameplate", b"nameplate")


class Prepared:
    """Note that a writer of this process passes along."""

    def __init__(self, stored: object, key: str, value: bytes) -> None:
        self.stored, self.key, self.value = stored, key, value

    def entry(self, revision: int) -> Entry:
        return make_entry(self.key, self.value, revision)


class RecordingFollower:
    """Notes the keys of events, and the end."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def take(self, event: Event) -> None:
        self.seen.append(event.key)

    def closed(self) -> None:
        self.seen.append("closed")


def make_entry(key: str, value: bytes, revision: int) -> Entry:
    """An entry with label `l` and one field; raises ValueError for the value `bad`."""
    if value == b"bad":
        raise ValueError("not an object")
    namespace, _, name = key.rpartition("/")
    label, _, node = value.decode().partition(" ")
    return Entry(key, namespace, name, revision, {"l": label} if label else {}, (node,), value)


def past(cache: ResourceCache, revision: int, namespace: str = "", start: str = "") -> Sequence[Entry]:
    """A resource as it was at a revision."""
    found: Entries = result(cache.past(revision, Selection(namespace)).steps())
    return found.between(start)


def result(steps: Generator[None, None, Any]) -> Any:
    """Return the result of a computation in steps."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value


class CacheTestCase(SynchronousTestCase):
    """A started cacher over pods, deployments and nodes; `turn` is the end of a reactor turn."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.store = FakeStore()
        self.soon: list[Callable[[], None]] = []
        self.pods = Resource("/registry/pods/")
        self.deployments = Resource("/registry/apps/deployments/")
        self.nodes = Resource("/registry/nodes/")

    def start(self, **options: int) -> ResourceCache:
        """Start; returns the cache of pods."""
        self.cacher = Cacher(self.store, self.clock, self.soon.append, **options)
        self.successResultOf(ensureDeferred(self.cacher.start([self.pods, self.deployments, self.nodes])))
        self.addCleanup(lambda: self.successResultOf(ensureDeferred(self.cacher.stop())))
        return self.cacher.of(self.pods)

    def turn(self) -> None:
        """Run what was asked for soon."""
        soon, self.soon[:] = list(self.soon), []
        for call in soon:
            call()
