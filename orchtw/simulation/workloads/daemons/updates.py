"""Pods of a DaemonSet that a rolling update deletes next, and nodes that get their new pod before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchtw.registry.groups.apps.rolling_updates import ROLLING
from orchtw.simulation.workloads.daemons.template import is_updated
from orchtw.simulation.workloads.pods import PodView
from orchtw.simulation.workloads.shares import share
from orchtw.wire.objects import Object


def margins(owner: Object, desired: int) -> tuple[int, int]:
    """Return how many nodes may have two pods, and how many none, of those that should have one."""
    strategy = owner["spec"]["updateStrategy"]
    if strategy.get("type") != ROLLING:
        return 0, 0
    rolling = strategy.get("rollingUpdate") or {}
    surge = share(rolling.get("maxSurge"), desired, up=True)
    unavailable = share(rolling.get("maxUnavailable"), desired, up=True)
    return surge, 1 if not surge and not unavailable else unavailable


def next_steps(
    owner: Object, by_node: Mapping[str, Sequence[PodView]], desired: int, digest: str, now: float
) -> tuple[list[PodView], list[str]]:
    """Return the pods to delete and the nodes to give a new pod now."""
    surge, unavailable = margins(owner, desired)
    if surge:
        return _surge(owner, by_node, surge, digest, now)
    return _replace(owner, by_node, unavailable, digest, now), []


def _pair(owner: Object, pods: Sequence[PodView], digest: str) -> tuple[PodView | None, PodView | None] | None:
    """Return the new and the old pod of a node; None: there are several of one kind."""
    present = [pod for pod in pods if not pod.terminating]
    new = [pod for pod in present if is_updated(owner, pod, digest)]
    old = [pod for pod in present if not is_updated(owner, pod, digest)]
    if len(new) > 1 or len(old) > 1:
        return None
    return (new[0] if new else None), (old[0] if old else None)


def _replace(
    owner: Object, by_node: Mapping[str, Sequence[PodView]], most: int, digest: str, now: float
) -> list[PodView]:
    """Return old pods that are unavailable anyway, and as many others as may become so."""
    min_ready_s = owner["spec"].get("minReadySeconds") or 0
    unavailable, free, others = 0, [], []
    for pods in by_node.values():
        pair = _pair(owner, pods, digest)
        new, old = (None, None) if pair is None else pair
        if (new is None) is (old is None):  # about to be put in order, or to get its pod
            unavailable += 1
        elif old is None:
            unavailable += not (new is not None and new.available(min_ready_s, now))
        elif not old.available(min_ready_s, now):
            free.append(old)
            unavailable += 1
        else:
            others.append(old)
    return [*free, *others[: max(0, most - unavailable)]]


def _surge(
    owner: Object, by_node: Mapping[str, Sequence[PodView]], most: int, digest: str, now: float
) -> tuple[list[PodView], list[str]]:
    """Return old pods whose successor is available, and nodes that get a second pod."""
    min_ready_s = owner["spec"].get("minReadySeconds") or 0
    surging, gone = 0, []
    free: list[str] = []
    others: list[str] = []
    for node, pods in by_node.items():
        pair = _pair(owner, pods, digest)
        if pair is None:
            surging += 1
            continue
        new, old = pair
        if old is None:
            continue
        if new is None:
            (others if old.available(min_ready_s, now) else free).append(node)
        elif not old.available(min_ready_s, now) or new.available(min_ready_s, now):
            gone.append(old)
        else:
            surging += 1
    return gone, [*free, *others[: max(0, most - surging)]]
