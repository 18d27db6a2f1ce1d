"""Controller of load balancers: Services of that type get an address (reference SIM-73)."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_network
from typing import Any, Final

from orchtw.client.interface import Item
from orchtw.client.work_queue import Retry
from orchtw.controllers.controller import WorkSource
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.workloads.conditions import same
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

ADDRESSES: Final = ip_network("198.18.0.0/15")
"""Range of the addresses, which is set aside for tests of network devices."""
CLEANUP: Final = "service.orch.io/load-balancer-cleanup"


class LoadBalancerController(SimulatedController):
    """service controller, as a cloud provides it: each load balancer gets an address of its own."""

    name = "service"
    account = "service-controller"
    component = "service-controller"

    def __init__(self, world: World) -> None:
        # One at a time: an address is free until its Service has been written.
        super().__init__(world, concurrency=1)
        self._services = world.informer("", "services")
        self._by_address = self._services.index("load-balancer", _addresses)
        self._finalizer = self.naming.translate(CLEANUP)
        self._next = 1
        self._services.handle(self._seen)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informer of Services."""
        return (self._services,)

    async def sync(self, key: str) -> float | None:
        """Give a load balancer its address, and take it from a Service that has changed its type."""
        if not self.synced:
            raise Retry("the Services have not been listed")
        service = self._services.get(key)
        if service is None or service["spec"].get("loadBalancerClass"):
            return None
        if _wants(service):
            await self._ensure(service)
        elif self._finalizer in (service["metadata"].get("finalizers") or ()):
            await self._release(service)
        return None

    async def _ensure(self, service: Object) -> None:
        meta = service["metadata"]
        finalizers = meta.get("finalizers") or []
        if self._finalizer not in finalizers:
            changes = {"metadata": {"finalizers": [*finalizers, self._finalizer], "uid": meta["uid"]}}
            service = await self._patch(service, changes)
        wanted = service["spec"].get("loadBalancerIP")
        present = [each.get("ip") for each in _ingress(service)]
        if present and wanted in (None, "", *present):
            return
        await self._tell(service, "EnsuringLoadBalancer", "Ensuring load balancer")
        ingress = [{"ip": wanted or self._free()}]
        written = await self._patch(service, {"status": {"loadBalancer": {"ingress": ingress}}}, "status")
        await self._services.seen(written)
        await self._tell(service, "EnsuredLoadBalancer", "Ensured load balancer")

    async def _release(self, service: Object) -> None:
        """Take the address, then let the Service go."""
        await self._tell(service, "DeletingLoadBalancer", "Deleting load balancer")
        if not same(_ingress(service), []):
            service = await self._patch(service, {"status": {"loadBalancer": None}}, "status")
        meta = service["metadata"]
        kept = [each for each in meta.get("finalizers") or () if each != self._finalizer]
        await self._patch(service, {"metadata": {"finalizers": kept, "uid": meta["uid"]}})
        await self._tell(service, "DeletedLoadBalancer", "Deleted load balancer")

    def _free(self) -> str:
        """Return an address that no Service has. Raises Retry when all are taken."""
        for _ in range(ADDRESSES.num_addresses - 2):
            address = str(ADDRESSES[self._next])
            self._next = self._next % (ADDRESSES.num_addresses - 2) + 1
            if not self._by_address.keys(address):
                return address
        raise Retry("no address is free")

    async def _patch(self, service: Object, changes: Object, subresource: str = "") -> Object:
        meta = service["metadata"]
        return await self.client.patch(
            self._services.resource, meta["namespace"], meta["name"], changes, subresource
        )

    async def _tell(self, service: Object, reason: str, message: str) -> None:
        await self.events.record(self.reference(service, "v1", "Service"), "Normal", reason, message)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        item: Any = new or old
        self.queue.add(item.key)


def _wants(service: Object) -> bool:
    return bool(
        service["spec"].get("type") == "LoadBalancer" and not service["metadata"].get("deletionTimestamp")
    )


def _ingress(service: Object) -> list[Object]:
    status = service.get("status") or {}
    return list((status.get("loadBalancer") or {}).get("ingress") or [])


def _addresses(service: Object) -> list[str]:
    """Index function: the addresses of a load balancer."""
    return [each["ip"] for each in _ingress(service) if each.get("ip")]
