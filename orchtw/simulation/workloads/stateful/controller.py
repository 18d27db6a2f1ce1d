"""Controller of StatefulSets (reference SIM-44)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.controllers.controller import WorkSource
from orchtw.registry.groups.apps.rolling_updates import ON_DELETE
from orchtw.simulation.workloads.hashes import REVISION_HASH
from orchtw.simulation.workloads.pods import PodView
from orchtw.simulation.workloads.revisions import Collision, Revisions, name_of
from orchtw.simulation.workloads.stateful.claims import StatefulClaims
from orchtw.simulation.workloads.stateful.identity import ordinal_of
from orchtw.simulation.workloads.stateful.members import Members
from orchtw.simulation.workloads.stateful.scaling import Scaling
from orchtw.simulation.workloads.stateful.status import stateful_status
from orchtw.simulation.workloads.stateful.updates import outdated
from orchtw.simulation.workloads.waiting import until_available
from orchtw.simulation.workloads.workload import Workload
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

HASH_LABEL: Final = "controller.orch.io/hash"


class StatefulSetController(Workload):
    """Controller `statefulset`, keyed by `namespace/name` of StatefulSets."""

    name = "statefulset"
    account = "statefulset-controller"
    component = "statefulset-controller"
    plural = "statefulsets"
    kind = "StatefulSet"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        hash_label = self.naming.translate(HASH_LABEL)
        self.revisions = Revisions(world, self.client, self.owners.resource, hash_label)
        self.claims = StatefulClaims(self, world)
        self._scaling = Scaling(self, self.claims, world)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informers of pods, claims, revisions and StatefulSets."""
        return (self.pods.informer, self.claims.informer, self.revisions.informer, self.owners)

    async def sync_owner(self, key: str, owner: Object) -> float | None:
        """Take the next step of bringing a StatefulSet's pods to what it asks for, and write its status."""
        name = owner["metadata"]["name"]
        pods = await self.claimed(owner, lambda pod: ordinal_of(name, pod.name) is not None)
        known = await self.revisions.of(owner)
        try:
            update = await self.revisions.current(owner, known)
        except Collision:
            status = owner.get("status") or {}
            await self.write_status(owner, {**status, "collisionCount": (status.get("collisionCount") or 0) + 1})
            raise
        named = (owner.get("status") or {}).get("currentRevision")
        current = next((each for each in known if name_of(each) == named), update)
        try:
            if not owner["metadata"].get("deletionTimestamp"):
                await self._step(owner, Members(owner, pods), current, update)
        finally:
            pods = self._present(owner)
            now = self.clock.now()
            await self.write_status(owner, stateful_status(owner, pods, name_of(current), name_of(update), now))
        used = {name_of(current), name_of(update), *(pod.labels.get(REVISION_HASH, "") for pod in pods)}
        await self.revisions.truncate(owner, await self.revisions.of(owner), used)
        return until_available(pods, owner["spec"].get("minReadySeconds") or 0, now)

    async def _step(self, owner: Object, members: Members, current: Object, update: Object) -> None:
        """Create what is missing, delete what is too many, then replace what is outdated."""
        if not await self._scaling.run(owner, members, current, update):
            return
        if owner["spec"]["updateStrategy"].get("type") == ON_DELETE:
            return
        for pod in outdated(owner, Members(owner, self._present(owner)), name_of(update)):
            await self._scaling.delete(owner, pod)

    def _present(self, owner: Object) -> list[PodView]:
        """Return the pods as they are now."""
        name, selector = owner["metadata"]["name"], self.selector(owner)
        pods = self.pods.owned(owner["metadata"]["uid"])
        return [pod for pod in pods if selector.matches(pod.labels) and ordinal_of(name, pod.name) is not None]
