"""ControllerRevisions: the templates that a DaemonSet or StatefulSet has had (reference SIM-43)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import orjson

from orchtw.client.interface import Client, Resource
from orchtw.client.work_queue import Retry
from orchtw.errors import AlreadyExists, NotFound
from orchtw.simulation.workloads.claiming import Claimer, parse_selector
from orchtw.simulation.workloads.conditions import same
from orchtw.simulation.workloads.hashes import hash_of
from orchtw.simulation.workloads.owners import by_controller, controller_of, orphans_by_namespace
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

KEPT: Final = 10
"""Revisions that are kept if the owner does not say."""


class Collision(Retry):
    """Error: the name of a new revision belongs to another one; a higher collision count gives another name."""


def snapshot(owner: Object) -> Object:
    """Return the content of a revision: a patch that gives the owner its present template.

    Its keys are in order: clients compare the bytes with those that they make of the owner.
    """
    content = {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}
    ordered: Object = orjson.loads(orjson.dumps(content, option=orjson.OPT_SORT_KEYS))
    return ordered


def template_of(revision: Object) -> Object:
    """Return the template in a revision."""
    template = {key: value for key, value in revision["data"]["spec"]["template"].items() if key != "$patch"}
    return template


def name_of(obj: Object) -> str:
    """Return the name of an object."""
    name: str = obj["metadata"]["name"]
    return name


def _order(revision: Object) -> tuple[int, str, str]:
    return revision["revision"], revision["metadata"]["creationTimestamp"], name_of(revision)


class Revisions:
    """The revisions of the owners of one kind; `hash_label` is the label of a revision's hash."""

    def __init__(self, world: World, client: Client, owners: Resource, hash_label: str) -> None:
        self.informer = world.informer("apps", "controllerrevisions")
        self._client = client
        self._of_owner = self.informer.index("controller", by_controller)
        self._orphans = self.informer.index("orphans", orphans_by_namespace)
        self._claimer = Claimer(client, self.informer, owners)
        self._label = hash_label

    async def of(self, owner: Object) -> list[Object]:
        """Return an owner's revisions in order, after it has adopted those that it selects."""
        meta, selector = owner["metadata"], parse_selector(owner["spec"].get("selector"))
        if not meta.get("deletionTimestamp"):
            orphans = [
                f"{meta['namespace']}/{name_of(each)}"
                for each in self.informer.of(self._orphans.keys(meta["namespace"]))
                if selector.matches(each["metadata"].get("labels")) and not each["metadata"].get("deletionTimestamp")
            ]
            await self._claimer.adopt(owner, orphans)
        return sorted(self.informer.of(self._of_owner.keys(meta["uid"])), key=_order)

    async def current(self, owner: Object, known: Sequence[Object]) -> Object:
        """Return the revision of the owner's present template, which is the latest from now on.

        `known` are all that there are, in order. Raises Collision.
        """
        content = snapshot(owner)
        number = known[-1]["revision"] + 1 if known else 1
        alike = [each for each in known if same(each["data"], content)]
        if not alike:
            return await self._create(owner, content, number)
        found = alike[-1]
        return found if found is known[-1] else await self._renumber(found, number)

    async def truncate(self, owner: Object, known: Sequence[Object], used: Collection[str]) -> None:
        """Delete the oldest revisions beyond those to be kept, but not those `used`, by name."""
        unused = [each for each in known if name_of(each) not in used]
        limit = owner["spec"].get("revisionHistoryLimit", KEPT)
        for each in unused[: max(0, len(unused) - limit)]:
            meta = each["metadata"]
            try:
                await self._client.delete(self.informer.resource, meta["namespace"], meta["name"])
            except NotFound:
                continue
            await self.informer.seen_change(each)

    async def _renumber(self, revision: Object, number: int) -> Object:
        meta = revision["metadata"]
        written = await self._client.update(
            self.informer.resource, meta["namespace"], meta["name"], {**revision, "revision": number}
        )
        await self.informer.seen(written)
        return written

    async def _create(self, owner: Object, content: Object, number: int) -> Object:
        meta = owner["metadata"]
        digest = hash_of(content, (owner.get("status") or {}).get("collisionCount"))
        labels = (owner["spec"]["template"].get("metadata") or {}).get("labels") or {}
        wanted = {
            "metadata": {
                "name": f"{meta['name']}-{digest}",
                "namespace": meta["namespace"],
                "labels": {**labels, self._label: digest},
                "annotations": dict(meta.get("annotations") or {}),
                "ownerReferences": [self._claimer.reference(owner)],
            },
            "data": content,
            "revision": number,
        }
        try:
            made = await self._client.create(self.informer.resource, meta["namespace"], wanted)
        except AlreadyExists:
            return await self._existing(owner, wanted)
        await self.informer.seen(made)
        return made

    async def _existing(self, owner: Object, wanted: Object) -> Object:
        """Return the revision that has the name, if it is the wanted one. Raises Collision."""
        meta = wanted["metadata"]
        live = await self._client.get(self.informer.resource, meta["namespace"], meta["name"])
        controller = controller_of(live)
        if controller and controller["uid"] == owner["metadata"]["uid"] and same(live["data"], wanted["data"]):
            return live
        raise Collision(f"ControllerRevision {meta['name']} exists already, and is another one")
