"""EndpointSlices of one Service or Endpoints: as few writes as lead to the wanted endpoints (reference SIM-71)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from orchtw.client.interface import Client
from orchtw.errors import NotFound
from orchtw.simulation.informers import SharedInformer
from orchtw.simulation.services.backends import Port
from orchtw.simulation.workloads.conditions import same
from orchtw.wire.objects import Object

Group = tuple[str, tuple[Port, ...]]
"""Type of address and ports, which all endpoints of a slice have in common."""

NO_PORTS: Final[tuple[Port, ...]] = ()


class SlicePlan(msgspec.Struct, frozen=True):
    """Slices to be created, changed (each with its new endpoints) and deleted."""

    create: list[tuple[Group, list[Object]]]
    update: list[tuple[Object, list[Object]]]
    delete: list[Object]


def plan(wanted: dict[Group, list[Object]], present: Sequence[Object], most: int) -> SlicePlan:
    """Return the writes after which the slices have the wanted endpoints, at most `most` each.

    A slice keeps the endpoints that are still wanted; new ones fill slices that are changed anyway, then others, then
    new slices. A group that is wanted without endpoints has one empty slice.
    """
    made = SlicePlan([], [], [])
    groups: dict[Group, list[Object]] = {}
    for each in present:
        groups.setdefault(group_of(each), []).append(each)
    for group in wanted.keys() | groups.keys():
        if group in wanted and not wanted[group]:
            _plan_placeholder(made, group, groups.get(group, []))
        else:
            _plan_group(made, group, wanted.get(group, []), groups.get(group, []), most)
    return _reusing(made)


def _plan_placeholder(made: SlicePlan, group: Group, slices: Sequence[Object]) -> None:
    if not slices:
        made.create.append((group, []))
    elif slices[0].get("endpoints"):
        made.update.append((slices[0], []))
    made.delete.extend(slices[1:])


def _reusing(made: SlicePlan) -> SlicePlan:
    """Return the plan with creations replaced by updates of slices of the same address type that it would delete."""
    spare = list(made.delete)
    create: list[tuple[Group, list[Object]]] = []
    update = list(made.update)
    for group, endpoints in made.create:
        found = next((each for each in spare if each["addressType"] == group[0]), None)
        if found is None:
            create.append((group, endpoints))
        else:
            spare.remove(found)
            update.append(({**found, "ports": [each.shown() for each in group[1]]}, endpoints))
    return SlicePlan(create, update, spare)


def _plan_group(made: SlicePlan, group: Group, wanted: Sequence[Object], slices: Sequence[Object], most: int) -> None:
    left = {identity(each): each for each in wanted}
    kept: list[tuple[Object, list[Object], bool]] = []
    for each in slices:
        before = each.get("endpoints") or []
        stays = [left.pop(key) for found in before if (key := identity(found)) in left]
        kept.append((each, stays, not same(stays, before)))
    waiting = list(left.values())
    # Slices that change anyway are filled first, the fullest of them first.
    for each, stays, changed in sorted(kept, key=lambda entry: (not entry[2], -len(entry[1]))):
        room = most - len(stays)
        taken, waiting = waiting[:room], waiting[room:]
        if not stays and not taken:
            made.delete.append(each)
        elif changed or taken:
            made.update.append((each, [*stays, *taken]))
    made.create.extend((group, waiting[start : start + most]) for start in range(0, len(waiting), most))


def identity(endpoint: Object) -> tuple[Any, ...]:
    """Return what makes an endpoint the same one, however its conditions change."""
    target = endpoint.get("targetRef") or {}
    return tuple(endpoint["addresses"]), target.get("uid", "")


def group_of(found: Object) -> Group:
    """Return the group of a slice."""
    return found["addressType"], tuple(sorted(map(read_port, found.get("ports") or ())))


def read_port(shown: Object) -> Port:
    """Return a port as Endpoints or a slice show it."""
    name, protocol = shown.get("name") or "", shown.get("protocol") or "TCP"
    return Port(name, shown.get("port") or 0, protocol, shown.get("appProtocol") or "")


class SliceWriter:
    """Writes the slices of one owner; each write returns once the informer has seen it."""

    def __init__(self, client: Client, slices: SharedInformer) -> None:
        self._client = client
        self._slices = slices
        self._resource = slices.resource

    async def write(self, made: SlicePlan, present: Sequence[Object], namespace: str, head: Object) -> None:
        """Carry out a plan. `head` is the metadata of all slices: `generateName`, labels and owner references.

        Slices that the plan leaves alone get the labels, if they differ.
        """
        for (kind, ports), endpoints in made.create:
            written = await self._client.create(self._resource, namespace, {
                "metadata": head, "addressType": kind, "endpoints": endpoints,
                "ports": [each.shown() for each in ports],
            })  # fmt: skip
            await self._slices.seen(written)
        touched = {each["metadata"]["name"] for each in (*made.delete, *(found for found, _ in made.update))}
        stale = [
            (each, each.get("endpoints") or [])
            for each in present
            if each["metadata"]["name"] not in touched and not same(each["metadata"].get("labels"), head["labels"])
        ]
        for found, endpoints in (*made.update, *stale):
            metadata = {**found["metadata"], "labels": head["labels"]}
            changed = {**found, "metadata": metadata, "endpoints": endpoints}
            await self._slices.seen(await self._client.update(self._resource, namespace, metadata["name"], changed))
        for found in made.delete:
            await self.delete(found)

    async def delete(self, found: Object) -> None:
        """Delete a slice, unless it has gone."""
        try:
            await self._client.delete(self._resource, found["metadata"]["namespace"], found["metadata"]["name"])
        except NotFound:
            return
        await self._slices.seen_change(found)
