"""Sizes of a Deployment's ReplicaSets when it is scaled in the middle of an update: proportional to what they are."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from orchtw.simulation.workloads.deployments.annotations import Annotations
from orchtw.simulation.workloads.deployments.sets import asked, max_surge, size_of
from orchtw.wire.objects import Object


def proportional(deployment: Object, sets: Sequence[Object], annotations: Annotations) -> list[tuple[Object, int]]:
    """Return the active ReplicaSets with their new sizes, which add up to the Deployment's size and its surge."""
    wanted = size_of(deployment)
    change = (wanted + max_surge(deployment) if wanted > 0 else 0) - asked(sets)
    ordered = _by_size(sets, newest_first=change > 0)
    if not change:
        return [(each, size_of(each)) for each in ordered]
    sizes, changed = [], 0
    for each in ordered:
        part = _part(deployment, each, annotations, change, changed)
        sizes.append(size_of(each) + part)
        changed += part
    if sizes:
        sizes[0] = max(0, sizes[0] + change - changed)
    return list(zip(ordered, sizes, strict=True))


def _by_size(sets: Sequence[Object], *, newest_first: bool) -> list[Object]:
    """Return the largest first; of equal ones the newest, or the oldest."""
    aged = sorted(
        sets,
        key=lambda each: (each["metadata"]["creationTimestamp"] or "", each["metadata"]["name"]),
        reverse=newest_first,
    )
    return sorted(aged, key=size_of, reverse=True)


def _part(deployment: Object, each: Object, annotations: Annotations, change: int, changed: int) -> int:
    """Return how many of the pods of `change` that are left a ReplicaSet gets, or loses."""
    left = change - changed
    if not size_of(each) or not left:
        return 0
    part = _fraction(deployment, each, annotations)
    return min(part, left) if change > 0 else max(part, left)


def _fraction(deployment: Object, each: Object, annotations: Annotations) -> int:
    """Return by how much a ReplicaSet grows if it keeps its part of the Deployment."""
    size, wanted = size_of(each), size_of(deployment)
    if not wanted:
        return -size
    before = annotations.most_of(each)
    if before is None:
        before = (deployment.get("status") or {}).get("replicas") or 0
    return floor(size * (wanted + max_surge(deployment)) / before + 0.5) - size if before else 0
