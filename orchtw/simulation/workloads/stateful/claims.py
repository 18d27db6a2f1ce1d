"""Claims of a StatefulSet's pods: made from templates, and kept or deleted with the pods or the set."""

from __future__ import annotations

from typing import Final

import orjson

from orchtw.client.work_queue import Retry
from orchtw.errors import AlreadyExists, NotFound, StatusError
from orchtw.simulation.workloads.pods import PodView
from orchtw.simulation.workloads.stateful.identity import claim_name, claim_templates, pod_name
from orchtw.simulation.workloads.workload import NORMAL, WARNING, Workload
from orchtw.simulation.world import World
from orchtw.wire.objects import Object

RETENTION_GATE: Final = "StatefulSetAutoDeletePVC"

_DELETE: Final = "Delete"


class StatefulClaims:
    """Makes the claims, and ties them to what they are to go with."""

    def __init__(self, controller: Workload, world: World) -> None:
        self._controller = controller
        self._client = controller.client
        self.informer = world.informer("", "persistentvolumeclaims")
        self._retains = world.enabled(RETENTION_GATE)

    async def create(self, owner: Object, ordinal: int) -> None:
        """Create those claims of a pod that are missing. Raises Retry for one that is being deleted."""
        for template in claim_templates(owner):
            name = claim_name(owner, template, ordinal)
            found = self.informer.get(f"{owner['metadata']['namespace']}/{name}")
            if found is None:
                await self._create(owner, template, name, ordinal)
            elif found["metadata"].get("deletionTimestamp"):
                raise Retry(f"pvc {name} is being deleted")

    def missing(self, owner: Object, ordinal: int) -> bool:
        """Report whether a claim of a pod is not there."""
        return len(self.of(owner, ordinal)) < len(claim_templates(owner))

    def of(self, owner: Object, ordinal: int) -> list[Object]:
        """Return the claims of a pod that are there."""
        namespace = owner["metadata"]["namespace"]
        names = [claim_name(owner, template, ordinal) for template in claim_templates(owner)]
        return list(self.informer.of(f"{namespace}/{name}" for name in names))

    def stale(self, owner: Object, ordinal: int, pod: PodView | None) -> bool:
        """Report whether a claim is to go with an earlier pod of that number."""
        if not self._retains:
            return False
        name, uid = pod_name(owner, ordinal), "" if pod is None else pod.uid
        return any(
            reference["kind"] == "Pod" and reference["name"] == name and reference["uid"] != uid
            for claim in self.of(owner, ordinal)
            for reference in claim["metadata"].get("ownerReferences") or ()
        )

    async def tie(self, owner: Object, ordinal: int, pod: PodView, *, condemned: bool) -> None:
        """Let the claims of a pod go with the pod, with the set, or with neither, as the set's policy says."""
        if not self._retains:
            return
        policy = owner["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
        with_pod = condemned and policy.get("whenScaled") == _DELETE
        with_set = not with_pod and policy.get("whenDeleted") == _DELETE
        wanted = []
        if with_set:
            wanted.append(self._reference(owner))
        if with_pod:
            wanted.append({"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid})
        uids = {owner["metadata"]["uid"], pod.uid}
        for claim in self.of(owner, ordinal):
            await self._tie(claim, uids, wanted)

    async def _tie(self, claim: Object, uids: set[str], wanted: list[Object]) -> None:
        """Give a claim the wanted ones of the references to these uids; those to others stay."""
        meta = claim["metadata"]
        references = meta.get("ownerReferences") or []
        if {each["uid"] for each in references if each["uid"] in uids} == {each["uid"] for each in wanted}:
            return
        others = [each for each in references if each["uid"] not in uids]
        changes = {"metadata": {"uid": meta["uid"], "ownerReferences": [*others, *wanted] or None}}
        try:
            written = await self._client.patch(self.informer.resource, meta["namespace"], meta["name"], changes)
        except NotFound:
            return
        await self.informer.seen(written)

    def _reference(self, owner: Object) -> Object:
        resource, meta = self._controller.owners.resource, owner["metadata"]
        return {
            "apiVersion": resource.api_version, "kind": resource.kind, "name": meta["name"], "uid": meta["uid"],
        }

    async def _create(self, owner: Object, template: Object, name: str, ordinal: int) -> None:
        copied: Object = orjson.loads(orjson.dumps(template))
        meta, namespace = copied["metadata"], owner["metadata"]["namespace"]
        selected = owner["spec"]["selector"].get("matchLabels") or {}
        wanted = {
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": {**(meta.get("labels") or {}), **selected},
                "annotations": meta.get("annotations") or {},
            },
            "spec": copied["spec"],
        }
        subject = f"Claim {name} Pod {pod_name(owner, ordinal)} in StatefulSet {owner['metadata']['name']}"
        try:
            made = await self._client.create(self.informer.resource, namespace, wanted)
        except AlreadyExists:
            return
        except StatusError as error:
            await self._controller.tell(owner, WARNING, "FailedCreate", f"create {subject} failed error: {error}")
            raise
        await self.informer.seen(made)
        await self._controller.tell(owner, NORMAL, "SuccessfulCreate", f"create {subject} success")
