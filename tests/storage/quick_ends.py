"""Stores in which values may end soon after they are written, for the conformance tests."""

from __future__ import annotations

from typing import Any

from orchtw.storage.memory import store as memory
from orchtw.storage.sqlite import expiry


class QuickEnds:
    """Mixin of conformance tests whose store knows fractions of a second and looks for ends all the time.

    With the second between two looks, which the stores' own tests check, the tests of ends would wait most of their
    time.
    """

    life_s = 0.5

    def setUp(self) -> Any:
        """Shorten the pause, then start the store."""
        case: Any = self
        case.patch(expiry, "PAUSE_S", 0.05)
        case.patch(memory, "EXPIRY_PAUSE_S", 0.05)
        return super().setUp()  # type: ignore[misc]
