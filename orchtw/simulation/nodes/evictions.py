"""When a pod has to leave a node whose taints evict (reference SIM-13)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from orchtw.wire.objects import Object


def tolerates(toleration: Object, taint: Object) -> bool:
    """Report whether a toleration is one of this taint."""
    effect, key = toleration.get("effect"), toleration.get("key")
    if (effect and effect != taint["effect"]) or (key and key != taint["key"]):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(key) and toleration.get("value", "") == (taint.get("value") or "")


def stay_s(tolerations: Sequence[Object], taints: Iterable[Object]) -> float:
    """Return the seconds for which a pod may stay under these taints: 0, a number, or infinity."""
    longest = inf
    for taint in taints:
        matching = [each for each in tolerations if tolerates(each, taint)]
        if not matching:
            return 0.0
        for each in matching:
            seconds = each.get("tolerationSeconds")
            if seconds is not None:
                longest = min(longest, max(0.0, float(seconds)))
    return longest
