"""Events of pods, nodes and namespaces, carried into the scheduler's picture and its queue (reference SIM-60)."""

from __future__ import annotations

from typing import Final

from twisted.logger import Logger

from orchtw.client.interface import Item
from orchtw.errors import StatusError
from orchtw.simulation.informers import SharedInformer
from orchtw.simulation.scheduling.cluster import Cluster
from orchtw.simulation.scheduling.decisions import Placement
from orchtw.simulation.scheduling.pending import EVERYTHING, POD_ADDED, POD_GONE, Pending, PendingPods
from orchtw.simulation.scheduling.pod_info import PodInfo, is_over
from orchtw.wire.objects import Object

NAME: Final = "default-scheduler"
"""Name by which pods ask for this scheduler."""


class Observer:
    """Keeps the picture and the queue up to date.

    `trying` are the pods of attempts under way, `placements` those whose nodes are yet to be written.
    """

    _log = Logger()

    def __init__(
        self,
        cluster: Cluster,
        queue: PendingPods,
        nodes: SharedInformer,
        pods: SharedInformer,
        namespaces: SharedInformer,
    ) -> None:
        self.trying: dict[str, Pending] = {}
        self.placements: dict[str, Placement] = {}
        self._cluster = cluster
        self._queue = queue
        self._nodes = nodes
        self._pods = pods
        self._namespaces = namespaces
        nodes.handle(self._node_seen)
        pods.handle(self._pod_seen)
        namespaces.handle(self._namespace_seen)

    def forget_placement(self, key: str) -> Placement | None:
        """Take a placement that will not be written out of the picture; return it."""
        placement = self.placements.pop(key, None)
        if placement is not None:
            self._drop(key)
        return placement

    def _node_seen(self, old: Item | None, new: Item | None) -> None:
        if new is None:
            if old is not None:
                self._cluster.drop_node(old.name)
        elif self._cluster.put_node(self._nodes.load(new)):
            self._queue.event(EVERYTHING)

    def _namespace_seen(self, old: Item | None, new: Item | None) -> None:
        if old is None or new is None:
            return
        before, after = self._namespaces.load(old)["metadata"], self._namespaces.load(new)["metadata"]
        if before.get("labels") != after.get("labels"):
            self._cluster.namespaces_changed()
            self._queue.event(POD_ADDED)

    def _pod_seen(self, old: Item | None, new: Item | None) -> None:
        if new is None:
            if old is not None:
                self._gone(old.key)
            return
        pod = self._pods.load(new)
        before = None if old is None else self._pods.load(old)
        if is_over(pod):
            self._gone(new.key)
        elif pod["spec"].get("nodeName"):
            self._assigned(new.key, pod, before)
        elif _is_ours(pod):
            self._unassigned(new.key, pod, before)
        else:
            self._gone(new.key)

    def _assigned(self, key: str, pod: Object, before: Object | None) -> None:
        """Count a pod on its node; most changes of pods are of no interest here."""
        known = self._cluster.pod(key)
        placement = self.placements.pop(key, None)
        if known is not None and known.node == pod["spec"]["nodeName"] and known.uid == pod["metadata"]["uid"]:
            if placement is not None:
                self._queue.event(POD_ADDED)
                return
            if before is not None and not _differs(before, pod):
                return
        elif known is None:
            self._forget(key)
        info = self._read(pod)
        if known is not None:
            self._cluster.remove(known)
            self._queue.event(POD_GONE)
        if info is not None:
            self._cluster.add(info)
            self._queue.event(POD_ADDED)

    def _unassigned(self, key: str, pod: Object, before: Object | None) -> None:
        """Queue a pod; what it was refused for may have been changed."""
        if key in self.placements:
            return
        info = self._read(pod)
        if info is None:
            return
        self._reserve(key, info)
        if key in self.trying:
            self.trying[key].pod = info
        elif key in self._queue and before is not None and not _differs(before, pod):
            self._queue.refresh(info)
        else:
            self._queue.add(info)

    def _reserve(self, key: str, info: PodInfo) -> None:
        """Keep the room that the queue knows to be reserved for a pod; for a new pod its status says so."""
        known = self.trying.get(key) or self._queue.get(key)
        if known is not None:
            info.nominated = known.pod.nominated
        if info.nominated:
            self._cluster.nominate(info, info.nominated)

    def _gone(self, key: str) -> None:
        """Forget a pod that has ended, is gone, or is no longer for us to schedule."""
        self._forget(key)
        self.placements.pop(key, None)
        if self._cluster.pod(key) is not None:
            self._drop(key)
            self._queue.event(POD_GONE)

    def _forget(self, key: str) -> None:
        """Forget a pod without a node, and the room reserved for it."""
        found = self.trying.pop(key, None) or self._queue.get(key)
        self._queue.remove(key)
        if found is not None and found.pod.nominated:
            self._cluster.nominate(found.pod, "")
            self._queue.event(POD_GONE)

    def _drop(self, key: str) -> None:
        known = self._cluster.pod(key)
        if known is not None:
            self._cluster.remove(known)

    def _read(self, pod: Object) -> PodInfo | None:
        try:
            return PodInfo(pod)
        except StatusError as error:
            self._log.warn("pod {name} cannot be scheduled: {error}", name=pod["metadata"]["name"], error=error)
            return None


def _is_ours(pod: Object) -> bool:
    """Report whether a pod without a node is to be given one."""
    meta, spec = pod["metadata"], pod["spec"]
    if meta.get("deletionTimestamp") or spec.get("schedulingGates"):
        return False
    return bool(spec.get("schedulerName", NAME) == NAME)


def _differs(before: Object, pod: Object) -> bool:
    """Report whether a change of a pod matters to scheduling."""
    old, new = before["metadata"], pod["metadata"]
    return bool(
        old.get("labels") != new.get("labels")
        or old.get("deletionTimestamp") != new.get("deletionTimestamp")
        or old["uid"] != new["uid"]
        or before["spec"] != pod["spec"]
    )
