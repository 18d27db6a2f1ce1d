"""Next sizes of a Deployment's ReplicaSets while an update runs, step by step or all at once."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.simulation.workloads.deployments.sets import (
    active,
    asked,
    by_age,
    counted,
    max_unavailable,
    size_of,
    size_of_new,
)
from orchtw.wire.objects import Object

Sizes = list[tuple[Object, int]]
"""ReplicaSets with the sizes that they are to have."""


def rolling_sizes(deployment: Object, old: Sequence[Object], new: Object) -> Sizes:
    """Return which ReplicaSets are to change now: the new one as far as it may grow, else the old ones.

    Empty while the update has to wait for pods, and at its end.
    """
    size, wanted = size_of(new), size_of(deployment)
    target = wanted if size > wanted else size_of_new(deployment, [*old, new], size)
    if target != size:
        return [(new, target)]
    return _shrunk(deployment, active(old), new)


def _shrunk(deployment: Object, old: Sequence[Object], new: Object) -> Sizes:
    """Return the old ReplicaSets that lose pods: those that are unavailable first, then others, oldest first."""
    least = size_of(deployment) - max_unavailable(deployment)
    spare = asked([*old, new]) - least - (size_of(new) - counted([new], "availableReplicas"))
    if not old or spare <= 0:
        return []
    aged = by_age(old)
    sizes = {each["metadata"]["uid"]: size_of(each) for each in aged}
    for each in aged:
        gone = min(spare, max(0, size_of(each) - counted([each], "availableReplicas")))
        sizes[each["metadata"]["uid"]] -= gone
        spare -= gone
    spare = counted([*old, new], "availableReplicas") - least
    for each in aged:
        gone = min(max(0, spare), sizes[each["metadata"]["uid"]])
        sizes[each["metadata"]["uid"]] -= gone
        spare -= gone
    return [(each, size) for each in aged if (size := sizes[each["metadata"]["uid"]]) != size_of(each)]
