"""Tolerations that cover others: merging of lists, and checks against a whitelist (reference PLUG-80)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Final

import orjson

from orchtw.wire.objects import Object

MOST: Final = 1000
"""Most tolerations merged at once, in 10 ms; pods have a handful."""

_EQUAL, _EXISTS = "Equal", "Exists"
_TIMED = "NoExecute"

_Place = tuple[str, str, str, str]
"""Key, effect, operator, and value (empty unless the operator compares it)."""


class Cover:
    """Index of tolerations with lookups in constant time; of those that differ only in time the longest counts."""

    def __init__(self, tolerations: Iterable[Object] = ()) -> None:
        self._times: dict[_Place, float] = {}
        for each in tolerations:
            self.add(each)

    def add(self, toleration: Object) -> None:
        """Add a toleration to the index."""
        place = _place(toleration)
        self._times[place] = max(self._times.get(place, -inf), _time(toleration))

    def covers(self, toleration: Object) -> bool:
        """Report whether one of the tolerations covers this one."""
        time_s = inf if (given := toleration.get("tolerationSeconds")) is None else given
        return any(self._times.get(place, -inf) >= time_s for place in _wider(toleration))


def merged(first: Sequence[Object], second: Sequence[Object]) -> list[Object]:
    """Merge both lists, without tolerations that another covers; of equal ones the first stays.

    Raises ValueError for more than MOST.
    """
    if len(first) + len(second) > MOST:
        raise ValueError(f"at most {MOST} tolerations can be merged, not {len(first) + len(second)}")
    once: dict[bytes, Object] = {}
    for each in (*first, *second):
        once.setdefault(orjson.dumps(each, option=orjson.OPT_SORT_KEYS), each)
    later, left = Cover(), []
    for each in reversed(once.values()):
        if not later.covers(each):
            left.append(each)
        later.add(each)
    kept, earlier = [], Cover()
    for each in reversed(left):
        if not earlier.covers(each):
            earlier.add(each)
            kept.append(each)
    return kept


def _place(toleration: Object) -> _Place:
    operator = toleration.get("operator") or _EQUAL
    value = toleration.get("value", "") if operator == _EQUAL else ""
    return toleration.get("key", ""), toleration.get("effect", ""), operator, value


def _time(toleration: Object) -> float:
    """Return the duration of a toleration in seconds: infinite for effects other than NoExecute."""
    given = toleration.get("tolerationSeconds")
    return inf if given is None or toleration.get("effect") != _TIMED else given


def _wider(toleration: Object) -> Iterator[_Place]:
    """Yield the places of tolerations that may cover this one."""
    key, effect, operator, value = _place(toleration)
    effects = {effect, ""}
    for each in effects:
        yield key, each, _EXISTS, ""
        yield "", each, _EXISTS, ""
        if operator == _EQUAL:
            yield key, each, _EQUAL, value
