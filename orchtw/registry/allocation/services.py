"""Reservation of cluster IPs and node ports by writes of Services (reference KIND-27)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.config.cluster import ClusterOptions
from orchtw.errors import StatusError
from orchtw.registry.allocation.allocator import Allocator
from orchtw.registry.allocation.blocks import Block, LocalBlock, StoredBlock
from orchtw.registry.allocation.claims import Claim, Held
from orchtw.registry.allocation.cluster_ips import Addresses
from orchtw.registry.allocation.families import complete
from orchtw.registry.allocation.node_ports import NodePorts
from orchtw.registry.allocation.ranges import AddressRange, PortRange, Range
from orchtw.registry.allocation.repair import Repair
from orchtw.registry.metadata import ordered
from orchtw.registry.reservations import NOTHING, Hold, Reservation, ReservationHost, StoredObjects
from orchtw.storage.cache.freshness import MOST_RECENT
from orchtw.storage.cache.resource import DamagedObject
from orchtw.storage.store import Op
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object

RECORDS = "/registry/ranges/"
"""Prefix of the blocks in a shared store."""

_SLICE = 50  # services that are looked at before others have their turn: some milliseconds


class ServiceReservations:
    """Cluster IPs and node ports of one process. See `orchtw.registry.reservations.Reservations`."""

    _log = Logger()

    def __init__(self, host: ReservationHost, options: ClusterOptions) -> None:
        self._host = host
        ranges = [AddressRange(network) for network in options.service_networks]
        self._addresses = Addresses({numbers: self._allocator(numbers) for numbers in ranges})
        self._ports = NodePorts(self._allocator(PortRange(*options.service_node_ports)))
        self._holding: set[Held] = set()
        self._repair = Repair(self, self._holding)
        self._loaded = host.store.shared
        self._waiting: list[Deferred[None]] | None = None  # for what is being loaded

    def _allocator(self, numbers: Range) -> Allocator:
        def make_block(name: str) -> Block:
            return StoredBlock(self._host.store, RECORDS + name) if self._host.store.shared else LocalBlock()

        return Allocator(numbers, make_block, self._host.random)

    async def reserve(self, new: Object | None, old: Object | None, *, dry_run: bool) -> Reservation:
        """Claim addresses and ports, as `Reservations.reserve`."""
        before = None if old is None else old["spec"]
        if new is not None and new["spec"] == before:
            return NOTHING
        await self._load()
        claim = Claim(self._holding, dry_run=dry_run)
        if new is not None:
            await self._fill(new, old, claim)
        if old is not None:
            kept = set() if new is None else set(self.held(new))
            claim.give_up(set(self.held(old)) - kept)
            if new is None:
                claim.kept = lambda: self._remove_endpoints(old)
        return claim

    async def _fill(self, new: Object, old: Object | None, claim: Claim) -> None:
        before = None if old is None else old["spec"]
        try:
            await self._addresses.claim(new, before, claim)
            await self._ports.claim(new, before, claim)
        except BaseException:
            claim.release()
            raise

    def _remove_endpoints(self, service: Object) -> None:
        """Remove the endpoints of a deleted service, unless finalizers hold them."""
        meta = service["metadata"]
        stored = self._host.stored("", "v1", "endpoints")
        try:
            entry = stored.get(meta["namespace"], meta["name"])
        except DamagedObject:
            return
        if entry is not None and not stored.metadata(entry).get("finalizers"):
            removed = self._host.store.commit(Op(stored.prefix + entry.key, None, entry.revision))
            removed.addErrback(self._not_removed, entry.key)

    def _not_removed(self, failure: Failure, key: str) -> None:
        self._log.warn("the endpoints {key} could not be removed: {why}", key=key, why=failure.getErrorMessage())

    def held(self, service: Object) -> Iterator[Held]:
        """Yield the numbers of a service that are in the ranges."""
        yield from self._addresses.held(service["spec"])
        yield from self._ports.held(service["spec"])

    def foreign(self, service: Object) -> Iterator[Held]:
        """Yield the numbers of a service that are not in the ranges."""
        yield from self._addresses.foreign(service["spec"])
        yield from self._ports.foreign(service["spec"])

    @property
    def allocators(self) -> tuple[Allocator, ...]:
        """Return the allocators of all ranges."""
        return (*self._addresses.allocators, self._ports.allocator)

    async def repair(self) -> None:
        """Repair the account, as `Reservations.repair`."""
        await self._load()
        await self._repair.run()
        async for entry, service in self._services():
            if self._addresses.lacks(service["spec"]):
                await self._complete(entry, service)

    async def replaced(self, gone: Sequence[Object], come: Sequence[Object]) -> None:
        """Free the numbers of Services that are gone, then take those of the others, as `Reservations.replaced`."""
        await self._load()
        for service in gone:
            for allocator, number in self.held(service):
                allocator.free(number)
        for service in come:
            for allocator, number in self.held(service):
                if not await allocator.take(number):
                    self._holding.discard((allocator, number))  # by a write that will fail: it must not free it

    async def _complete(self, entry: Entry, service: Object) -> None:
        """Store the fields missing in a service from before allocation was recorded; a faster writer wins."""
        stored, claim = self._stored, Claim(self._holding, dry_run=False)
        new = stored.load(entry)
        complete(new["spec"], self._addresses.families)
        name = "{namespace}/{name}".format_map(service["metadata"])
        try:
            await self._fill(new, {"spec": dict(new["spec"])}, claim)
            fresh = stored.codec.normalise(new)
            fresh["metadata"] = ordered(fresh["metadata"])
            prepared = stored.prepare(fresh)
            op = Op(stored.prefix + entry.key, prepared.value, entry.revision, prepared)
            await Hold(claim).commit(self._host.store, op)
        except StatusError as error:
            self._log.error("failed to allocate an address for service {name}: {why}", name=name, why=error.message)

    async def services(self) -> AsyncIterator[Object]:
        """Yield all services of the most recent state, a few at a time."""
        async for _, service in self._services():
            yield service

    async def _services(self) -> AsyncIterator[tuple[Entry, Object]]:
        stored = self._stored
        if (wait := stored.cache.freshness.due(MOST_RECENT)) is not None:
            await wait
        for count, entry in enumerate(stored.cache.snapshot()):
            if count % _SLICE == _SLICE - 1:
                await deferLater(self._host.clock, 0)
            yield entry, stored.load(entry)

    async def _load(self) -> None:
        """Take the numbers of existing services once, before any other, if blocks are only in memory."""
        while not self._loaded:
            if self._waiting is not None:
                waiting: Deferred[None] = Deferred()
                self._waiting.append(waiting)
                await waiting
                continue
            self._waiting = []
            try:
                async for service in self.services():
                    for allocator, number in self.held(service):
                        await allocator.take(number)
                self._loaded = True
            finally:
                others, self._waiting = self._waiting, None
                for waiting in others:
                    if not waiting.called:
                        waiting.callback(None)

    @property
    def _stored(self) -> StoredObjects:
        return self._host.stored("", "v1", "services")
