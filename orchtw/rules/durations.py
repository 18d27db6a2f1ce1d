"""Durations as Go writes them: `32s`, `1h30m`, `1.5h`, `300ms` (supplement A8)."""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_LONGEST_S: Final = 2**63 / 1e9  # a Go duration counts nanoseconds in 64 bits


def parse_duration(text: str) -> float | None:
    """`text` in seconds, or None when it is no duration or too long for one."""
    sign = -1.0 if text.startswith("-") else 1.0
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0.0
    total, at = 0.0, 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None:
            return None
        total += float(part[1]) * _UNITS[part[2]]
        at = part.end()
    return sign * total if rest and total < _LONGEST_S else None
