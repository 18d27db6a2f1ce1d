"""Effort of functions, measured in calls and comparisons.

The measures are the same on every machine, under every load.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

MOST = 2.5
"""Times the calls for twice the input: 2 is linear, 4 is all pairs."""


class CountedText(str):
    """A text that counts how often it is compared, whichever side it is on."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        self.comparisons += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


def calls(act: Callable[[], object]) -> int:
    """Return the number of Python and C functions that `act` calls; an exception ends the count."""
    count = 0

    def note(frame: Any, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        act()
    except Exception:  # noqa: BLE001 - a refusal is an outcome as any other
        pass
    finally:
        sys.setprofile(None)
    return count


def growth(act: Callable[[int], object], size: int) -> float:
    """Return the ratio of the calls for twice `size` to those for `size`, with warm caches."""
    act(2 * size)
    return calls(lambda: act(2 * size)) / max(1, calls(lambda: act(size)))
