"""Hidden metrics: those that an earlier release deprecated (reference METRIC-3, METRIC-4)."""

from __future__ import annotations


def is_hidden(deprecated_since: str, release: tuple[int, int]) -> bool:
    """Report whether a server of `release`, major and minor, hides a metric unless `/metrics` shows hidden ones.

    `deprecated_since` is the release that deprecated it, such as "1.23.0", or empty.
    """
    if not deprecated_since:
        return False
    major, minor, _ = deprecated_since.split(".")
    return (int(major), int(minor)) < release
