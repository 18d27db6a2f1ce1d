"""The ReplicaSet of a Deployment's present template: found, numbered, or made."""

from __future__ import annotations

from collections.abc import Callable

from orchtw.client.namespace_end import ends_with_namespace
from orchtw.client.work_queue import Retry
from orchtw.errors import AlreadyExists, StatusError
from orchtw.simulation.workloads.claiming import Claimer
from orchtw.simulation.workloads.conditions import find
from orchtw.simulation.workloads.deployments import progress
from orchtw.simulation.workloads.deployments.annotations import annotations_of
from orchtw.simulation.workloads.deployments.rollout import Rollout
from orchtw.simulation.workloads.deployments.sets import size_of_new
from orchtw.simulation.workloads.deployments.writing import ReplicaSetWriting
from orchtw.simulation.workloads.hashes import TEMPLATE_HASH, hash_of, same_template
from orchtw.simulation.workloads.owners import controller_of
from orchtw.simulation.workloads.workload import WARNING
from orchtw.wire.objects import Object


class NewSets:
    """Finds and makes new ReplicaSets; `now` returns the simulated time in seconds since the epoch."""

    def __init__(self, writing: ReplicaSetWriting, claimer: Claimer, now: Callable[[], float]) -> None:
        self._writing = writing
        self._claimer = claimer
        self._client = writing.controller.client
        self._now = now

    async def find(self, rollout: Rollout) -> None:
        """Give the new ReplicaSet, if there is one, the next revision, and the Deployment the same."""
        new = rollout.new
        if new is None:
            return
        deployment, annotations = rollout.deployment, self._writing.annotations
        wanted = annotations.of_new_set(deployment, new, annotations.latest_revision(rollout.old) + 1)
        min_ready_s = deployment["spec"].get("minReadySeconds") or 0
        if wanted != annotations_of(new) or (new["spec"].get("minReadySeconds") or 0) != min_ready_s:
            await self._writing.replace_set(rollout, new, wanted, {**new["spec"], "minReadySeconds": min_ready_s})
        text = f'Found new replica set "{new["metadata"]["name"]}"'
        known = find(rollout.status, progress.PROGRESSING)
        await self._note(rollout, wanted.get(annotations.revision, ""), progress.FOUND if known is None else "", text)

    async def find_or_create(self, rollout: Rollout) -> Object:
        """Return the new ReplicaSet. Raises Retry after a collision of names, and what a create raises."""
        if rollout.new is not None:
            await self.find(rollout)
            return rollout.new
        revision = self._writing.annotations.latest_revision(rollout.old) + 1
        wanted = self._wanted(rollout, revision)
        made, reason = await self._create(rollout, wanted), progress.CREATED
        if made is None:
            made, reason = await self._existing(rollout, wanted), ""
        rollout.made(made)
        size, name = wanted["spec"]["replicas"], made["metadata"]["name"]
        if size and reason:
            await self._writing.tell_scaled(rollout, made, size, "up")
        await self._note(rollout, str(revision), reason, f'Created new replica set "{name}"')
        return made

    async def _create(self, rollout: Rollout, wanted: Object) -> Object | None:
        """Create the ReplicaSet; None: its name is taken. Raises StatusError, of which the Deployment tells."""
        sets = self._writing.sets
        namespace = wanted["metadata"]["namespace"]
        try:
            made = await self._client.create(sets.resource, namespace, wanted)
        except AlreadyExists:
            return None
        except StatusError as error:
            if not ends_with_namespace(error):
                await self._tell_failure(rollout, wanted["metadata"]["name"], error)
            raise
        await sets.seen(made)
        return made

    async def _tell_failure(self, rollout: Rollout, name: str, error: StatusError) -> None:
        text, reason = f'Failed to create new replica set "{name}": {error}', progress.NOT_CREATED
        if progress.deadline_s(rollout.deployment) is not None:
            status = progress.with_condition(
                rollout.status, progress.PROGRESSING, "False", reason, text, self._now()
            )
            await self._writing.deployment(rollout, status)
        await self._writing.controller.tell(rollout.deployment, WARNING, reason, text)

    async def _existing(self, rollout: Rollout, wanted: Object) -> Object:
        """Return the ReplicaSet that has the name. Raises Retry if it is another one: the next name differs."""
        meta = wanted["metadata"]
        live = await self._client.get(self._writing.sets.resource, meta["namespace"], meta["name"])
        owner = controller_of(live)
        is_own = owner is not None and owner["uid"] == rollout.deployment["metadata"]["uid"]
        if is_own and same_template(live["spec"]["template"], wanted["spec"]["template"]):
            return live
        collisions = (rollout.status.get("collisionCount") or 0) + 1
        await self._writing.deployment(rollout, {**rollout.status, "collisionCount": collisions})
        raise Retry(f"ReplicaSet {meta['name']} exists already, and is another one")

    def _wanted(self, rollout: Rollout, revision: int) -> Object:
        """Return the ReplicaSet to create."""
        deployment = rollout.deployment
        spec, meta = deployment["spec"], deployment["metadata"]
        template, selector = spec["template"], spec["selector"]
        digest = hash_of(template, rollout.status.get("collisionCount"))
        labels = {**(template["metadata"].get("labels") or {}), TEMPLATE_HASH: digest}
        selected = {**(selector.get("matchLabels") or {}), TEMPLATE_HASH: digest}
        size = size_of_new(deployment, rollout.all, 0)
        return {
            "metadata": {
                "name": f"{meta['name']}-{digest}",
                "namespace": meta["namespace"],
                "labels": labels,
                "annotations": self._writing.annotations.of_new_set(deployment, None, revision),
                "ownerReferences": [self._claimer.reference(deployment)],
            },
            "spec": {
                "replicas": size,
                "minReadySeconds": spec.get("minReadySeconds") or 0,
                "selector": {**selector, "matchLabels": selected},
                "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
            },
        }

    async def _note(self, rollout: Rollout, revision: str, reason: str, message: str) -> None:
        """Give the Deployment its revision and, with a reason, the condition that its new ReplicaSet is known."""
        annotations, status = self._writing.annotations, rollout.status
        wanted = dict(annotations_of(rollout.deployment))
        if revision:
            wanted[annotations.revision] = revision
        if reason and progress.deadline_s(rollout.deployment) is not None:
            status = progress.with_condition(status, progress.PROGRESSING, "True", reason, message, self._now())
        await self._writing.deployment(rollout, status, wanted)
