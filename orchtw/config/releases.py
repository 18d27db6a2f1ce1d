"""Releases of the API that this server knows: 1.24, whose behaviour it has, to the newest with additions."""

from __future__ import annotations

from typing import Final

Release = tuple[int, int]
"""Release of the API as (major, minor)."""
FIRST: Final[Release] = (1, 24)
LAST: Final[Release] = (1, 36)
RELEASES: Final = tuple(f"{FIRST[0]}.{minor}" for minor in range(FIRST[1], LAST[1] + 1))
"""Values of `--emulated-version` and `--report-release`, oldest first."""
OLDEST: Final = RELEASES[0]
NEWEST: Final = RELEASES[-1]


def release_of(text: str) -> Release:
    """Return a release such as `1.30` as (1, 30); unknown ones, which the flags' checks refuse, as the newest."""
    return (FIRST[0], int(text.partition(".")[2])) if text in RELEASES else LAST
