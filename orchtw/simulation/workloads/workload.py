"""Base of the controllers of workloads: objects that own pods which their selectors find."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final

from orchtw.client.interface import Item
from orchtw.client.namespace_end import ends_with_namespace
from orchtw.controllers.controller import WorkSource
from orchtw.errors import NotFound, StatusError
from orchtw.rules.selectors import LabelSelector
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.workloads.claiming import Claimer, parse_selector
from orchtw.simulation.workloads.conditions import same
from orchtw.simulation.workloads.owners import by_namespace
from orchtw.simulation.workloads.pods import Pods, PodView
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

NORMAL: Final = "Normal"
WARNING: Final = "Warning"


class Workload(SimulatedController):
    """Controller of one kind of workload, keyed by `namespace/name`; a changed pod brings its owner back.

    `group`, `plural` and `kind` are those of the workload; `workers` of them are looked at concurrently.
    """

    group: ClassVar[str] = "apps"
    workers: ClassVar[int] = 10
    plural: str
    kind: str

    def __init__(self, world: World) -> None:
        super().__init__(world, self.workers)
        self.owners = world.informer(self.group, self.plural)
        self.pods = world.shared(Pods)
        self.claimer = Claimer(self.client, self.pods.informer, self.owners.resource)
        self._in_namespace = self.owners.index("namespace", by_namespace)
        self.owners.handle(self._owner_seen)
        self.pods.handle(self._pod_seen)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informers of pods and of the workload."""
        return (self.pods.informer, self.owners)

    async def sync(self, key: str) -> float | None:
        """Bring one workload's pods to what it asks for, as `SimulatedController.sync`."""
        await self.listed()
        owner = self.owners.get(key)
        return None if owner is None else await self.sync_owner(key, owner)

    @abstractmethod
    async def sync_owner(self, key: str, owner: Object) -> float | None:
        """Look at one workload that exists, which is shared."""

    def selector(self, owner: Object) -> LabelSelector:
        """Return the selector of a workload; a malformed one selects nothing."""
        return parse_selector(owner["spec"].get("selector"))

    async def claimed(self, owner: Object, wanted: Callable[[PodView], bool] = lambda pod: True) -> list[PodView]:
        """Return the owner's pods, after it has adopted orphans and released what it does not select.

        Of pods that are not `wanted` none is adopted, and those owned are released.
        """
        meta, selector = owner["metadata"], self.selector(owner)
        owned = self.pods.owned(meta["uid"])
        kept = [pod for pod in owned if selector.matches(pod.labels) and wanted(pod)]
        if meta.get("deletionTimestamp"):
            return kept
        if len(kept) < len(owned):
            keeps = {pod.key for pod in kept}
            await self.claimer.release(owner, [pod.key for pod in owned if pod.key not in keeps])
        orphans = [
            pod.key
            for pod in self.pods.orphans(meta["namespace"])
            if pod.active and selector.matches(pod.labels) and wanted(pod)
        ]
        if orphans:
            await self.claimer.adopt(owner, orphans)
            kept += [pod for key in orphans if (pod := self.pods.get(key)) and pod.owner == meta["uid"]]
        return kept

    async def create_pod(self, owner: Object, pod: Object) -> Object:
        """Create a pod; return its name and version once the informer has seen it. Raises what a create raises."""
        namespace = owner["metadata"]["namespace"]
        made = await self.client.create(self.pods.informer.resource, namespace, pod, whole=False)
        await self.pods.informer.seen(made)
        return made

    async def delete_pod(self, pod: PodView) -> bool:
        """Begin to delete a pod; False if it has gone already."""
        try:
            await self.client.delete(self.pods.informer.resource, pod.namespace, pod.name)
        except NotFound:
            return False
        await self.pods.informer.seen_change(
            {"metadata": {"namespace": pod.namespace, "name": pod.name, "resourceVersion": pod.version}}
        )
        return True

    async def create_told(self, owner: Object, pod: Object) -> None:
        """Create a pod, with an event about it or about the refusal. Raises what a create raises."""
        try:
            made = await self.create_pod(owner, pod)
        except StatusError as error:
            if not ends_with_namespace(error):
                await self.tell(owner, WARNING, "FailedCreate", f"Error creating: {error}")
            raise
        await self.tell(owner, NORMAL, "SuccessfulCreate", f"Created pod: {made['metadata']['name']}")

    async def delete_told(self, owner: Object, pod: PodView) -> None:
        """Begin to delete a pod, with an event about it or about the refusal. Raises what a delete raises."""
        try:
            deleted = await self.delete_pod(pod)
        except StatusError as error:
            await self.tell(owner, WARNING, "FailedDelete", f"Error deleting: {error}")
            raise
        if deleted:
            await self.tell(owner, NORMAL, "SuccessfulDelete", f"Deleted pod: {pod.name}")

    async def write_status(self, owner: Object, status: Object) -> bool:
        """Write a workload's status unless it is the same; report whether it was written. Raises Conflict (409)."""
        if same(owner.get("status") or {}, status):
            return False
        meta = owner["metadata"]
        try:
            written = await self.client.update(
                self.owners.resource, meta["namespace"], meta["name"], {**owner, "status": status}, "status"
            )
        except NotFound:
            return False
        await self.owners.seen(written)
        return True

    async def tell(self, owner: Object, event_type: str, reason: str, message: str) -> None:
        """Record an event about a workload."""
        resource = self.owners.resource
        await self.events.record(
            self.reference(owner, resource.api_version, resource.kind), event_type, reason, message
        )

    def matching(self, pod: PodView) -> Iterable[str]:
        """Yield the keys of the workloads that would adopt an orphan."""
        if pod.labels:
            for key in self._in_namespace.keys(pod.namespace):
                owner = self.owners.get(key)
                if owner is not None and self.selector(owner).matches(pod.labels):
                    yield key

    def _owner_seen(self, old: Item | None, new: Item | None) -> None:
        item = new or old
        if item is not None:
            self.queue.add(item.key)

    def _pod_seen(self, old: PodView | None, new: PodView | None) -> None:
        for pod in (old, new):
            if pod is not None and pod.owner_kind == self.kind:
                # One that is missing is replaced at once.
                siblings = 0 if _is_lost(old, new) else self.pods.count(pod.owner)
                self.gather(f"{pod.namespace}/{pod.owner_name}", siblings)
        if new is not None and not new.owner and new.active and self.synced:
            for key in self.matching(new):
                self.queue.add(key)


def _is_lost(old: PodView | None, new: PodView | None) -> bool:
    return new is None or (old is not None and old.active and not new.active)
