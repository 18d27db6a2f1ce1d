"""Frames that closures run on: values of variables, and the remaining steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from orchtw.schema.cel.faults import CostExceeded

Frame = list[Any]
"""`self`, `oldSelf`, the steps that are left, the matchers of patterns that are written out, by pattern, and the
variables of macros, the outer ones first.
"""

Run = Callable[[Frame], Any]

STEPS: Final = 2
PATTERNS: Final = 3
FIRST_VARIABLE: Final = 4


def charge(frame: Frame, steps: int) -> None:
    """Take steps before they are gone. Raises CostExceeded."""
    frame[STEPS] -= steps
    if frame[STEPS] < 0:
        raise CostExceeded
