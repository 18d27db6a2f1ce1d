"""A whole registry over a store in memory, on a Clock: the fixture of client and controller tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from itertools import count
from random import Random
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.chain import Chain, ChainPlugin
from orchtw.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from orchtw.bootstrap.ensurer import Ensurer
from orchtw.bootstrap.system_namespaces import create_namespaces
from orchtw.client.in_process import InProcessClient, Registry
from orchtw.client.interface import Resource
from orchtw.errors import NotFound
from orchtw.naming.naming import Naming
from orchtw.registry.checks import checks
from orchtw.registry.field_ownership import FieldOwnership
from orchtw.registry.listers.namespaces import Namespaces
from orchtw.registry.offload import Offload
from orchtw.registry.targets import Targets
from orchtw.request import UserInfo
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.storage.cache.watch_cache import Cacher
from orchtw.storage.store import Change, KeyValue, Op, Page, Store, Subscription, WriteOutcome
from orchtw.wire.objects import Object
from orchtw.writes.admissions import Admissions
from orchtw.writes.delete import Deletion
from orchtw.writes.metadata import Stamp
from orchtw.writes.object_interfaces import ServedSurface
from orchtw.writes.write_path import WritePath
from tests.registry.widgets import versions

T = TypeVar("T")
EPOCH_S = 1_700_000_000
Changes = list[Change]
Queued = list[tuple[Op, Deferred[WriteOutcome]]]


class Feeding(Subscription):
    """Subscription that the test can stop."""

    def __init__(self, store: MemoryStore, deliver: Callable[[Sequence[Change]], None]) -> None:
        self._store = store
        self._deliver = deliver

    def stop(self) -> None:
        if self._deliver in self._store.followers:
            self._store.followers.remove(self._deliver)


class MemoryStore(Store):
    """Keys and revisions in memory; writes of one turn of the clock are one batch, answered in the next.

    It has no history: only the latest state can be listed, and feeds begin now.
    """

    shared = False

    def __init__(self, clock: Clock) -> None:
        self.items: dict[str, KeyValue] = {}
        self.followers: list[Callable[[Sequence[Change]], None]] = []
        self.now = 1
        self.clock = clock
        self._queued: Queued = []

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
        keys = sorted(key for key in self.items if key.startswith(prefix) and key >= start)
        shown = keys[:limit] if limit else keys
        return Page([self.items[key] for key in shown], self.now, len(shown) < len(keys), len(keys) - len(shown))

    async def subscribe(self, after_revision: int, deliver: Callable[[Sequence[Change]], None]) -> Subscription:
        self.followers.append(deliver)
        return Feeding(self, deliver)

    def commit(self, op: Op) -> Deferred[WriteOutcome]:
        answer: Deferred[WriteOutcome] = Deferred()
        if not self._queued:
            self.clock.callLater(0, self._flush)
        self._queued.append((op, answer))
        return answer

    def _flush(self) -> None:
        queued, self._queued = self._queued, []
        changes: Changes = []
        answers = [(answer, self._decide(op, changes)) for op, answer in queued]
        for deliver in tuple(self.followers):
            if changes:
                deliver(changes)
        for answer, outcome in answers:
            answer.callback(outcome)

    def _decide(self, op: Op, changes: Changes) -> WriteOutcome:
        live = self.items.get(op.key)
        found = live.revision if live else 0
        if op.guard is not None and self.revision_of(op.guard[0]) != op.guard[1]:
            return WriteOutcome(0, fenced=True)
        if (op.expected is not None and op.expected != found) or (op.value is None and live is None):
            return WriteOutcome(0, live)
        self.now += 1
        if op.value is None:
            del self.items[op.key]
        else:
            created = live.create_revision if live else self.now
            self.items[op.key] = KeyValue(op.key, op.value, self.now, created)
        changes.append(Change(self.now, op.key, op.value, live, op.note))
        if op.value is not None and op.ttl_s:
            end = Op(op.key, None, self.now)
            self.clock.callLater(op.ttl_s, lambda: self.commit(end))
        return WriteOutcome(self.now)

    def revision_of(self, key: str) -> int:
        """That of the last write of a key; 0: it is not there."""
        live = self.items.get(key)
        return live.revision if live else 0


@cache
def surface(vocabulary: str) -> tuple[Naming, Catalogue, Codecs]:
    """The surface of a vocabulary, made once."""
    naming = Naming.of(vocabulary)
    catalogue = Catalogue.load(naming)
    return naming, catalogue, Codecs(catalogue, checks(naming))


class World:
    """Store, cache and registry; `restart` makes new ones of the last two, as a new process would."""

    def __init__(
        self,
        vocabulary: str = "orch",
        leave_out: Sequence[str] = (),
        make_store: Callable[[Clock], MemoryStore] = MemoryStore,
        plugins: Sequence[ChainPlugin] = (),
    ) -> None:
        self.plugins = tuple(plugins)
        self.clock = Clock()
        self.clock.advance(EPOCH_S)
        self.random = Random(1)
        self.naming, self.catalogue, self.codecs = surface(vocabulary)
        self.store = make_store(self.clock)
        self._uids = count(1)
        self._served = [each for each in self.catalogue.resources if each.plural not in leave_out]
        self.build()
        ensurer = Ensurer(targets=self.targets, writes=self.registry.writes, naming=self.naming)
        self.run(create_namespaces(ensurer))

    def build(self) -> None:
        """Build a registry and a cache over the stored objects."""
        self.targets = Targets(self.catalogue, self.codecs, self._served)
        self.cacher = Cacher(self.store, self.clock, lambda flush: self.clock.callLater(0, flush))
        self.run(self.targets.open(self.cacher))
        lifecycle = NamespaceLifecycle(self.naming, Namespaces(self.targets))
        stamp = Stamp(now=self.now, new_uid=lambda: f"uid-{next(self._uids)}")
        offload = Offload(self.clock)
        admissions = Admissions(
            Chain([lifecycle, *self.plugins]), ServedSurface(self.targets, self.naming, offload), offload
        )
        writes = WritePath(
            self.store, admissions, stamp, self.random, FieldOwnership(self.targets, self.naming), offload
        )
        self.registry = Registry(self.targets, writes, Deletion(writes, collects_garbage=True), self.cacher)
        self.client = InProcessClient(self.registry, UserInfo(name="test"), "test")

    def now(self) -> float:
        """Return the clock's time in seconds."""
        return float(self.clock.seconds())

    def run(self, work: Awaitable[T]) -> T:
        """The result of `work`, with as many turns of the clock as it takes."""
        found: list[Any] = []
        ensureDeferred(work).addBoth(found.append)  # type: ignore[arg-type]
        for _ in range(10_000):
            if found:
                break
            self.clock.advance(0)
        result = found[0]
        if hasattr(result, "raiseException"):
            result.raiseException()
        return result  # type: ignore[no-any-return]

    def settle(self, seconds: float = 0, step_s: float = 0.25) -> None:
        """Let everything happen that is due, now and in the next `seconds`."""
        self.clock.advance(0)
        passed = 0.0
        while passed < seconds:
            self.clock.advance(step_s)
            passed += step_s

    def resource(self, plural: str, group_version: str = "v1") -> Resource:
        """A resource by its neutral group and version."""
        group, _, version = self.naming.api_version(group_version).rpartition("/")
        return self.client.resource(group, version, plural)

    def namespace(self, name: str) -> Object:
        """Create a namespace and return it."""
        return self.run(self.client.create(self.resource("namespaces"), "", {"metadata": {"name": name}}))

    def config_map(self, name: str, *owners: Object, namespace: str = "a", **meta: Any) -> Object:
        """A new object that may have owners."""
        return self.create("configmaps", name, *owners, namespace=namespace, **meta)

    def create(
        self, plural: str, name: str, *owners: Object, namespace: str = "a", group_version: str = "v1", **meta: Any
    ) -> Object:
        """A new object without any content."""
        if owners:
            meta["ownerReferences"] = [reference(owner) for owner in owners]
        resource = self.resource(plural, group_version)
        obj = {"metadata": {"name": name, **meta}}
        return self.run(self.client.create(resource, namespace if resource.namespaced else "", obj))

    def get(self, plural: str, name: str, namespace: str = "a") -> Object | None:
        """Return an object, or None."""
        resource = self.resource(plural)
        try:
            return self.run(self.client.get(resource, namespace if resource.namespaced else "", name))
        except NotFound:
            return None

    def names(self, plural: str, namespace: str = "a") -> list[str]:
        """The names of all objects."""
        return [item.name for item in self.run(self.client.list(self.resource(plural), namespace)).items]

    def patch(self, plural: str, name: str, meta: Object, namespace: str = "a") -> Object:
        """Change an object's metadata."""
        resource = self.resource(plural)
        namespace = namespace if resource.namespaced else ""
        return self.run(self.client.patch(resource, namespace, name, {"metadata": meta}))

    def stop(self) -> None:
        """Let go of the clock, and of kinds that have been added: worlds share their codecs."""
        self.run(self.cacher.stop())
        self.codecs.change([each for each in self.targets.resources if not each.protobuf], ())

    def add_widgets(self, *names: str) -> None:
        """Serve widgets in these versions from now on (default: v1)."""
        self.run(self.targets.add(versions(self.codecs.schemas, *names)))


def reference(owner: Object, *, blocking: bool = True) -> Object:
    """An owner reference to an object."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": blocking,
    }


class WorldTestCase(SynchronousTestCase):
    """Tests in a world with a namespace `a`."""

    vocabulary = "orch"

    def setUp(self) -> None:
        self.world = World(self.vocabulary)
        self.addCleanup(self.world.stop)
        self.world.namespace("a")
