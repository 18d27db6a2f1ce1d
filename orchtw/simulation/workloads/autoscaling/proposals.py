"""Numbers of replicas that one metric asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Final

import msgspec

from orchtw.simulation.workloads.autoscaling.samples import NoSample, Sample

TOLERANCE: Final = 0.1


class Tolerance(msgspec.Struct, frozen=True):
    """Deviations from the target, up and down, that change nothing."""

    up: float = TOLERANCE
    down: float = TOLERANCE

    def covers(self, ratio: float) -> bool:
        """Report whether a ratio of use to target is near enough to 1."""
        return 1 - self.down <= ratio <= 1 + self.up


def by_pods(
    current: int,
    found: Sample,
    ratio_of: Callable[[Mapping[str, int]], float],
    full: Callable[[str], int],
    tolerance: Tolerance,
) -> int:
    """Return the replicas for values of pods.

    `ratio_of` is that of use to target; `full` the value of a pod of unknown use that is not to be scaled away.
    Pods of unknown use, or not ready, make the change smaller, never turn it round. Raises NoSample.
    """
    ready = found.ready
    if not ready:
        raise NoSample("did not receive metrics for any ready pods")
    ratio = ratio_of(ready)
    rises = ratio > 1 and bool(found.unready)
    if not rises and not found.missing:
        return current if tolerance.covers(ratio) else ceil(ratio * len(ready))
    filled = dict(ready)
    if ratio < 1:
        filled |= {name: full(name) for name in found.missing}
    elif ratio > 1:
        filled |= dict.fromkeys(found.missing, 0)
    if rises:
        filled |= dict.fromkeys(found.unready, 0)
    tempered = ratio_of(filled)
    if tolerance.covers(tempered) or (ratio < 1 < tempered) or (ratio > 1 > tempered):
        return current
    count = ceil(tempered * len(filled))
    turned = count > current if tempered < 1 else count < current
    return current if turned else count


def by_value(current: int, ready: int, value: int, target: int, tolerance: Tolerance) -> int:
    """Return the replicas for one value of all pods together."""
    ratio = value / target
    return current if tolerance.covers(ratio) else ceil(ratio * ready)


def by_average(current: int, value: int, target: int, tolerance: Tolerance) -> int:
    """Return the replicas for one value that is shared by the pods."""
    if current and tolerance.covers(value / (target * current)):
        return current
    return ceil(value / target)
