"""Several processes that allocate on one store in memory, each of which can be lost at any time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.task import Clock

from orchtw.admission.chain import Chain
from orchtw.client.in_process import InProcessClient, Registry
from orchtw.config import Config
from orchtw.errors import InternalError, ServiceUnavailable
from orchtw.registry.allocation.services import RECORDS
from orchtw.registry.field_ownership import FieldOwnership
from orchtw.registry.offload import Offload
from orchtw.registry.reservations import ReservationHost
from orchtw.registry.targets import Targets
from orchtw.request import UserInfo
from orchtw.storage.cache.watch_cache import Cacher
from orchtw.storage.store import Change, KeyValue, Op, Page, Store, Subscription, WriteOutcome
from orchtw.wire.objects import Object
from orchtw.writes.admissions import Admissions
from orchtw.writes.delete import Deletion
from orchtw.writes.metadata import Stamp
from orchtw.writes.object_interfaces import ServedSurface
from orchtw.writes.write_path import WritePath
from tests.client.world import MemoryStore, surface

CONFIG = Config.of(service_cluster_ip_range=("10.0.0.0/28",), service_node_port_range="30000-30009")
ADDRESSES = 13  # that are picked: the first one has to be asked for


class Link(Store):
    """A process' way to the store: nothing passes any more once it is cut."""

    def __init__(self, store: MemoryStore, *, shared: bool) -> None:
        self._store = store
        self._shared = shared
        self.cut = False
        self.failing = False
        self.commits: list[Op] = []

    @property
    def shared(self) -> bool:
        return self._shared

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def check(self) -> None: ...

    async def alive(self) -> None: ...

    async def compact(self, revision: int) -> None: ...

    async def revision(self) -> int:
        return await self._store.revision()

    async def get(self, key: str, revision: int = 0) -> KeyValue | None:
        return await self._store.get(key, revision)

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, start: str = "") -> Page:
        return await self._store.list(prefix, revision=revision, limit=limit, start=start)

    async def subscribe(self, after_revision: int, deliver: Callable[[Sequence[Change]], None]) -> Subscription:
        def pass_on(changes: Sequence[Change]) -> None:
            if not self.cut:
                deliver([Change(each.revision, each.key, each.value, each.previous) for each in changes])

        return await self._store.subscribe(after_revision, pass_on)

    def commit(self, op: Op) -> Deferred[WriteOutcome]:
        answer: Deferred[WriteOutcome] = Deferred()
        if self.cut:
            return answer
        self.commits.append(op)
        failing = self.failing
        self._store.commit(op).addCallback(self._answer, answer, failing)
        return answer

    def _answer(self, outcome: WriteOutcome, answer: Deferred[WriteOutcome], failing: bool) -> None:
        if failing and not self.cut:
            answer.errback(InternalError.of("the disk is gone"))
        elif not self.cut:
            answer.callback(outcome)


class Process:
    """A registry over a shared store; `link` is cut when it is lost."""

    _numbers = count()

    def __init__(self, group: Group) -> None:
        self._group = group
        self.clock = Clock()
        self.link = Link(group.store, shared=group.shared)
        naming, catalogue, codecs = surface("orch")
        self.targets = Targets(catalogue, codecs, catalogue.resources)
        self.cacher = Cacher(self.link, self.clock, lambda flush: self.clock.callLater(0, flush))
        number = next(self._numbers)
        random, stored = Random(number), self.targets.stored
        host = ReservationHost(naming=naming, clock=self.clock, stored=stored, store=self.link, random=random)
        self.targets.configure(host, CONFIG.generic.gates, CONFIG.cluster, CONFIG.storage)
        offload = Offload(self.clock)
        admissions = Admissions(Chain([]), ServedSurface(self.targets, naming, offload), offload)
        stamp = Stamp(now=self.clock.seconds, new_uid=lambda: f"uid-{number}-{next(self._numbers)}")
        owners = FieldOwnership(self.targets, naming)
        self.writes = WritePath(self.link, admissions, stamp, Random(number), owners, offload)
        registry = Registry(self.targets, self.writes, Deletion(self.writes, collects_garbage=False), self.cacher)
        self.client = InProcessClient(registry, UserInfo(name="test"), "test")
        self.services = self.client.resource("", "v1", "services")
        group.wait(self.targets.open(self.cacher))

    def stored(self) -> list[Object]:
        """The services that there are."""
        stored = self.targets.stored_target("", "v1", "services").stored
        return [stored.load(entry) for entry in stored.cache.snapshot()]

    def create(self, name: str, **spec: Any) -> Deferred[Object]:
        """Begin to create a service."""
        obj = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}
        return ensureDeferred(self.client.create(self.services, "a", obj))

    def change(self, name: str, **spec: Any) -> Deferred[Object]:
        """Begin to change one."""
        return ensureDeferred(self.client.patch(self.services, "a", name, {"spec": spec}))

    def delete(self, name: str) -> Deferred[bool]:
        """Begin to delete one."""
        return ensureDeferred(self.client.delete(self.services, "a", name))

    def repair(self) -> Deferred[None]:
        """Begin a round of repair."""
        return ensureDeferred(self.targets.repair_reservations())

    def lose(self) -> None:
        """Take the process away in the middle of whatever it does."""
        self.link.cut = True


class Group:
    """A store and its processes."""

    def __init__(self, processes: int, *, shared: bool = True) -> None:
        self.clock = Clock()
        self.store = MemoryStore(self.clock)
        self.shared = shared
        self.processes: list[Process] = []
        for _ in range(processes):
            self.processes.append(Process(self))

    def turn(self) -> None:
        """One turn of all reactors, and of the store."""
        for clock in (self.clock, *(each.clock for each in self.processes)):
            clock.advance(0)

    def settle(self) -> None:
        """Let everything happen that has begun."""
        for _ in range(40):
            self.turn()

    def wait(self, work: Awaitable[Any]) -> Any:
        """The result of work."""
        found: list[Any] = []
        ensureDeferred(work).addBoth(found.append)  # type: ignore[arg-type]
        for _ in range(1000):
            if found:
                break
            self.turn()
        if not found:
            raise ServiceUnavailable("it does not end")
        if hasattr(found[0], "raiseException"):
            found[0].raiseException()
        return found[0]

    def restart(self, number: int) -> None:
        """Lose a process, and start another in its place.

        What it has sent to a shared store may still happen; of its own store nothing happens without it.
        """
        self.processes[number].lose()
        if not self.shared:
            self.clock.advance(0)
        self.processes[number] = Process(self)

    @property
    def records(self) -> list[str]:
        """The keys of what is taken in a shared store."""
        return [key for key in self.store.items if key.startswith(RECORDS)]
