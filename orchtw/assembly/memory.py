"""The memory that the process has, as the operating system counts it."""

from __future__ import annotations

import resource
import sys
from typing import Final

STATM: Final = "/proc/self/statm"
_PEAK_UNIT: Final = 1 if sys.platform == "darwin" else 1024


def resident_bytes() -> int:
    """Resident memory in bytes; where the system does not tell, the most that there has been."""
    try:
        with open(STATM, "rb", buffering=0) as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _PEAK_UNIT
