"""Adoption of orphans that an owner selects, and release of dependents that it no longer selects."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import orjson

from orchtw.client.concurrency import each
from orchtw.client.interface import Client, Resource
from orchtw.client.work_queue import Retry
from orchtw.errors import BadRequest, Invalid, NotFound
from orchtw.rules.selectors import NO_LABELS, LabelSelector, selector_of_object
from orchtw.simulation.informers import SharedInformer
from orchtw.simulation.workloads.batches import AT_A_TIME
from orchtw.simulation.workloads.owners import controller_reference
from orchtw.wire.objects import Object


@lru_cache(maxsize=4096)
def _parsed(text: bytes) -> LabelSelector:
    try:
        return selector_of_object(orjson.loads(text))
    except BadRequest:
        return NO_LABELS


def parse_selector(selector: Object | None) -> LabelSelector:
    """Return the selector of a LabelSelector object; a malformed one selects nothing."""
    return _parsed(orjson.dumps(selector, option=orjson.OPT_SORT_KEYS))


class Claimer:
    """Adopts and releases dependents of one kind for owners of another; returns when the informer has seen it."""

    def __init__(self, client: Client, dependents: SharedInformer, owners: Resource) -> None:
        self._client = client
        self._dependents = dependents
        self._owners = owners

    def reference(self, owner: Object) -> Object:
        """Return the reference to an owner as its dependents have it."""
        return controller_reference(owner, self._owners.api_version, self._owners.kind)

    async def adopt(self, owner: Object, keys: Iterable[str]) -> None:
        """Make the owner the controller of these dependents. Raises Retry if it has been deleted meanwhile."""
        found = tuple(self._dependents.of(keys))
        if not found:
            return
        await self._check_alive(owner)
        reference = self.reference(owner)

        async def adopt(obj: Object) -> None:
            others = obj["metadata"].get("ownerReferences") or []
            await self._change(obj, [*others, reference])

        await each(found, adopt, AT_A_TIME)

    async def release(self, owner: Object, keys: Iterable[str]) -> None:
        """Remove the reference to the owner from these dependents."""
        uid = owner["metadata"]["uid"]

        async def release(obj: Object) -> None:
            others = [one for one in obj["metadata"].get("ownerReferences") or () if one["uid"] != uid]
            await self._change(obj, others)

        await each(tuple(self._dependents.of(keys)), release, AT_A_TIME)

    async def _change(self, obj: Object, references: list[Object]) -> None:
        """Write the owner references; a dependent that has gone, or become another, is left alone."""
        meta = obj["metadata"]
        changes = {"metadata": {"uid": meta["uid"], "ownerReferences": references or None}}
        try:
            written = await self._client.patch(
                self._dependents.resource, meta["namespace"], meta["name"], changes
            )
        except (NotFound, Invalid):
            return
        await self._dependents.seen(written)

    async def _check_alive(self, owner: Object) -> None:
        meta = owner["metadata"]
        live = await self._client.get(self._owners, meta["namespace"], meta["name"])
        if live["metadata"]["uid"] != meta["uid"] or live["metadata"].get("deletionTimestamp"):
            raise Retry(f"{self._owners.kind} {meta['namespace']}/{meta['name']} has been deleted")
