"""Facts about a node and what its pods take of it, kept up to date pod by pod (reference SIM-61)."""

from __future__ import annotations

from collections import Counter
from typing import Final

from orchtw.quota.amounts import amounts
from orchtw.simulation.scheduling.pod_info import PodInfo, Port, Resources, Shape, whole
from orchtw.simulation.scheduling.tallies import shift
from orchtw.simulation.scheduling.terms import NO_LABELS, Labels
from orchtw.wire.objects import Object

_SOFT: Final = "PreferNoSchedule"

_UNKNOWN_ROOM: Final[tuple[Shape | None, bool]] = (None, False)
_UNKNOWN_SCORE: Final[tuple[Shape | None, float]] = (None, 0.0)

Facts = tuple[Labels, Resources, bool, tuple[Object, ...], tuple[Object, ...]]


class NodeInfo:
    """A node with its pods. `present` is False where there are pods of a node that is not, or no longer, there.

    `has_room` and `free_score` hold the verdict about the pod that was looked at last: of many pods that are alike,
    each changes one node, and the others need not be computed again.
    """

    __slots__ = (
        "allocatable", "controllers", "free_score", "has_room", "labels", "most_pods", "name", "nominated", "pods",
        "ports", "present", "score_cpu", "score_memory", "soft_taints", "taints", "unschedulable", "used", "zone",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.present = False
        self.labels: Labels = NO_LABELS
        self.zone = ""
        self.allocatable: Resources = {}
        self.most_pods = 0
        self.unschedulable = False
        self.taints: tuple[Object, ...] = ()
        """Taints that keep pods away."""
        self.soft_taints: tuple[Object, ...] = ()
        self.pods: dict[str, PodInfo] = {}
        self.nominated: dict[str, PodInfo] = {}
        """Pods that wait for room here, for which others have been preempted."""
        self.used: Counter[str] = Counter()
        self.score_cpu = 0
        self.score_memory = 0
        self.ports: Counter[Port] = Counter()
        self.controllers: Counter[str] = Counter()
        """Numbers of pods by the uid of their controller."""
        self.has_room: tuple[Shape | None, bool] = _UNKNOWN_ROOM
        """Shape of pods that was looked at last; true if the node has the resources that it requests."""
        self.free_score: tuple[Shape | None, float] = _UNKNOWN_SCORE
        """Score of the resources for a pod of that shape."""

    @property
    def facts(self) -> Facts:
        """Return all that is the node's own, to be compared."""
        return self.labels, self.allocatable, self.unschedulable, self.taints, self.soft_taints

    def update(self, node: Object) -> None:
        """Take in the node itself."""
        spec, status = node["spec"], node.get("status") or {}
        taints = spec.get("taints") or ()
        self.present = True
        self.labels = node["metadata"].get("labels") or NO_LABELS
        self.allocatable = whole(amounts(status.get("allocatable")))
        self.most_pods = self.allocatable.get("pods", 0)
        self.unschedulable = bool(spec.get("unschedulable"))
        self.taints = tuple(each for each in taints if each["effect"] != _SOFT)
        self.soft_taints = tuple(each for each in taints if each["effect"] == _SOFT)
        self._forget_verdicts()

    def add(self, pod: PodInfo) -> None:
        """Count a pod on the node."""
        self.pods[pod.key] = pod
        self._count(pod, 1)

    def remove(self, pod: PodInfo) -> None:
        """Count a pod no longer."""
        del self.pods[pod.key]
        self._count(pod, -1)

    def _forget_verdicts(self) -> None:
        self.has_room, self.free_score = _UNKNOWN_ROOM, _UNKNOWN_SCORE

    def _count(self, pod: PodInfo, sign: int) -> None:
        self._forget_verdicts()
        used = self.used
        for name, amount in pod.requests.items():
            used[name] += sign * amount
        self.score_cpu += sign * pod.score_cpu
        self.score_memory += sign * pod.score_memory
        for port in pod.ports:
            shift(self.ports, port, sign)
        if pod.controller:
            shift(self.controllers, pod.controller, sign)
