"""Cache of the authorization webhook's decisions (reference AUTHZ-35)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from orchtw.authz.decision import Decision

MAX_DECISIONS: Final = 8192
MAX_REASON: Final = 1000
"""Longest reason and error of a cached decision, in characters, to bound the cache's memory."""


class Remembered:
    """LRU cache of decisions by key, each with its own lifetime."""

    def __init__(self, seconds: Callable[[], float], limit: int = MAX_DECISIONS) -> None:
        self._seconds = seconds
        self._limit = limit
        self._kept: dict[bytes, tuple[float, Decision]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: bytes) -> Decision | None:
        """Return the decision, or None if it is not cached or has expired."""
        found = self._kept.pop(key, None)
        if found is None or found[0] <= self._seconds():
            return None
        self._kept[key] = found
        return found[1]

    def keep(self, key: bytes, decision: Decision, for_s: float) -> None:
        """Cache a decision for `for_s` seconds; 0 caches nothing."""
        if for_s <= 0 or len(decision.reason) + len(decision.error) > MAX_REASON:
            return
        self._kept.pop(key, None)
        while len(self._kept) >= self._limit:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = (self._seconds() + for_s, decision)
