"""Controller that makes the claims of pods' ephemeral volumes (reference SIM-52)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson

from orchtw.client.interface import Item
from orchtw.client.work_queue import Retry
from orchtw.controllers.controller import WorkSource
from orchtw.errors import AlreadyExists, StatusError
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.workloads.owners import controller_reference
from orchtw.simulation.workloads.workload import WARNING
from orchtw.simulation.world import World
from orchtw.wire.objects import Object


class EphemeralVolumes(SimulatedController):
    """ephemeral-volume controller, keyed by pod."""

    name = "ephemeral-volume"
    account = "ephemeral-volume-controller"
    component = "ephemeral_volume"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._pods = world.informer("", "pods")
        self._claims = world.informer("", "persistentvolumeclaims")
        self._users = self._pods.index("ephemeral", _claim_keys)
        self._pods.handle(self._pod_seen)
        self._claims.handle(self._claim_seen)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informers of claims and pods."""
        return (self._claims, self._pods)

    async def sync(self, key: str) -> float | None:
        """Make the claims of one pod, as `SimulatedController.sync`."""
        if not self.synced:
            raise Retry("not all informers have listed")
        pod = self._pods.get(key)
        if pod is None or pod["metadata"].get("deletionTimestamp"):
            return None
        for volume in _ephemeral(pod):
            name = _claim_name(pod, volume)
            found = self._claims.get(f"{pod['metadata']['namespace']}/{name}")
            if found is None:
                await self._create(pod, volume, name)
            elif not _is_owner(pod, found):
                text = f'PVC "{key.partition("/")[0]}/{name}" was not created for pod "{key}" (pod is not owner)'
                await self._warn(pod, text)
        return None

    async def _create(self, pod: Object, volume: Object, name: str) -> None:
        template = orjson.loads(orjson.dumps(volume["ephemeral"]["volumeClaimTemplate"]))
        meta, namespace = template.get("metadata") or {}, pod["metadata"]["namespace"]
        kept = {key: meta[key] for key in ("labels", "annotations") if meta.get(key)}
        owner = controller_reference(pod, "v1", "Pod")
        claim = {"metadata": {"name": name, **kept, "ownerReferences": [owner]}, "spec": template["spec"]}
        try:
            made = await self.client.create(self._claims.resource, namespace, claim)
        except AlreadyExists:
            return
        except StatusError as error:
            await self._warn(pod, f"create PVC {name}: {error}")
            raise
        await self._claims.seen(made)

    async def _warn(self, pod: Object, message: str) -> None:
        await self.events.record(self.reference(pod, "v1", "Pod"), WARNING, "ClaimCreationFailed", message)

    def _pod_seen(self, old: Item | None, new: Item | None) -> None:
        if new is not None and old is None and any(_ephemeral(self._pods.load(new))):
            self.queue.add(new.key)

    def _claim_seen(self, old: Item | None, new: Item | None) -> None:
        """Make a claim again that was deleted while its pod is there."""
        if new is None and old is not None:
            for key in self._users.keys(old.key):
                self.queue.add(key)


def _ephemeral(pod: Object) -> Iterator[Object]:
    return (each for each in pod["spec"].get("volumes") or () if each.get("ephemeral"))


def _is_owner(pod: Object, claim: Object) -> bool:
    return any(each["uid"] == pod["metadata"]["uid"] for each in claim["metadata"].get("ownerReferences") or ())


def _claim_name(pod: Object, volume: Object) -> str:
    return f"{pod['metadata']['name']}-{volume['name']}"


def _claim_keys(pod: Object) -> Sequence[str]:
    return [f"{pod['metadata']['namespace']}/{_claim_name(pod, each)}" for each in _ephemeral(pod)]
