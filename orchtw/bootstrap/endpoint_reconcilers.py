"""Reconcilers of the endpoints of the servers' Service, of three types (reference CTRL-7, CTRL-49)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import attrs

from orchtw.bootstrap.server_leases import LeasePlace, ServerLeases
from orchtw.wire.objects import Object

LEASE: Final = "lease"
MASTER_COUNT: Final = "master-count"
NONE: Final = "none"


class EndpointReconciler(Protocol):
    """Of this server's `leases`, what says where it is and whether it is about to end."""

    async def places(self, endpoints: Object | None) -> list[LeasePlace] | None:
        """The servers to name, in order; None: leave the endpoints to others. `endpoints` are the present ones.

        Raises what the store raises.
        """


@attrs.frozen(slots=True)
class ByLease:
    """Those that have renewed their leases."""

    leases: ServerLeases

    async def places(self, endpoints: Object | None) -> list[LeasePlace]:
        """Return the servers whose leases are alive."""
        return await self.leases.living()


@attrs.frozen(slots=True)
class ByCount:
    """Those that have entered themselves, `count` at most: who enters has those behind it leave, in a ring.

    A server that ends without notice stays until others need its place.
    """

    leases: ServerLeases
    count: int

    async def places(self, endpoints: Object | None) -> list[LeasePlace]:
        """Return this server and the others that the endpoints name, up to the configured count."""
        mine = self.leases.place
        others = [each for each in _named(endpoints) if each != mine]
        if self.leases.left:
            return others
        found = sorted({*others, mine})
        while len(found) > self.count:
            del found[(found.index(mine) + 1) % len(found)]
        return found


@attrs.frozen(slots=True)
class ByNobody:
    """The endpoints are somebody else's."""

    async def places(self, endpoints: Object | None) -> None:
        """Leave the endpoints to others: return None."""


RECONCILERS: Final[Mapping[str, Callable[[ServerLeases, int], EndpointReconciler]]] = {
    MASTER_COUNT: ByCount,
    LEASE: lambda leases, count: ByLease(leases),
    NONE: lambda leases, count: ByNobody(),
}
"""By the value of `--endpoint-reconciler-type`; the number is `--apiserver-count`."""


def _named(endpoints: Object | None) -> list[LeasePlace]:
    """The servers that endpoints name."""
    subsets = (endpoints or {}).get("subsets") or []
    return [
        LeasePlace(address["ip"], port["port"])
        for subset in subsets
        for port in subset.get("ports") or []
        for address in subset.get("addresses") or []
    ]
