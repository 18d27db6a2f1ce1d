"""Rolling updates: maxUnavailable and maxSurge."""

from __future__ import annotations

from typing import Final

from orchtw.wire.objects import Object

ROLLING: Final = "RollingUpdate"
ON_DELETE: Final = "OnDelete"


def set_rolling_defaults(strategy: Object, max_unavailable: int | str, max_surge: int | str) -> None:
    """Fill in the amounts of a rolling update strategy."""
    if strategy["type"] == ROLLING:
        given = strategy.get("rollingUpdate") or {}
        strategy["rollingUpdate"] = {"maxUnavailable": max_unavailable, "maxSurge": max_surge, **given}
