"""Leases for expiring values: many share one that ends a little later than each of them (reference STORE-15)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from twisted.internet.defer import Deferred

from orchtw.metrics.series import Histogram
from orchtw.outbound.grpc.status import NOT_FOUND, RpcError
from orchtw.storage.etcd.calls import Calls
from orchtw.storage.etcd.status import status_of
from orchtw.storage.store import KeptValue

SHARE: Final = 0.05
"""Fraction of a value's lifetime by which it may end later, so that it can share a lease."""

LEAST_S: Final = 1.0
COUNT_BOUNDS: Final = (10, 50, 100, 500, 1000, 2500, 5000)


class Leases:
    """Granted leases; values that are written within `reuse_s` seconds share one, `most` at most."""

    def __init__(self, calls: Calls, seconds: Callable[[], float], reuse_s: float, most: int) -> None:
        self._calls = calls
        self._seconds = seconds
        self._reuse_s = reuse_s
        self._most = most
        self._lease = 0
        self._ends = 0.0
        self._used = 0
        self._granting = False
        self.counts = Histogram(COUNT_BOUNDS)
        self._waiting: list[Deferred[None]] = []  # for the grant that is under way

    def held(self, ttl_s: float) -> int:
        """Return a lease that fits a value of so many seconds; 0 if one must be granted first."""
        left = self._ends - self._seconds()
        if not self._lease or self._used >= self._most or not ttl_s <= left <= ttl_s + self._slack_s(ttl_s) + 1:
            return 0
        self._used += 1
        return self._lease

    async def lease(self, ttl_s: float) -> int:
        """Return a lease that fits, granted if need be. Raises RpcError."""
        while self._granting:
            granted: Deferred[None] = Deferred()
            self._waiting.append(granted)
            await granted
            if found := self.held(ttl_s):
                return found
        self._granting = True
        try:
            return await self._grant(ttl_s)
        finally:
            self._granting = False
            waiting, self._waiting = self._waiting, []
            for granted in waiting:
                granted.callback(None)

    def forget(self, lease: int) -> None:
        """Forget a lease that the cluster no longer knows."""
        if lease == self._lease:
            self._lease = 0

    async def _grant(self, ttl_s: float) -> int:
        if self._lease:
            self.counts.observe(self._used)
        asked = self._seconds()
        granted = await self._calls.grant(math.ceil(ttl_s + self._slack_s(ttl_s)))
        self._lease, self._ends, self._used = granted.ID, asked + granted.TTL, 1
        return self._lease

    def _slack_s(self, ttl_s: float) -> float:
        return max(LEAST_S, min(self._reuse_s, ttl_s * SHARE))


class Leased(KeptValue):
    """Value with a lease of its own, as the cluster has granted it."""

    def __init__(self, calls: Calls, lease: int, revision: int) -> None:
        self._calls = calls
        self._lease = lease
        self.revision = revision

    async def renew(self) -> bool:
        """Renew the lease, as `KeptValue.renew`, without a write."""
        try:
            return bool((await self._calls.keep(self._lease)).TTL > 0)
        except RpcError as error:
            raise status_of(error) from None

    async def end(self) -> None:
        """Remove the value with its lease, as `KeptValue.end`."""
        try:
            await self._calls.revoke(self._lease)
        except RpcError as error:
            if error.code != NOT_FOUND:
                raise status_of(error) from None
