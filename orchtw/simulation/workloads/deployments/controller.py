"""Controller of Deployments: moves pods from old ReplicaSets to the new one (reference SIM-42)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.client.interface import Item
from orchtw.controllers.controller import WorkSource
from orchtw.registry.groups.apps.deployments import RECREATE, ROLLBACK
from orchtw.simulation.workloads.claiming import Claimer
from orchtw.simulation.workloads.conditions import find
from orchtw.simulation.workloads.deployments import progress
from orchtw.simulation.workloads.deployments.annotations import annotations_of
from orchtw.simulation.workloads.deployments.new_sets import NewSets
from orchtw.simulation.workloads.deployments.proportions import proportional
from orchtw.simulation.workloads.deployments.rollback import Rollback
from orchtw.simulation.workloads.deployments.rolling import rolling_sizes
from orchtw.simulation.workloads.deployments.rollout import Rollout
from orchtw.simulation.workloads.deployments.sets import active, counted, is_rolling, latest, size_of
from orchtw.simulation.workloads.deployments.status import deployment_status
from orchtw.simulation.workloads.deployments.writing import ReplicaSetWriting
from orchtw.simulation.workloads.owners import by_controller, controller_of, orphans_by_namespace
from orchtw.simulation.workloads.pods import ENDED, PodView
from orchtw.simulation.workloads.replica_status import TERMINATING_GATE
from orchtw.simulation.workloads.workload import WARNING, Workload
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

_NO_LIMIT: Final = (1 << 31) - 1


class DeploymentController(Workload):
    """Controller `deployment`, keyed by `namespace/name` of Deployments."""

    name = "deployment"
    account = "deployment-controller"
    component = "deployment-controller"
    plural = "deployments"
    kind = "Deployment"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.sets = world.informer("apps", "replicasets")
        self._of_owner = self.sets.index("controller", by_controller)
        self._orphans = self.sets.index("orphans", orphans_by_namespace)
        self._set_claimer = Claimer(self.client, self.sets, self.owners.resource)
        self._counts_terminating = world.enabled(TERMINATING_GATE)
        self.writing = ReplicaSetWriting(self, self.sets)
        self._new_sets = NewSets(self.writing, self._set_claimer, self.clock.now)
        self._rollback = Rollback(self.writing)
        self.sets.handle(self._set_seen)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informers of pods, ReplicaSets and Deployments."""
        return (self.pods.informer, self.sets, self.owners)

    async def sync_owner(self, key: str, owner: Object) -> float | None:
        """Take the next step of a Deployment's update, and write its status."""
        if self.selector(owner).empty:
            return await self._selects_all(owner)
        rollout = Rollout(owner, await self._claim_sets(owner))
        if owner["metadata"].get("deletionTimestamp"):
            return await self._report_counts(rollout)
        await self._note_pause(rollout)
        if owner["spec"].get("paused"):
            await self._resize(rollout)
            await self._clean_up(rollout)
            return await self._report_counts(rollout)
        if ROLLBACK in annotations_of(owner):
            await self._rollback.run(rollout)
            return None
        if self._is_rescaled(rollout):
            await self._resize(rollout)
            return await self._report_counts(rollout)
        await (self._roll(rollout) if is_rolling(owner) else self._recreate(rollout))
        return await self._report_progress(rollout)

    async def _selects_all(self, deployment: Object) -> float | None:
        """Refuse to work with a selector that is empty."""
        text = "This deployment is selecting all pods. A non-empty selector is required."
        await self.tell(deployment, WARNING, "SelectingAll", text)
        status, generation = deployment.get("status") or {}, deployment["metadata"].get("generation", 0)
        if (status.get("observedGeneration") or 0) < generation:
            await self.write_status(deployment, {**status, "observedGeneration": generation})
        return None

    async def _claim_sets(self, deployment: Object) -> Sequence[Object]:
        """Return the ReplicaSets of a Deployment, after it has adopted and released some."""
        meta, selector = deployment["metadata"], self.selector(deployment)

        def selected(each: Object) -> bool:
            return selector.matches(each["metadata"].get("labels"))

        owned = tuple(self.sets.of(self._of_owner.keys(meta["uid"])))
        if meta.get("deletionTimestamp"):
            return [each for each in owned if selected(each)]
        lost = [_key(each) for each in owned if not selected(each)]
        if lost:
            await self._set_claimer.release(deployment, lost)
        orphans = self.sets.of(self._orphans.keys(meta["namespace"]))
        adopted = [
            _key(each) for each in orphans if selected(each) and not each["metadata"].get("deletionTimestamp")
        ]
        if adopted:
            await self._set_claimer.adopt(deployment, adopted)
        return [each for each in self.sets.of(self._of_owner.keys(meta["uid"])) if selected(each)]

    async def _note_pause(self, rollout: Rollout) -> None:
        """Say in the condition that the update was paused or goes on, so that the deadline does not count on."""
        known = find(rollout.status, progress.PROGRESSING)
        reason = "" if known is None else known.get("reason", "")
        if progress.deadline_s(rollout.deployment) is None or reason == progress.TIMED_OUT:
            return
        paused = bool(rollout.deployment["spec"].get("paused"))
        if paused is (reason == progress.PAUSED):
            return
        reason, text = (progress.PAUSED, "paused") if paused else (progress.RESUMED, "resumed")
        status = progress.with_condition(
            rollout.status, progress.PROGRESSING, "Unknown", reason, f"Deployment is {text}", self.clock.now()
        )
        await self.writing.deployment(rollout, status)

    def _is_rescaled(self, rollout: Rollout) -> bool:
        """Report whether the Deployment's size has changed since its ReplicaSets were sized."""
        wanted, annotations = size_of(rollout.deployment), self.writing.annotations
        known = [annotations.desired_of(each) for each in active(rollout.all)]
        return any(size is not None and size != wanted for size in known)

    async def _resize(self, rollout: Rollout) -> None:
        """Give the ReplicaSets the sizes that follow from the Deployment's, without going on with the update."""
        await self._new_sets.find(rollout)
        wanted, writing = size_of(rollout.deployment), self.writing
        only = latest(rollout.new, rollout.old)
        if only is not None:
            if size_of(only) != wanted:
                await writing.scale(rollout, only, wanted)
        elif self._is_saturated(rollout):
            for each in active(rollout.old):
                await writing.scale(rollout, each, 0)
        elif is_rolling(rollout.deployment):
            for each, size in proportional(rollout.deployment, active(rollout.all), writing.annotations):
                await writing.scale(rollout, each, size)

    def _is_saturated(self, rollout: Rollout) -> bool:
        """Report whether the new ReplicaSet has all pods that there are to be, and they are available."""
        new, wanted = rollout.new, size_of(rollout.deployment)
        return (
            new is not None
            and size_of(new) == wanted
            and self.writing.annotations.desired_of(new) == wanted
            and counted([new], "availableReplicas") == wanted
        )

    async def _roll(self, rollout: Rollout) -> None:
        """Take the next step of an update that keeps pods available."""
        new = await self._new_sets.find_or_create(rollout)
        sizes = rolling_sizes(rollout.deployment, rollout.old, new)
        for each, size in sizes:
            await self.writing.scale(rollout, each, size)
        if not sizes:
            await self._clean_up_if_complete(rollout)

    async def _recreate(self, rollout: Rollout) -> None:
        """Take the next step of an update that ends all old pods first."""
        await self._new_sets.find(rollout)
        running = active(rollout.old)
        for each in running:
            await self.writing.scale(rollout, each, 0)
        if running or self._old_pods_run(rollout):
            return
        new = await self._new_sets.find_or_create(rollout)
        await self.writing.scale(rollout, new, size_of(rollout.deployment))
        await self._clean_up_if_complete(rollout)

    def _old_pods_run(self, rollout: Rollout) -> bool:
        """Report whether pods of old ReplicaSets have not ended, those that are being deleted included."""
        if counted(rollout.old, "replicas"):
            return True
        pods = (pod for each in rollout.old for pod in self.pods.owned(each["metadata"]["uid"]))
        return any(pod.phase not in ENDED for pod in pods)

    async def _clean_up_if_complete(self, rollout: Rollout) -> None:
        if progress.is_complete(rollout.deployment, rollout.status):
            await self._clean_up(rollout)

    async def _clean_up(self, rollout: Rollout) -> None:
        """Delete the oldest revisions beyond those that are to be kept."""
        limit = rollout.deployment["spec"].get("revisionHistoryLimit", _NO_LIMIT)
        kept = [each for each in rollout.old if not each["metadata"].get("deletionTimestamp")]
        if len(kept) <= limit:
            return
        kept.sort(key=self.writing.annotations.revision_of)
        for each in kept[: len(kept) - limit]:
            if _is_idle(each):
                await self.writing.delete(each)

    async def _report_counts(self, rollout: Rollout) -> float | None:
        """Write the counts of pods, without a judgement of progress."""
        await self.writing.deployment(rollout, self._status(rollout))
        return None

    async def _report_progress(self, rollout: Rollout) -> float | None:
        """Write the status; return when to look whether the update has timed out."""
        now = self.clock.now()
        status = progress.with_progress(rollout.deployment, rollout.new, self._status(rollout), now)
        status = progress.with_failures(status, rollout.all, rollout.new)
        await self.writing.deployment(rollout, status)
        return progress.stuck_in_s(rollout.deployment, status, now)

    def _status(self, rollout: Rollout) -> Object:
        return deployment_status(
            rollout.deployment, rollout.all, rollout.new, self.clock.now(), terminating=self._counts_terminating
        )

    def _set_seen(self, old: Item | None, new: Item | None) -> None:
        """Bring back the owner of a changed ReplicaSet, and those that might adopt an orphan."""
        before = None if old is None else self.sets.load(old)
        after = None if new is None else self.sets.load(new)
        for each in (before, after):
            owner = None if each is None else controller_of(each)
            if each is not None and owner is not None and owner["kind"] == self.kind:
                self.queue.add(f"{each['metadata']['namespace']}/{owner['name']}")
        if after is not None and controller_of(after) is None and self.synced:
            self._orphan_seen(after)

    def _orphan_seen(self, orphan: Object) -> None:
        meta = orphan["metadata"]
        for key in self._in_namespace.keys(meta["namespace"]):
            owner = self.owners.get(key)
            if owner is not None and self.selector(owner).matches(meta.get("labels")):
                self.queue.add(key)

    def _pod_seen(self, old: PodView | None, new: PodView | None) -> None:
        """Bring back a Deployment that waits for the end of its old pods."""
        ended = new is None or (new.phase in ENDED and old is not None and old.phase not in ENDED)
        pod = new or old
        if not ended or pod is None or pod.owner_kind != "ReplicaSet":
            return
        owner = self.sets.get(f"{pod.namespace}/{pod.owner_name}")
        reference = None if owner is None else controller_of(owner)
        if reference is None:
            return
        deployment = self.owners.get(f"{pod.namespace}/{reference['name']}")
        if deployment is not None and deployment["spec"]["strategy"].get("type") == RECREATE:
            self.queue.add(f"{pod.namespace}/{reference['name']}")


def _key(obj: Object) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def _is_idle(each: Object) -> bool:
    """Report whether a ReplicaSet neither has pods nor is about to."""
    observed = (each.get("status") or {}).get("observedGeneration") or 0
    has_none = not size_of(each) and not counted([each], "replicas")
    return has_none and observed >= each["metadata"].get("generation", 0)
