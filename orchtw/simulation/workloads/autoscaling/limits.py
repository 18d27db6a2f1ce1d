"""Limits of a change of replicas: stabilization, rates, least and most (reference SIM-53)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import ceil
from typing import Final

import msgspec

from orchtw.wire.objects import Object

DOWN_WINDOW_S: Final = 300.0
"""Time for which the highest of the recommendations counts before there are fewer replicas."""
_KEPT_S: Final = 3600.0
"""Longest window and period that a behaviour may have."""
_READY: Final = ("ReadyForNewScale", "recommended size matches current size")
_WITHIN: Final = ("DesiredWithinRange", "the desired count is within the acceptable range")
_TOO_MANY: Final = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
_TOO_FEW: Final = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
_FAST_UP: Final = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
_FAST_DOWN: Final = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")
_HELD_UP: Final = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)
_HELD_DOWN: Final = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)


class Limited(msgspec.Struct, frozen=True):
    """Replicas after all limits; reasons and messages of the conditions AbleToScale and ScalingLimited."""

    replicas: int
    able: tuple[str, str]
    limit: tuple[str, str]

    @property
    def limited(self) -> bool:
        """Report whether a limit other than stabilization changed the number."""
        return self.limit != _WITHIN


class History:
    """Recommendations and changes of one autoscaler in the last hour; lost when the controller ends."""

    def __init__(self, current: int, now: float) -> None:
        self._recommended: deque[tuple[float, int]] = deque([(now, current)])
        self._changes: deque[tuple[float, int]] = deque()

    def recommend(self, replicas: int, now: float) -> None:
        """Add a recommendation, and drop those older than an hour."""
        self._recommended.append((now, replicas))
        while self._recommended[0][0] < now - _KEPT_S:
            self._recommended.popleft()

    def changed(self, difference: int, now: float) -> None:
        """Add a change of the number of replicas."""
        self._changes.append((now, difference))
        while self._changes[0][0] < now - _KEPT_S:
            self._changes.popleft()

    def recommended(self, window_s: float, now: float) -> list[int]:
        """Return the recommendations of the last seconds."""
        return [replicas for time, replicas in self._recommended if time > now - window_s]

    def before(self, current: int, period_s: float, now: float) -> int:
        """Return the number of replicas that there were so many seconds ago."""
        return current - sum(difference for time, difference in self._changes if time > now - period_s)


def limited(spec: Object, history: History, current: int, desired: int, now: float) -> Limited:
    """Return the replicas that come of those desired, which are added to the history."""
    behavior = spec.get("behavior")
    up, down = ((behavior or {}).get(name) or {} for name in ("scaleUp", "scaleDown"))
    stable, able = _stabilized(history, current, desired, up, down, now)
    history.recommend(desired, now)
    least, most = spec.get("minReplicas", 1), spec["maxReplicas"]
    if behavior is None:
        highest, lowest = max(2 * current, 4), 0
    else:
        highest = _highest(up, history, current, now)
        lowest = _lowest(down, history, current, now)
    if stable > min(most, highest):
        return Limited(min(most, highest), able, _TOO_MANY if most <= highest else _FAST_UP)
    if stable < max(least, lowest):
        return Limited(max(least, lowest), able, _TOO_FEW if least >= lowest else _FAST_DOWN)
    return Limited(stable, able, _WITHIN)


def _stabilized(
    history: History, current: int, desired: int, up: Object, down: Object, now: float
) -> tuple[int, tuple[str, str]]:
    """Return the replicas after stabilization, with the reason and message."""
    up_s, down_s = up.get("stabilizationWindowSeconds") or 0, down.get("stabilizationWindowSeconds")
    lowest = min([desired, *history.recommended(up_s, now)])
    highest = max([desired, *history.recommended(DOWN_WINDOW_S if down_s is None else down_s, now)])
    stable = min(max(current, lowest), highest)
    if stable == desired:
        return stable, _READY
    return stable, _HELD_UP if stable > desired else _HELD_DOWN


def _highest(rules: Object, history: History, current: int, now: float) -> int:
    """Return the most replicas that the policies of scaling up allow."""
    if rules.get("selectPolicy") == "Disabled":
        return current
    proposals = []
    for policy in rules.get("policies") or ():
        start, value = history.before(current, policy["periodSeconds"], now), policy["value"]
        proposals.append(start + value if policy["type"] == "Pods" else ceil(start * (100 + value) / 100))
    return max(current, _chosen(proposals, rules, current, largest=True))


def _lowest(rules: Object, history: History, current: int, now: float) -> int:
    """Return the fewest replicas that the policies of scaling down allow."""
    if rules.get("selectPolicy") == "Disabled":
        return current
    proposals = []
    for policy in rules.get("policies") or ():
        start, value = history.before(current, policy["periodSeconds"], now), policy["value"]
        proposals.append(start - value if policy["type"] == "Pods" else start * (100 - value) // 100)
    return min(current, _chosen(proposals, rules, current, largest=False))


def _chosen(proposals: Sequence[int], rules: Object, current: int, *, largest: bool) -> int:
    """Return the proposal of the policy that allows the most, or the least change."""
    if not proposals:
        return current
    pick = max if largest == (rules.get("selectPolicy") != "Min") else min
    return pick(proposals)
