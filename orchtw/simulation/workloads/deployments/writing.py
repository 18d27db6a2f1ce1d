"""Writes of the controller of Deployments, which the present `Rollout` takes in."""

from __future__ import annotations

from orchtw.errors import NotFound
from orchtw.simulation.informers import SharedInformer
from orchtw.simulation.workloads.conditions import same
from orchtw.simulation.workloads.deployments.annotations import Annotations, annotations_of
from orchtw.simulation.workloads.deployments.rollout import Rollout
from orchtw.simulation.workloads.deployments.sets import size_of
from orchtw.simulation.workloads.workload import NORMAL, Workload
from orchtw.wire.objects import Object


class ReplicaSetWriting:
    """Writes Deployments and their ReplicaSets; each returns once the informers have seen it."""

    def __init__(self, controller: Workload, sets: SharedInformer) -> None:
        self.annotations = Annotations(controller.naming)
        self.sets = sets
        self.controller = controller
        self._client = controller.client

    async def deployment(
        self, rollout: Rollout, status: Object, annotations: dict[str, str] | None = None
    ) -> None:
        """Write status and annotations of a Deployment where they differ; the status subresource takes both."""
        found = rollout.deployment
        wanted = annotations_of(found) if annotations is None else annotations
        if same(found.get("status") or {}, status) and wanted == annotations_of(found):
            return
        changed = {**found, "metadata": {**found["metadata"], "annotations": wanted}, "status": status}
        await self._put_deployment(rollout, changed, "status")

    async def whole_deployment(self, rollout: Rollout, changed: Object) -> None:
        """Write a Deployment's spec and metadata."""
        await self._put_deployment(rollout, changed, "")

    async def _put_deployment(self, rollout: Rollout, changed: Object, subresource: str) -> None:
        meta, owners = changed["metadata"], self.controller.owners
        written = await self._client.update(
            owners.resource, meta["namespace"], meta["name"], changed, subresource
        )
        rollout.deployment = written
        await owners.seen(written)

    async def scale(self, rollout: Rollout, each: Object, size: int) -> None:
        """Give a ReplicaSet a size, and the annotations that tell it the Deployment's."""
        before = size_of(each)
        annotations = {**annotations_of(each), **self.annotations.sizes(rollout.deployment)}
        if size == before and annotations == annotations_of(each):
            return
        await self.replace_set(rollout, each, annotations, {**each["spec"], "replicas": size})
        if size != before:
            await self.tell_scaled(rollout, each, size, "up" if size > before else "down")

    async def tell_scaled(self, rollout: Rollout, each: Object, size: int, way: str) -> None:
        """Record that a ReplicaSet has been scaled `up` or `down`."""
        text = f"Scaled {way} replica set {each['metadata']['name']} to {size}"
        await self.controller.tell(rollout.deployment, NORMAL, "ScalingReplicaSet", text)

    async def replace_set(
        self, rollout: Rollout, each: Object, annotations: dict[str, str], spec: Object
    ) -> None:
        """Write a ReplicaSet's annotations and spec."""
        meta = {**each["metadata"], "annotations": annotations}
        changed = {**each, "metadata": meta, "spec": spec}
        written = await self._client.update(self.sets.resource, meta["namespace"], meta["name"], changed)
        rollout.put(written)
        await self.sets.seen(written)

    async def delete(self, each: Object) -> None:
        """Delete a ReplicaSet; one that has gone is left alone."""
        meta = each["metadata"]
        try:
            await self._client.delete(self.sets.resource, meta["namespace"], meta["name"])
        except NotFound:
            return
        await self.sets.seen_change(each)
