"""Reconcilers of the endpoints of the servers' Service, of three types (reference CTRL-7, CTRL-49)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec

from orchtw.bootstrap.server_leases import ServerLeases, ServerPlace
from orchtw.wire.objects import Object

LEASE: Final = "lease"
MASTER_COUNT: Final = "master-count"
NONE: Final = "none"


class EndpointReconciler(Protocol):
    """Rule for the endpoints, by this server's `leases`: its place, and whether it is about to end."""

    async def places(self, endpoints: Object | None) -> list[ServerPlace] | None:
        """Return the servers to name, in order; None: leave the endpoints to others.

        `endpoints` are the present ones. Raises the store's errors.
        """


class ByLease(msgspec.Struct, frozen=True):
    """Endpoints of the servers that have renewed their leases."""

    leases: ServerLeases

    async def places(self, endpoints: Object | None) -> list[ServerPlace]:
        """Return the servers whose leases are alive."""
        return await self.leases.living()


class ByCount(msgspec.Struct, frozen=True):
    """Endpoints of the servers that have entered themselves, `count` at most; a new one displaces the next.

    A server that ends without notice stays until others need its place.
    """

    leases: ServerLeases
    count: int

    async def places(self, endpoints: Object | None) -> list[ServerPlace]:
        """Return this server and the others that the endpoints name, up to the configured count."""
        mine = self.leases.place
        others = [each for each in _named(endpoints) if each != mine]
        if self.leases.left:
            return others
        found = sorted({*others, mine})
        while len(found) > self.count:
            del found[(found.index(mine) + 1) % len(found)]
        return found


class ByNobody(msgspec.Struct, frozen=True):
    """Endpoints that are maintained elsewhere."""

    async def places(self, endpoints: Object | None) -> None:
        """Return None: leave the endpoints to others."""


RECONCILERS: Final[Mapping[str, Callable[[ServerLeases, int], EndpointReconciler]]] = {
    MASTER_COUNT: ByCount,
    LEASE: lambda leases, count: ByLease(leases),
    NONE: lambda leases, count: ByNobody(),
}
"""Constructors by the value of `--endpoint-reconciler-type`; the number is `--apiserver-count`."""


def _named(endpoints: Object | None) -> list[ServerPlace]:
    """Return the servers that the endpoints name."""
    subsets = (endpoints or {}).get("subsets") or []
    return [
        ServerPlace(address["ip"], port["port"])
        for subset in subsets
        for port in subset.get("ports") or []
        for address in subset.get("addresses") or []
    ]
