"""Creation and deletion of a StatefulSet's pods, in order or all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.client.concurrency import each
from orchtw.client.namespace_end import ends_with_namespace
from orchtw.client.work_queue import Retry
from orchtw.errors import NotFound, StatusError
from orchtw.registry.groups.apps.rolling_updates import ROLLING
from orchtw.simulation.workloads.batches import AT_A_TIME, slow_start
from orchtw.simulation.workloads.pods import PodView
from orchtw.simulation.workloads.revisions import name_of, template_of
from orchtw.simulation.workloads.stateful.claims import StatefulClaims
from orchtw.simulation.workloads.stateful.identity import INDEX_GATE, PodIdentity, pod_name, start_of
from orchtw.simulation.workloads.stateful.members import Members
from orchtw.simulation.workloads.workload import NORMAL, WARNING, Workload
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

PARALLEL: Final = "Parallel"


class Scaling:
    """Brings the number of pods to that of the spec."""

    def __init__(self, controller: Workload, claims: StatefulClaims, world: World) -> None:
        self._controller = controller
        self._claims = claims
        self._identity = PodIdentity(world.naming, indexed=world.enabled(INDEX_GATE))

    async def run(self, owner: Object, members: Members, current: Object, update: Object) -> bool:
        """Create and delete pods: the next one only, unless the set is managed in parallel.

        Returns whether there is nothing to wait for, so that outdated pods may be replaced.
        """
        at_once = owner["spec"].get("podManagementPolicy") == PARALLEL
        missing: list[int] = []
        for number in members.wanted:
            pod = await self._without_failed(owner, members.get(number))
            if pod is None:
                if self._claims.stale(owner, number, None):
                    raise Retry(f"claims of an earlier pod {pod_name(owner, number)} are still there")
                missing.append(number)
                if not at_once:
                    break
            elif not at_once and not self._is_settled(owner, pod):
                return False
            elif not pod.terminating:
                await self._repair(owner, number, pod)
        if missing:
            await self._create(owner, missing, current, update)
            if not at_once:
                return False
        return await self._delete_condemned(owner, members, at_once=at_once)

    async def delete(self, owner: Object, pod: PodView) -> None:
        """Begin to delete a pod."""
        subject = f"delete Pod {pod.name} in StatefulSet {owner['metadata']['name']}"
        try:
            deleted = await self._controller.delete_pod(pod)
        except StatusError as error:
            await self._controller.tell(owner, WARNING, "FailedDelete", f"{subject} failed error: {error}")
            raise
        if deleted:
            await self._controller.tell(owner, NORMAL, "SuccessfulDelete", f"{subject} successful")

    def _is_settled(self, owner: Object, pod: PodView) -> bool:
        """Report whether the next pod need not wait for this one."""
        min_ready_s = owner["spec"].get("minReadySeconds") or 0
        available = pod.available(min_ready_s, self._controller.clock.now())
        return not pod.terminating and pod.running_and_ready and available

    async def _without_failed(self, owner: Object, pod: PodView | None) -> PodView | None:
        """Return a pod unless it has failed: then it is deleted, and None once it is gone."""
        if pod is None or pod.phase != "Failed" or pod.terminating:
            return pod
        meta = owner["metadata"]
        text = f"StatefulSet {meta['namespace']}/{meta['name']} is recreating failed Pod {pod.name}"
        await self._controller.tell(owner, WARNING, "RecreatingFailedPod", text)
        await self.delete(owner, pod)
        return self._controller.pods.get(pod.key)

    async def _create(self, owner: Object, numbers: Sequence[int], current: Object, update: Object) -> None:
        """Create pods with their claims. Raises the first refusal, but none of a namespace that is being deleted."""
        reference = self._controller.claimer.reference(owner)

        async def create(index: int) -> None:
            number = numbers[index]
            revision = current if _keeps_current(owner, number) else update
            template = template_of(revision)
            pod = self._identity.pod(owner, reference, template, name_of(revision), number)
            await self._claims.create(owner, number)
            await self._create_pod(owner, pod)

        try:
            await slow_start(len(numbers), create)
        except StatusError as error:
            if not ends_with_namespace(error):
                raise

    async def _create_pod(self, owner: Object, pod: Object) -> None:
        subject = f"create Pod {name_of(pod)} in StatefulSet {owner['metadata']['name']}"
        try:
            await self._controller.create_pod(owner, pod)
        except StatusError as error:
            if not ends_with_namespace(error):
                await self._controller.tell(owner, WARNING, "FailedCreate", f"{subject} failed error: {error}")
            raise
        await self._controller.tell(owner, NORMAL, "SuccessfulCreate", f"{subject} successful")

    async def _repair(self, owner: Object, number: int, pod: PodView) -> None:
        """Give a pod the labels and claims that it has lost, and its claims their owner."""
        labels = self._identity.labels(owner, number)
        if not labels.items() <= pod.labels.items():
            informer = self._controller.pods.informer
            changes = {"metadata": {"uid": pod.uid, "labels": labels}}
            try:
                written = await self._controller.client.patch(informer.resource, pod.namespace, pod.name, changes)
            except NotFound:
                return
            await informer.seen(written)
        if self._claims.missing(owner, number):
            await self._claims.create(owner, number)
        await self._claims.tie(owner, number, pod, condemned=False)

    async def _delete_condemned(self, owner: Object, members: Members, *, at_once: bool) -> bool:
        """Delete pods beyond the number, the highest first; report whether nothing is left to wait for."""

        async def delete(pod: PodView) -> None:
            await self._claims.tie(owner, members.ordinal(pod), pod, condemned=True)
            await self.delete(owner, pod)

        if at_once:
            await each([pod for pod in members.condemned if not pod.terminating], delete, AT_A_TIME)
            return True
        for pod in members.condemned:
            if not pod.terminating and (self._is_settled(owner, pod) or pod is members.first_unhealthy):
                await delete(pod)
            return False
        return True


def _keeps_current(owner: Object, number: int) -> bool:
    """Report whether a new pod of that number is one of the current revision, not of the new one."""
    strategy = owner["spec"]["updateStrategy"]
    if strategy.get("type") != ROLLING:
        return False
    rolling, offset = strategy.get("rollingUpdate"), number - start_of(owner)
    if rolling is None:
        return offset < ((owner.get("status") or {}).get("currentReplicas") or 0)
    return bool(offset < (rolling.get("partition") or 0))
