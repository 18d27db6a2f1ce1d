"""Controller of EndpointSlices of Services with a selector (reference SIM-71)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.client.interface import Item
from orchtw.controllers.controller import WorkSource
from orchtw.simulation.informers import IndexFunction
from orchtw.simulation.services.backends import IPV4, IPV6, Backend, headless, selects
from orchtw.simulation.services.endpoints import HEADLESS
from orchtw.simulation.services.service_controller import ServiceController
from orchtw.simulation.services.slices import NO_PORTS, Group, SliceWriter, plan
from orchtw.simulation.workloads.owners import controller_reference
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

SERVICE_NAME: Final = "orch.io/service-name"
MANAGED_BY: Final = "endpointslice.orch.io/managed-by"
MANAGER: Final = "endpointslice-controller.orch.io"
ZONE: Final = "topology.orch.io/zone"
MOST_ENDPOINTS: Final = 100
GROUP: Final = "discovery.orch.io"


class EndpointSliceController(ServiceController):
    """The controller that the release calls `endpointslice`."""

    name = "endpointslice"
    account = "endpointslice-controller"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._slices = world.informer(GROUP, "endpointslices")
        self._nodes = world.informer("", "nodes")
        self._by_service = self._slices.index("service", service_index(world))
        self._writer = SliceWriter(self.client, self._slices)
        translate = self.naming.translate
        self._names = {name: translate(name) for name in (SERVICE_NAME, MANAGED_BY, MANAGER, ZONE, HEADLESS)}
        self._slices.handle(self._slice_seen)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informers of Services, pods, nodes and slices."""
        return (*super().sources, self._nodes, self._slices)

    async def sync_service(self, key: str, service: Object | None) -> None:
        """Write the slices of a Service with a selector.

        Slices of a Service that has gone are the garbage collector's; those of one without a selector are left as
        they are, as the release leaves them.
        """
        if service is None or not selects(service):
            return
        present = [each for each in self._slices.of(self._by_service.keys(key)) if self._is_own(each)]
        made = plan(self._wanted(service), present, MOST_ENDPOINTS)
        meta = service["metadata"]
        await self._writer.write(made, present, meta["namespace"], self._head(service))

    def _head(self, service: Object) -> Object:
        """Return the metadata that all slices of a Service have in common."""
        names, meta = self._names, service["metadata"]
        labels = {**(meta.get("labels") or {}), names[SERVICE_NAME]: meta["name"], names[MANAGED_BY]: names[MANAGER]}
        if headless(service):
            labels[names[HEADLESS]] = ""
        owner = controller_reference(service, "v1", "Service")
        return {"generateName": f"{meta['name']}-", "labels": labels, "ownerReferences": [owner]}

    def _wanted(self, service: Object) -> dict[Group, list[Object]]:
        families = service["spec"].get("ipFamilies") or [IPV4]
        behind = self.backends(service)
        found: dict[Group, list[Object]] = {}
        for family in (IPV4, IPV6):
            if family not in families:
                continue
            for each in behind:
                if family in each.addresses:
                    found.setdefault((family, each.ports), []).append(self._endpoint(each, family))
            if not any(kind == family for kind, _ in found):
                found[family, NO_PORTS] = []
        return found

    def _endpoint(self, backend: Backend, family: str) -> Object:
        made: Object = {
            "addresses": [backend.addresses[family]],
            "conditions": {
                "ready": backend.ready, "serving": backend.serving, "terminating": backend.terminating,
            },
            "targetRef": backend.reference,
        }  # fmt: skip
        if backend.node:
            made["nodeName"] = backend.node
            node = self._nodes.get(backend.node)
            zone = "" if node is None else (node["metadata"].get("labels") or {}).get(self._names[ZONE], "")
            if zone:
                made["zone"] = zone
        return {**made, "hostname": backend.hostname} if backend.hostname else made

    def _is_own(self, found: Object) -> bool:
        return bool(found["metadata"]["labels"].get(self._names[MANAGED_BY]) == self._names[MANAGER])

    def _slice_seen(self, old: Item | None, new: Item | None) -> None:
        """Look again at the Service of a slice that somebody has changed or deleted."""
        if old is None:
            return
        before = self._slices.load(old)
        name = (before["metadata"].get("labels") or {}).get(self._names[SERVICE_NAME])
        if name and self._is_own(before):
            self.queue.add(f"{old.namespace}/{name}")


def service_index(world: World) -> IndexFunction:
    """Return the function of the index of slices by the keys of their Services."""
    label = world.naming.translate(SERVICE_NAME)

    def of(found: Object) -> tuple[str, ...]:
        name = (found["metadata"].get("labels") or {}).get(label)
        return (f"{found['metadata']['namespace']}/{name}",) if name else ()

    return of
