"""Room for what is about to be made: where addresses are limited, some libraries crash rather than say so."""

from __future__ import annotations

from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Final

_UNUSED: Final = MAP_PRIVATE | MAP_ANONYMOUS
_NO_ACCESS: Final = 0

MOST_BYTES: Final = 256 << 20
"""Most memory requested at once: no single piece of work takes more."""


def check_room(size: int) -> None:
    """Find out whether the process may have so many bytes more, in microseconds: nothing of them is touched.

    Raises MemoryError.
    """
    try:
        mmap(-1, min(size, MOST_BYTES), flags=_UNUSED, prot=_NO_ACCESS).close()
    except OSError:
        raise MemoryError(f"no room for {size} bytes") from None
