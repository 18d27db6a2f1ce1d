"""Volumes of a pod: where they are, and whether they can be had on a node (reference SIM-66)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import attrs

from orchtw.naming.naming import Naming
from orchtw.simulation.scheduling import reasons
from orchtw.simulation.scheduling.node_info import NodeInfo
from orchtw.simulation.scheduling.pod_info import PodInfo
from orchtw.simulation.scheduling.reasons import Refusal
from orchtw.simulation.scheduling.static_volumes import Choice, StaticVolumes, fits_volume
from orchtw.wire.objects import Object

Find = Callable[[str], Object | None]

_ELSEWHERE: Final = Refusal(reasons.VOLUME_BINDING, ("node(s) had volume node affinity conflict",), lasting=True)
_OTHER_ZONE: Final = Refusal(reasons.VOLUME_ZONE, ("node(s) had no available volume zone",), lasting=True)
_NO_VOLUME: Final = Refusal(
    reasons.VOLUME_BINDING, ("node(s) didn't find available persistent volumes to bind",), lasting=True
)
_IN_USE: Final = Refusal(
    reasons.VOLUME_RESTRICTIONS,
    ("node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",),
)
_UNBOUND: Final = "pod has unbound immediate PersistentVolumeClaims"
_WAITS: Final = "WaitForFirstConsumer"
_ONE_POD: Final = "ReadWriteOncePod"
_ZONES: Final = (
    "topology.orch.io/zone", "topology.orch.io/region", "failure-domain.beta.orch.io/zone",
    "failure-domain.beta.orch.io/region",
)  # fmt: skip


@attrs.frozen(slots=True)
class VolumeSources:
    """Lookups of claims (`namespace/name`), volumes and classes by key, and of the volumes of a class."""

    claim: Find
    volume: Find
    storage_class: Find
    of_class: Callable[[str], Sequence[Object]]
    users: Callable[[str], int]
    """Number of pods on nodes that use a claim."""


class VolumeFilter:
    """Filter by the claims of one pod. `refusal` is the reason why no node will do, if there is one."""

    def __init__(self, pod: PodInfo, sources: VolumeSources, naming: Naming) -> None:
        self._sources = sources
        self._naming = naming
        self._zones = tuple(naming.translate(each) for each in _ZONES)
        self._selected = naming.translate("volume.orch.io/selected-node")
        self._volumes: list[Object] = []
        self._unbound: list[Object] = []
        self._exclusive: list[str] = []
        self.refusal = self._read(pod)
        self._static = StaticVolumes(self._unbound, sources.of_class)

    def _read(self, pod: PodInfo) -> Refusal | None:
        """Sort the claims by what is to be done about them; return why the pod fits no node."""
        for name, ephemeral in pod.claims:
            key = f"{pod.namespace}/{name}"
            claim = self._sources.claim(key)
            text = _missing(pod, name, claim, ephemeral=ephemeral)
            if text is None and claim is not None:
                text = self._sort(key, claim)
            if text is not None:
                return Refusal(reasons.VOLUME_BINDING, (text,), lasting=True)
        return None

    def _sort(self, key: str, claim: Object) -> str | None:
        spec = claim["spec"]
        if _ONE_POD in (spec.get("accessModes") or ()) and self._sources.users(key):
            self._exclusive.append(key)
        if spec.get("volumeName") and is_bound(claim, self._naming):
            volume = self._sources.volume(spec["volumeName"])
            if volume is None:
                return _lost(claim)
            self._volumes.append(volume)
            return None
        if not self._waits(claim):
            return _UNBOUND
        self._unbound.append(claim)
        return None

    def _waits(self, claim: Object) -> bool:
        """Report whether a claim waits for its first pod to be scheduled."""
        found = self._sources.storage_class(claim["spec"].get("storageClassName") or "")
        return found is not None and found.get("volumeBindingMode") == _WAITS

    def check(self, node: NodeInfo) -> Refusal | None:
        """Return why the pod does not fit the node."""
        if self._exclusive:
            return _IN_USE
        for volume in self._volumes:
            if not fits_volume(volume, node):
                return _ELSEWHERE
        if self.choice(node) is None:
            return _NO_VOLUME
        if any(not self._in_zone(volume, node) for volume in self._volumes):
            return _OTHER_ZONE
        return None

    def choice(self, node: NodeInfo) -> Choice | None:
        """Return the volumes for the unbound claims on a node, None if they cannot be had there."""
        if not self._unbound:
            return Choice((), ())
        return self._static.choose(node, lambda claim: self._can_provision(claim, node))

    def _can_provision(self, claim: Object, node: NodeInfo) -> bool:
        selected = (claim["metadata"].get("annotations") or {}).get(self._selected)
        if selected and selected != node.name:
            return False
        found = self._sources.storage_class(claim["spec"].get("storageClassName") or "") or {}
        if found.get("provisioner") == self._naming.translate("orch.io/no-provisioner"):
            return False
        topologies = found.get("allowedTopologies")
        return not topologies or any(_in_topology(each, node.labels) for each in topologies)

    def _in_zone(self, volume: Object, node: NodeInfo) -> bool:
        labels = volume["metadata"].get("labels") or {}
        return all(node.labels.get(key) in labels[key].split("__") for key in self._zones if key in labels)


def is_bound(claim: Object, naming: Naming) -> bool:
    """Report whether a claim is fully bound."""
    annotations = claim["metadata"].get("annotations") or {}
    completed = naming.translate("pv.orch.io/bind-completed") in annotations
    return completed or (claim.get("status") or {}).get("phase") == "Bound"


def _missing(pod: PodInfo, name: str, claim: Object | None, *, ephemeral: bool) -> str | None:
    """Return what is wrong with a claim."""
    if claim is None:
        if ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        return f'persistentvolumeclaim "{name}" not found'
    meta = claim["metadata"]
    if ephemeral and not any(each["uid"] == pod.uid for each in meta.get("ownerReferences") or ()):
        return f'PVC "{pod.namespace}/{name}" was not created for pod "{pod.key}" (pod is not owner)'
    if (claim.get("status") or {}).get("phase") == "Lost":
        return _lost(claim)
    if meta.get("deletionTimestamp"):
        return f'persistentvolumeclaim "{name}" is being deleted'
    return None


def _lost(claim: Object) -> str:
    name, volume = claim["metadata"]["name"], claim["spec"].get("volumeName", "")
    return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'


def _in_topology(term: Object, labels: Mapping[str, str]) -> bool:
    return all(labels.get(each["key"]) in each["values"] for each in term.get("matchLabelExpressions") or ())
