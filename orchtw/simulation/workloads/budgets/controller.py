"""Controller of PodDisruptionBudgets (reference SIM-48)."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.client.interface import Item
from orchtw.client.work_queue import Retry
from orchtw.controllers.controller import WorkSource
from orchtw.errors import NotFound
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.workloads.budgets.expectation import NoScale, Scales
from orchtw.simulation.workloads.budgets.status import budget_status, disrupted, failed_status
from orchtw.simulation.workloads.claiming import parse_selector
from orchtw.simulation.workloads.conditions import same
from orchtw.simulation.workloads.owners import by_namespace
from orchtw.simulation.workloads.pods import Pods, PodView
from orchtw.simulation.workloads.workload import NORMAL, WARNING
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

KIND = "PodDisruptionBudget"


class DisruptionController(SimulatedController):
    """disruption controller, keyed by budget."""

    name = "disruption"
    account = "disruption-controller"
    component = "controllermanager"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._budgets = world.informer("policy", "poddisruptionbudgets")
        self._in_namespace = self._budgets.index("namespace", by_namespace)
        self._pods = world.shared(Pods)
        self._pods_in_namespace = self._pods.informer.index("namespace", by_namespace)
        self._scales = Scales(world, self.client)
        self._budgets.handle(self._budget_seen)
        self._pods.handle(self._pod_seen)
        for informer in self._scales.informers.values():
            informer.handle(self._owner_seen)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informers of pods, of their controllers and of budgets."""
        return (self._pods.informer, *self._scales.informers.values(), self._budgets)

    async def sync(self, key: str) -> float | None:
        """Work out what one budget allows, as `SimulatedController.sync`."""
        if not self.synced:
            raise Retry("not all informers have listed")
        budget = self._budgets.get(key)
        if budget is None:
            return None
        pods, now = self._selected(budget), self.clock.now()
        if not pods:
            await self._tell(budget, NORMAL, "NoPods", "No matching pods found")
        evicted, overdue, wait_s = disrupted(budget.get("status") or {}, pods, now)
        try:
            expectation = await self._scales.expectation(budget, pods)
        except NoScale as error:
            await self._fail(budget, str(error))
            return wait_s
        await self._warn(budget, overdue, expectation.unmanaged)
        await self._write(budget, budget_status(budget, pods, expectation, evicted, now))
        return wait_s

    def _selected(self, budget: Object) -> list[PodView]:
        selector = parse_selector(budget["spec"].get("selector"))
        keys = self._pods_in_namespace.keys(budget["metadata"]["namespace"])
        return [pod for key in keys if (pod := self._pods.get(key)) is not None and selector.matches(pod.labels)]

    async def _fail(self, budget: Object, message: str) -> None:
        text = f"Failed to calculate the number of expected pods: {message}"
        await self._tell(budget, WARNING, "CalculateExpectedPodCountFailed", text)
        await self._write(budget, failed_status(budget, message, self.clock.now()))

    async def _warn(self, budget: Object, overdue: Sequence[PodView], unmanaged: Sequence[str]) -> None:
        """Tell of evicted pods that are still there, and of pods without a controller."""
        meta = budget["metadata"]
        for pod in overdue:
            text = f"Pod was expected by PDB {meta['namespace']}/{meta['name']} to be deleted but it wasn't"
            about = {"apiVersion": "v1", "kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
            await self.events.record(about, WARNING, "NotDeleted", text)
        if unmanaged:
            text = (
                f"Pods selected by this PodDisruptionBudget were found to be unmanaged: {', '.join(unmanaged[:10])}. "
                'Please set ".spec.minAvailable" field of the PDB to an integer value to account for them.'
            )
            await self._tell(budget, WARNING, "UnmanagedPods", text)

    async def _write(self, budget: Object, status: Object) -> None:
        """Write a budget's status unless it is the same. Raises Conflict (409), as after an eviction meanwhile."""
        if same(budget.get("status") or {}, status):
            return
        meta = budget["metadata"]
        changed = {**budget, "status": status}
        try:
            written = await self.client.update(
                self._budgets.resource, meta["namespace"], meta["name"], changed, "status"
            )
        except NotFound:
            return
        await self._budgets.seen(written)

    async def _tell(self, budget: Object, event_type: str, reason: str, message: str) -> None:
        about = self.reference(budget, self._budgets.resource.api_version, KIND)
        await self.events.record(about, event_type, reason, message)

    def _budget_seen(self, old: Item | None, new: Item | None) -> None:
        if new is not None:
            self.queue.add(new.key)

    def _pod_seen(self, old: PodView | None, new: PodView | None) -> None:
        for pod in filter(None, (old, new)):
            for key in self._in_namespace.keys(pod.namespace):
                budget = self._budgets.get(key)
                if budget is not None and parse_selector(budget["spec"].get("selector")).matches(pod.labels):
                    self.queue.add(key)

    def _owner_seen(self, old: Item | None, new: Item | None) -> None:
        """Look at the namespace's budgets again when the scale of a controller has changed."""
        item = new or old
        keys = () if item is None else self._in_namespace.keys(item.namespace)
        if not keys or (old is not None and new is not None and _generation(old) == _generation(new)):
            return
        for key in keys:
            self.queue.add(key)


def _generation(item: Item) -> int:
    return int(item.metadata().get("generation") or 0)
