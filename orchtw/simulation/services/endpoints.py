"""Controller of Endpoints: the addresses and ports of the pods behind a Service (reference SIM-70)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from orchtw.client.interface import Item
from orchtw.client.namespace_end import ends_with_namespace
from orchtw.client.work_queue import Retry
from orchtw.controllers.controller import WorkSource
from orchtw.errors import AlreadyExists, NotFound, StatusError
from orchtw.simulation.services.backends import IPV4, IPV6, Backend, Port, headless, selects
from orchtw.simulation.services.service_controller import ServiceController
from orchtw.simulation.workloads.conditions import same
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

CAPACITY: Final = "endpoints.orch.io/over-capacity"
HEADLESS: Final = "service.orch.io/headless"
MOST_ADDRESSES: Final = 1000


class EndpointsController(ServiceController):
    """The controller that the release calls `endpoint`."""

    name = "endpoint"
    account = "endpoint-controller"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._endpoints = world.informer("", "endpoints")
        self._capacity = self.naming.translate(CAPACITY)
        self._endpoints.handle(self._endpoints_seen)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informers of Services, pods and Endpoints."""
        return (*super().sources, self._endpoints)

    async def sync_service(self, key: str, service: Object | None) -> None:
        """Write the Endpoints of a Service with a selector, and delete those of one that has gone."""
        present = self._endpoints.get(key)
        if service is None:
            if present is not None:
                await self._delete(present)
        elif selects(service):
            await self._write(service["metadata"]["namespace"], present, self._wanted(service))

    def _wanted(self, service: Object) -> Object:
        """Return the Endpoints of a Service."""
        meta = service["metadata"]
        labels = dict(meta.get("labels") or {})
        if headless(service):
            labels[self.naming.translate(HEADLESS)] = ""
        family = (service["spec"].get("ipFamilies") or [IPV4])[0]
        # Endpoints have no word for a pod that still serves while it ends.
        behind = [each for each in self.backends(service) if each.ready or not each.terminating]
        portless = headless(service) and not service["spec"].get("ports")
        subsets, cut = pack(behind, IPV6 if family == IPV6 else IPV4, portless=portless)
        annotations = {self._capacity: "truncated"} if cut else {}
        return {"metadata": {"name": meta["name"], "labels": labels, "annotations": annotations}, "subsets": subsets}

    async def _write(self, namespace: str, present: Object | None, wanted: Object) -> None:
        if present is None:
            await self._create(namespace, wanted)
            return
        meta, labels = present["metadata"], wanted["metadata"]["labels"]
        kept = {key: text for key, text in (meta.get("annotations") or {}).items() if key != self._capacity}
        annotations = {**kept, **wanted["metadata"]["annotations"]}
        unchanged = (
            same(present.get("subsets") or [], wanted["subsets"])
            and same(meta.get("labels") or {}, labels)
            and same(meta.get("annotations") or {}, annotations)
        )
        if not unchanged:
            metadata = {**meta, "labels": labels, "annotations": annotations}
            changed = {**present, "metadata": metadata, "subsets": wanted["subsets"]}
            written = await self.client.update(self._endpoints.resource, namespace, meta["name"], changed)
            await self._endpoints.seen(written)

    async def _create(self, namespace: str, wanted: Object) -> None:
        """Create Endpoints; a namespace that is being deleted is left alone."""
        try:
            written = await self.client.create(self._endpoints.resource, namespace, wanted)
        except AlreadyExists:
            raise Retry("the informer has not seen the Endpoints yet") from None
        except NotFound:
            return
        except StatusError as error:
            if not ends_with_namespace(error):
                raise
        else:
            await self._endpoints.seen(written)

    async def _delete(self, present: Object) -> None:
        meta = present["metadata"]
        with suppress(NotFound):
            await self.client.delete(self._endpoints.resource, meta["namespace"], meta["name"])

    def _endpoints_seen(self, old: Item | None, new: Item | None) -> None:
        """Write the Endpoints of a Service again when somebody has deleted them."""
        if new is None and old is not None:
            self.queue.add(old.key)


def pack(behind: Iterable[Backend], family: str, *, portless: bool) -> tuple[list[Object], bool]:
    """Return the subsets of these pods: one for each set of ports; and whether addresses had to be left out.

    Ready addresses are kept first. `portless`: pods are named without ports.
    """
    groups: dict[tuple[Port, ...], tuple[list[Object], list[Object]]] = {}
    shown = [each for each in behind if family in each.addresses and (each.ports or portless)]
    cut = len(shown) > MOST_ADDRESSES
    for each in sorted(shown, key=lambda backend: not backend.ready)[:MOST_ADDRESSES]:
        ready, waiting = groups.setdefault(each.ports, ([], []))
        (ready if each.ready else waiting).append(_address(each, family))
    return [_subset(ports, *groups[ports]) for ports in sorted(groups)], cut


def _subset(ports: tuple[Port, ...], ready: list[Object], waiting: list[Object]) -> Object:
    made: Object = {}
    if ready:
        made["addresses"] = sorted(ready, key=_order)
    if waiting:
        made["notReadyAddresses"] = sorted(waiting, key=_order)
    return {**made, "ports": [each.shown() for each in ports]} if ports else made


def _order(address: Object) -> tuple[str, str]:
    return address["ip"], address["targetRef"]["uid"]


def _address(backend: Backend, family: str) -> Object:
    made: Object = {"ip": backend.addresses[family], "targetRef": backend.reference}
    if backend.node:
        made["nodeName"] = backend.node
    return {**made, "hostname": backend.hostname} if backend.hostname else made
