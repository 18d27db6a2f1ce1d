"""Pods as the controllers of workloads see them: a short view of each, found by owner (reference SIM-40)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from orchtw.client.interface import Item
from orchtw.simulation.workloads.owners import controller_of
from orchtw.simulation.world import World
from orchtw.values.times import parse_time
from orchtw.wire.objects import Object

DELETION_COST: Final = "controller.orch.io/pod-deletion-cost"
ENDED: Final = frozenset({"Succeeded", "Failed"})

_NO_LABELS: Final[Mapping[str, str]] = {}
_INT32: Final = 1 << 31


class PodView(msgspec.Struct, frozen=True, kw_only=True):
    """A pod, as far as it matters to the controller that owns it.

    `owner` is the uid of its controller, empty for an orphan. `node` is empty until it has one; `target` is the only
    node on which it may run, or its node. `ready_since` is when it became ready, in seconds of the simulated time,
    None while it is not ready. `created` is RFC 3339 text. `restarts` are the most of one container, `all_restarts`
    those of all containers and init containers.
    """

    key: str
    namespace: str
    name: str
    uid: str
    version: str
    created: str
    labels: Mapping[str, str]
    owner: str
    owner_kind: str
    owner_name: str
    node: str
    target: str
    phase: str
    terminating: bool
    ready_since: float | None
    restarts: int
    all_restarts: int
    deletion_cost: int

    @property
    def ready(self) -> bool:
        """Report whether its condition Ready is true."""
        return self.ready_since is not None

    @property
    def active(self) -> bool:
        """Report whether it has neither ended nor been deleted."""
        return not self.terminating and self.phase not in ENDED

    @property
    def running_and_ready(self) -> bool:
        """Report whether it runs and is ready."""
        return self.phase == "Running" and self.ready

    def available(self, min_ready_s: float, now: float) -> bool:
        """Report whether it has been ready for that long."""
        return self.ready_since is not None and (not min_ready_s or self.ready_since + min_ready_s <= now)

    @property
    def state(self) -> tuple[object, ...]:
        """The part of the pod whose changes controllers react to."""
        return (
            self.phase, self.terminating, self.ready_since, self.node, self.owner, self.labels, self.all_restarts,
        )  # fmt: skip


def view_of(key: str, pod: Object, cost_annotation: str) -> PodView:
    """Return the view of a pod; `cost_annotation` names the cost of its deletion."""
    meta, status = pod["metadata"], pod.get("status") or {}
    owner, node = controller_of(pod) or {}, pod["spec"].get("nodeName") or ""
    return PodView(
        key=key,
        namespace=meta["namespace"],
        name=meta["name"],
        uid=meta["uid"],
        version=meta["resourceVersion"],
        created=meta["creationTimestamp"],
        labels=meta.get("labels") or _NO_LABELS,
        owner=owner.get("uid", ""),
        owner_kind=owner.get("kind", ""),
        owner_name=owner.get("name", ""),
        node=node,
        target=node or _target(pod["spec"]),
        phase=status.get("phase") or "",
        terminating=bool(meta.get("deletionTimestamp")),
        ready_since=_ready_since(status),
        restarts=max(_restarts(status, "containerStatuses"), default=0),
        all_restarts=restarts_of(status),
        deletion_cost=_cost((meta.get("annotations") or {}).get(cost_annotation, "")),
    )


def _state_of(pod: PodView | None) -> tuple[object, ...] | None:
    return None if pod is None else pod.state


def _target(spec: Object) -> str:
    """Return the name of the node that a required affinity demands; empty if there is no such name."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == "metadata.name" and field["operator"] == "In" and len(field["values"]) == 1:
                name: str = field["values"][0]
                return name
    return ""


def restarts_of(status: Object) -> int:
    """Return the number of restarts of all containers and init containers."""
    return sum(sum(_restarts(status, field)) for field in ("containerStatuses", "initContainerStatuses"))


def _restarts(status: Object, field: str) -> Iterator[int]:
    return (each.get("restartCount") or 0 for each in status.get(field) or ())


def _ready_since(status: Object) -> float | None:
    for condition in status.get("conditions") or ():
        if condition["type"] == "Ready":
            if condition["status"] != "True":
                return None
            since = condition.get("lastTransitionTime")
            return float(parse_time(since)[0]) if since else 0.0
    return None


def _cost(text: str) -> int:
    """Return the cost of a pod's deletion; 0 where the annotation is not a number of 32 bits."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 10:
        return 0
    cost = int(text)
    return cost if -_INT32 <= cost < _INT32 else 0


Handler = Callable[[PodView | None, PodView | None], None]


class Pods:
    """Views of all pods, by owner, and orphans by namespace; kept up to date by the shared informer."""

    def __init__(self, world: World) -> None:
        self.informer = world.informer("", "pods")
        self._cost_annotation = world.naming.translate(DELETION_COST)
        self._views: dict[str, PodView] = {}
        self._owned: dict[str, dict[str, PodView]] = {}
        self._orphans: dict[str, dict[str, PodView]] = {}
        self._handlers: list[Handler] = []
        self.informer.handle(self._seen)

    def handle(self, handler: Handler) -> None:
        """Call `handler` with the old and the new view of a pod that comes, goes or changes its `state`.

        To be added before the start.
        """
        self._handlers.append(handler)

    def owned(self, uid: str) -> Sequence[PodView]:
        """Return the pods whose controller has that uid."""
        return tuple(self._owned.get(uid, {}).values())

    def count(self, uid: str) -> int:
        """Return the number of pods whose controller has that uid."""
        return len(self._owned.get(uid, ()))

    def orphans(self, namespace: str) -> Sequence[PodView]:
        """Return the namespace's pods without a controller."""
        return tuple(self._orphans.get(namespace, {}).values())

    def get(self, key: str) -> PodView | None:
        """Return the pod of that key, or None."""
        return self._views.get(key)

    def objects(self, pods: Sequence[PodView]) -> Iterator[Object]:
        """Return the objects of these pods, which are shared."""
        return self.informer.of(pod.key for pod in pods)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        item = new or old
        if item is None:
            return
        before, after = self._views.get(item.key), None
        if before is not None:
            self._drop(before)
        if new is not None:
            after = view_of(new.key, self.informer.load(new), self._cost_annotation)
            self._put(after)
        if _state_of(before) != _state_of(after):  # compared once for all controllers
            for handler in self._handlers:
                handler(before, after)

    def _group(self, pod: PodView) -> tuple[dict[str, dict[str, PodView]], str]:
        return (self._owned, pod.owner) if pod.owner else (self._orphans, pod.namespace)

    def _put(self, pod: PodView) -> None:
        self._views[pod.key] = pod
        groups, name = self._group(pod)
        groups.setdefault(name, {})[pod.key] = pod

    def _drop(self, pod: PodView) -> None:
        del self._views[pod.key]
        groups, name = self._group(pod)
        group = groups[name]
        del group[pod.key]
        if not group:
            del groups[name]
