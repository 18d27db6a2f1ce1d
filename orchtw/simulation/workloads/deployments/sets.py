"""ReplicaSets of a Deployment: the one of its template, older ones, and how many pods they have and may have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from orchtw.simulation.workloads.hashes import same_template
from orchtw.simulation.workloads.shares import share
from orchtw.wire.objects import Object

ROLLING: Final = "RollingUpdate"


def by_age(sets: Iterable[Object]) -> list[Object]:
    """Return the ReplicaSets, the oldest first."""
    return sorted(sets, key=lambda each: (each["metadata"]["creationTimestamp"] or "", each["metadata"]["name"]))


def new_set(deployment: Object, sets: Iterable[Object]) -> Object | None:
    """Return the ReplicaSet of the Deployment's template, the oldest if there are several, or None."""
    template = deployment["spec"]["template"]
    return next((each for each in by_age(sets) if same_template(each["spec"]["template"], template)), None)


def others(sets: Iterable[Object], new: Object | None) -> list[Object]:
    """Return the ReplicaSets but the new one."""
    return [each for each in sets if new is None or each["metadata"]["uid"] != new["metadata"]["uid"]]


def size_of(each: Object) -> int:
    """Return the number of pods that a ReplicaSet or a Deployment asks for."""
    replicas: int = each["spec"].get("replicas", 1)
    return replicas


def active(sets: Iterable[Object]) -> list[Object]:
    """Return the ReplicaSets that ask for pods."""
    return [each for each in sets if size_of(each) > 0]


def asked(sets: Iterable[Object]) -> int:
    """Return the number of pods that ReplicaSets ask for."""
    return sum(map(size_of, sets))


def counted(sets: Iterable[Object | None], field: str) -> int:
    """Return the sum of a count in their statuses."""
    return sum((each.get("status") or {}).get(field) or 0 for each in sets if each is not None)


def is_rolling(deployment: Object) -> bool:
    """Report whether the Deployment replaces its pods step by step."""
    return bool(deployment["spec"]["strategy"].get("type") == ROLLING)


def _margins(deployment: Object) -> tuple[int, int]:
    """Return how many pods may be too many and unavailable: one at least."""
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    total = size_of(deployment)
    surge = share(rolling.get("maxSurge"), total, up=True)
    unavailable = share(rolling.get("maxUnavailable"), total, up=False)
    return surge, 1 if not surge and not unavailable else unavailable


def max_surge(deployment: Object) -> int:
    """Return how many pods there may be beyond the desired number."""
    return _margins(deployment)[0] if is_rolling(deployment) else 0


def max_unavailable(deployment: Object) -> int:
    """Return how many of the desired pods may be unavailable."""
    total = size_of(deployment)
    return min(_margins(deployment)[1], total) if is_rolling(deployment) else 0


def size_of_new(deployment: Object, sets: Iterable[Object], new_size: int) -> int:
    """Return the size up to which the new ReplicaSet may grow now; `sets` are all, with the new one of `new_size`."""
    wanted = size_of(deployment)
    if not is_rolling(deployment):
        return wanted
    room = wanted + max_surge(deployment) - asked(sets)
    return new_size + min(room, wanted - new_size) if room > 0 else new_size


def latest(new: Object | None, old: Sequence[Object]) -> Object | None:
    """Return the one ReplicaSet to scale: the only active one; if none is, the new or else the youngest one.

    None if several are active, or if there is no ReplicaSet.
    """
    found = active([*old, *([] if new is None else [new])])
    if len(found) == 1:
        return found[0]
    if found:
        return None
    if new is not None:
        return new
    return by_age(old)[-1] if old else None
