"""Rollback of a Deployment by the annotation of older API versions; kubectl itself changes the template."""

from __future__ import annotations

from orchtw.registry.groups.apps.deployments import ROLLBACK
from orchtw.simulation.workloads.deployments.annotations import annotations_of
from orchtw.simulation.workloads.deployments.rollout import Rollout
from orchtw.simulation.workloads.deployments.writing import ReplicaSetWriting
from orchtw.simulation.workloads.hashes import same_template, without_hash
from orchtw.simulation.workloads.workload import NORMAL, WARNING
from orchtw.wire.objects import Object


class Rollback:
    """Gives a Deployment the template of an earlier revision, once."""

    def __init__(self, writing: ReplicaSetWriting) -> None:
        self._writing = writing

    async def run(self, rollout: Rollout) -> None:
        """Go back to the revision that the annotation names, 0: to the last one; then remove the annotation."""
        deployment = rollout.deployment
        text = annotations_of(deployment)[ROLLBACK]
        asked = int(text) if text.lstrip("+-").isdigit() else 0
        found = self._revision(rollout, asked)
        if found is None:
            reason = "DeploymentRollbackRevisionNotFound"
            message = "Unable to find last revision." if not asked else "Unable to find the revision to rollback to."
            await self._finish(rollout, deployment, WARNING, reason, message)
            return
        revision = self._writing.annotations.revision_of(found)
        if same_template(found["spec"]["template"], deployment["spec"]["template"]):
            reason = "DeploymentRollbackTemplateUnchanged"
            message = (
                f"The rollback revision contains the same template as current deployment "
                f'"{deployment["metadata"]["name"]}"'
            )
            await self._finish(rollout, deployment, WARNING, reason, message)
            return
        message = f'Rolled back deployment "{deployment["metadata"]["name"]}" to revision {revision}'
        await self._finish(rollout, self._as(deployment, found), NORMAL, "DeploymentRollback", message)

    def _revision(self, rollout: Rollout, asked: int) -> Object | None:
        """Return the ReplicaSet of a revision, of the one before the latest for 0, or None."""
        numbered = {self._writing.annotations.revision_of(each): each for each in rollout.all}
        if asked:
            return numbered.get(asked)
        known = sorted(revision for revision in numbered if revision)
        return numbered[known[-2]] if len(known) > 1 else None

    def _as(self, deployment: Object, found: Object) -> Object:
        """Return a Deployment with template and annotations of a ReplicaSet."""
        annotations = self._writing.annotations
        meta = {**deployment["metadata"], "annotations": {**annotations.own(deployment), **annotations.copied(found)}}
        template = without_hash(found["spec"]["template"])
        return {**deployment, "metadata": meta, "spec": {**deployment["spec"], "template": template}}

    async def _finish(self, rollout: Rollout, changed: Object, event_type: str, reason: str, message: str) -> None:
        await self._writing.controller.tell(rollout.deployment, event_type, reason, message)
        kept = {key: value for key, value in annotations_of(changed).items() if key != ROLLBACK}
        meta = {**changed["metadata"], "annotations": kept}
        await self._writing.whole_deployment(rollout, {**changed, "metadata": meta})
