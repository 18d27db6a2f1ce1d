"""Work estimator: the seats of a request (reference FLOW-11)."""

from __future__ import annotations

from typing import Final

from orchtw.registry.targets import Targets
from orchtw.request import Request, RequestInfo
from orchtw.storage.cache.watch_cache import ResourceCache

MOST_SEATS: Final = 10
OBJECTS_A_SEAT: Final = 100
WATCHERS_A_SEAT: Final = 10
LINGER_S: Final = 0.0002
"""Cost of ten watchers after the response to a write; a delivery takes some 15 µs."""

_WRITES: Final = frozenset({"create", "update", "patch", "delete"})
_FEW_GROUPS: Final = 16
_ANY_STATE: Final = ("", "0")


class Work:
    """Estimates from the contents of the caches; requests for uncached objects take one seat."""

    def __init__(self, targets: Targets) -> None:
        self._targets = targets

    def seats(self, request: Request, info: RequestInfo) -> int:
        """Return the seats: by the number of objects for lists and initial states, by that of watchers for writes."""
        verb = info.verb
        if verb == "get" or not info.is_resource:
            return 1
        if verb == "list":
            return self._listed(request, info)
        if verb in _WRITES:
            return min(MOST_SEATS, -(-self._watchers(info) // WATCHERS_A_SEAT) or 1)
        if verb == "watch" and request.param("resourceVersion") in _ANY_STATE:
            return self._listed(request, info)
        return 1

    def lingers_s(self, info: RequestInfo) -> float:
        """Return how long a write keeps its seats after its response, while watchers are notified, in seconds."""
        watchers = self._watchers(info) if info.verb in _WRITES and info.is_resource else 0
        if watchers < WATCHERS_A_SEAT:
            return 0.0
        seats = -(-watchers // WATCHERS_A_SEAT)
        return LINGER_S * seats / min(MOST_SEATS, seats)

    def _listed(self, request: Request, info: RequestInfo) -> int:
        cache = self._cache(info)
        count = 0 if cache is None or info.name else len(cache)
        if count <= OBJECTS_A_SEAT:
            return 1
        limit = request.param("limit")
        selective = "Selector=" in request.query
        if not selective and limit.isdecimal() and 0 < len(limit) <= len(str(count)):
            count = min(count, int(limit)) or count
        return min(MOST_SEATS, -(-count // OBJECTS_A_SEAT))

    def _watchers(self, info: RequestInfo) -> int:
        """Estimate the number of watchers of a write; one meets few of many different selections."""
        cache = self._cache(info)
        if cache is None or cache.dispatcher.groups > _FEW_GROUPS:
            return 0
        return cache.dispatcher.members()[0] if cache.dispatcher.groups else 0

    def _cache(self, info: RequestInfo) -> ResourceCache | None:
        target = self._targets.find(info.group, info.version, info.resource)
        return None if target is None else target.stored.cache
