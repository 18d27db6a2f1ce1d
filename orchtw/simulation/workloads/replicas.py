"""Controllers of ReplicaSets and ReplicationControllers: a number of equal pods (reference SIM-41)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.client.concurrency import each
from orchtw.client.namespace_end import ends_with_namespace
from orchtw.errors import StatusError
from orchtw.rules.selectors import LabelSelector
from orchtw.simulation.workloads.batches import AT_A_TIME, slow_start
from orchtw.simulation.workloads.claiming import parse_selector
from orchtw.simulation.workloads.owners import by_controller, controller_of
from orchtw.simulation.workloads.pod_template import pod_maker
from orchtw.simulation.workloads.pods import PodView
from orchtw.simulation.workloads.ranking import first_to_go
from orchtw.simulation.workloads.replica_status import TERMINATING_GATE, replica_status
from orchtw.simulation.workloads.waiting import until_available
from orchtw.simulation.workloads.workload import Workload
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

MOST_AT_ONCE: Final = 500
"""Most pods that one look at an owner creates or deletes."""


class Replicas(Workload):
    """Controller of one kind that keeps a number of equal pods.

    It has few workers: pods that are there are to run before there are more.
    """

    workers = 3

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._counts_terminating = bool(self.group) and world.enabled(TERMINATING_GATE)

    async def sync_owner(self, key: str, owner: Object) -> float | None:
        """Create or delete pods until there are as many as asked for, then write the status."""
        active = [pod for pod in await self.claimed(owner) if pod.active]
        missing = owner["spec"].get("replicas", 1) - len(active)
        if not owner["metadata"].get("deletionTimestamp"):
            try:
                await (self._create(owner, missing) if missing > 0 else self._delete(owner, active, -missing))
            except StatusError as error:
                await self._report(owner, ("FailedCreate" if missing > 0 else "FailedDelete", str(error)))
                raise
        await self._report(owner, None)
        if abs(missing) > MOST_AT_ONCE:
            self.queue.add(key)
        pods = self.pods.owned(owner["metadata"]["uid"])
        return until_available(pods, owner["spec"].get("minReadySeconds") or 0, self.clock.now())

    async def _report(self, owner: Object, failed: tuple[str, str] | None) -> None:
        """Write the status; `failed` is the reason and the message of a failure to create or delete pods."""
        selector = self.selector(owner)
        pods = [pod for pod in self.pods.owned(owner["metadata"]["uid"]) if selector.matches(pod.labels)]
        status = replica_status(owner, pods, failed, self.clock.now())
        if not self._counts_terminating:
            status.pop("terminatingReplicas", None)
        await self.write_status(owner, status)

    async def _create(self, owner: Object, count: int) -> None:
        """Create pods. Raises the first refusal, but none of a namespace that is being deleted."""
        make = pod_maker(owner["spec"]["template"], owner, self.claimer.reference(owner))

        async def create(number: int) -> None:
            await self.create_told(owner, make())

        try:
            await slow_start(min(count, MOST_AT_ONCE), create)
        except StatusError as error:
            if not ends_with_namespace(error):
                raise

    async def _delete(self, owner: Object, active: Sequence[PodView], count: int) -> None:
        """Delete the pods that are to go first."""
        if not count:
            return
        related = self._related(owner) or active

        async def delete(pod: PodView) -> None:
            await self.delete_told(owner, pod)

        going = first_to_go(active, related, min(count, MOST_AT_ONCE), self.clock.now())
        await each(going, delete, AT_A_TIME)

    def _related(self, owner: Object) -> Sequence[PodView]:
        """Return the pods that should be spread over nodes together with the owner's; empty: only these."""
        return ()


class ReplicaSetController(Replicas):
    """Controller `replicaset`, keyed by `namespace/name` of ReplicaSets."""

    name = "replicaset"
    account = "replicaset-controller"
    component = "replicaset-controller"
    plural = "replicasets"
    kind = "ReplicaSet"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._siblings = self.owners.index("controller", by_controller)

    def _related(self, owner: Object) -> Sequence[PodView]:
        """Return the pods of all ReplicaSets of the same Deployment."""
        controller = controller_of(owner)
        if controller is None:
            return ()
        sets = self.owners.of(self._siblings.keys(controller["uid"]))
        return [pod for each in sets for pod in self.pods.owned(each["metadata"]["uid"])]


class ReplicationControllerController(Replicas):
    """Controller `replicationcontroller`, keyed by `namespace/name` of ReplicationControllers."""

    name = "replicationcontroller"
    account = "replication-controller"
    component = "replication-controller"
    group = ""
    plural = "replicationcontrollers"
    kind = "ReplicationController"

    def selector(self, owner: Object) -> LabelSelector:
        """Return the selector, which is a map of labels."""
        return parse_selector({"matchLabels": owner["spec"].get("selector") or {}})
