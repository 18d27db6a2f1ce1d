"""Controller of the EndpointSlices that mirror Endpoints which somebody else writes (reference SIM-72)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from typing import Any, Final

from orchtw.client.interface import Item
from orchtw.client.work_queue import Retry
from orchtw.controllers.controller import WorkSource
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.services.backends import IPV4, IPV6
from orchtw.simulation.services.endpoint_slices import GROUP, MANAGED_BY, SERVICE_NAME, service_index
from orchtw.simulation.services.slices import Group, SliceWriter, plan, read_port
from orchtw.simulation.workloads.owners import controller_reference
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

MANAGER: Final = "endpointslicemirroring-controller.orch.io"
SKIP: Final = "endpointslice.orch.io/skip-mirror"
LEADER: Final = "control-plane.alpha.orch.io/leader"
MOST_ENDPOINTS: Final = 1000


class MirroringController(SimulatedController):
    """endpointslicemirroring controller, keyed by Endpoints."""

    name = "endpointslicemirroring"
    account = "endpointslicemirroring-controller"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._services = world.informer("", "services")
        self._endpoints = world.informer("", "endpoints")
        self._slices = world.informer(GROUP, "endpointslices")
        self._by_service = self._slices.index("service", service_index(world))
        self._writer = SliceWriter(self.client, self._slices)
        names = (SERVICE_NAME, MANAGED_BY, MANAGER, SKIP, LEADER)
        self._names = {name: self.naming.translate(name) for name in names}
        for informer in (self._services, self._endpoints):
            informer.handle(self._seen)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informers of Services, Endpoints and slices."""
        return (self._services, self._endpoints, self._slices)

    async def sync(self, key: str) -> float | None:
        """Write the slices of Endpoints that are to be mirrored, and delete those of others."""
        if not self.synced:
            raise Retry("not all informers have listed")
        present = [each for each in self._slices.of(self._by_service.keys(key)) if self._is_own(each)]
        endpoints = self._endpoints.get(key)
        if endpoints is None or not self._is_mirrored(key, endpoints):
            for each in present:
                await self._writer.delete(each)
            return None
        made = plan(dict(_groups(endpoints)), present, MOST_ENDPOINTS)
        await self._writer.write(made, present, endpoints["metadata"]["namespace"], self._head(endpoints))
        return None

    def _is_mirrored(self, key: str, endpoints: Object) -> bool:
        service, meta = self._services.get(key), endpoints["metadata"]
        return (
            service is not None
            and not service["spec"].get("selector")
            and (meta.get("labels") or {}).get(self._names[SKIP]) != "true"
            and self._names[LEADER] not in (meta.get("annotations") or {})
        )

    def _head(self, endpoints: Object) -> Object:
        names, meta = self._names, endpoints["metadata"]
        labels = {**(meta.get("labels") or {}), names[SERVICE_NAME]: meta["name"], names[MANAGED_BY]: names[MANAGER]}
        owner = controller_reference(endpoints, "v1", "Endpoints")
        return {"generateName": f"{meta['name']}-", "labels": labels, "ownerReferences": [owner]}

    def _is_own(self, found: Object) -> bool:
        return bool(found["metadata"]["labels"].get(self._names[MANAGED_BY]) == self._names[MANAGER])

    def _seen(self, old: Item | None, new: Item | None) -> None:
        item: Any = new or old
        self.queue.add(item.key)


def _groups(endpoints: Object) -> Iterator[tuple[Group, list[Object]]]:
    """Yield the endpoints of each group of slices."""
    found: dict[Group, list[Object]] = {}
    for subset in endpoints.get("subsets") or ():
        ports = tuple(sorted(map(read_port, subset.get("ports") or ())))
        for ready, name in ((True, "addresses"), (False, "notReadyAddresses")):
            for address in subset.get(name) or ():
                family = IPV6 if ip_address(address["ip"]).version == 6 else IPV4
                found.setdefault((family, ports), []).append(_endpoint(address, ready))
    yield from found.items()


def _endpoint(address: Object, ready: bool) -> Object:
    made: Object = {"addresses": [address["ip"]], "conditions": {"ready": ready}}
    for name in ("hostname", "nodeName", "targetRef"):
        if address.get(name):
            made[name] = address[name]
    return made
