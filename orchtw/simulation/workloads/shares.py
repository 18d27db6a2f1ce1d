"""Numbers of pods that may be missing or too many during an update."""

from __future__ import annotations

from orchtw.values.int_or_percent import amount


def share(value: int | str | None, total: int, *, up: bool) -> int:
    """Return a number of pods, or that percentage of `total`, rounded up or down."""
    if isinstance(value, str) and value.endswith("%"):
        hundredths = amount(value) * total
        return -(-hundredths // 100) if up else hundredths // 100
    return amount(value)
