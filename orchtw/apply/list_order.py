"""Order of merged lists: as requested by `$setElementOrder`, else as in the live list (reference PATCH-15, PATCH-16).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def is_subsequence(part: Sequence[Any], whole: Sequence[Any]) -> bool:
    """Report whether `part` is a subsequence of `whole`."""
    rest = iter(whole)
    return all(item in rest for item in part)


def in_order(
    merged: list[Any], wanted: Sequence[Any], live: Sequence[Any], identity: Callable[[Any], Any]
) -> list[Any]:
    """Return `merged` with the elements whose identities are in `wanted` in that order.

    The others keep their order; each comes before the first wanted element that it preceded in the `live` list.
    """
    position = {name: place for place, name in reversed(list(enumerate(wanted)))}
    named = [item for item in merged if identity(item) in position]
    others = [item for item in merged if identity(item) not in position]
    named.sort(key=lambda item: position[identity(item)])
    if not others:
        return named
    before = {identity(item): place for place, item in reversed(list(enumerate(live)))}
    out: list[Any] = []
    waiting = iter(others)
    other = next(waiting, None)
    for item in named:
        place = before.get(identity(item))
        while other is not None and place is not None and before.get(identity(other), place) < place:
            out.append(other)
            other = next(waiting, None)
        out.append(item)
    if other is not None:
        out.append(other)
    out.extend(waiting)
    return out
