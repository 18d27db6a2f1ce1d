"""Cluster IPs of a service: those it takes, and the ranges they come from (reference KIND-27)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchtw.errors import InternalError
from orchtw.registry.allocation.allocator import Allocator
from orchtw.registry.allocation.claims import Claim, Held
from orchtw.registry.allocation.families import refusal, settle_families, stays_preferred
from orchtw.registry.allocation.ranges import FULL, AddressRange
from orchtw.rules import services as rules
from orchtw.rules.services import Spec
from orchtw.values.causes import invalid
from orchtw.wire.objects import Object


class Addresses:
    """Ledgers by IP family, the server's first family first."""

    def __init__(self, allocators: Mapping[AddressRange, Allocator]) -> None:
        self._allocators = {numbers.family: (numbers, allocator) for numbers, allocator in allocators.items()}
        self.families = tuple(self._allocators)

    @property
    def allocators(self) -> Iterator[Allocator]:
        """Yield the allocators of all families."""
        return (allocator for _, allocator in self._allocators.values())

    def held(self, spec: Spec) -> Iterator[Held]:
        """Yield the numbers of a service's addresses that are in our ranges."""
        return ((allocator, number) for allocator, number in self._all(spec) if number in allocator)

    def foreign(self, spec: Spec) -> Iterator[Held]:
        """Yield the addresses outside of the ranges."""
        return ((allocator, number) for allocator, number in self._all(spec) if number not in allocator)

    def _all(self, spec: Spec) -> Iterator[Held]:
        if not rules.needs_cluster_ip(spec) or rules.is_headless(spec):
            return
        for address in rules.cluster_ips(spec) or filter(None, [spec.get("clusterIP")]):
            for numbers, allocator in self._allocators.values():
                number = numbers.number(address)
                if number is not None:
                    yield allocator, number

    def lacks(self, spec: Spec) -> bool:
        """Report whether a stored Service lacks an address that it needs."""
        settled = rules.cluster_ips(spec) and rules.families(spec) and spec.get("ipFamilyPolicy")
        return rules.needs_cluster_ip(spec) and not settled

    async def claim(self, service: Object, old: Spec | None, claim: Claim) -> None:
        """Settle the families, and take the addresses that are asked for or missing.

        Raises Invalid (422), and InternalError (500) when a range is full.
        """
        spec = service["spec"]
        settle_families(service, old, self.families)
        if not rules.needs_cluster_ip(spec) or rules.is_headless(spec):
            return
        first = 0
        if old is not None and rules.cluster_ips(old):
            grown = len(rules.families(spec)) > len(rules.families(old)) > 0
            if stays_preferred(spec, old) or rules.is_headless(old) or not grown:
                return
            first = 1
        families = rules.families(spec)
        ips = list(rules.cluster_ips(spec))
        ips += [""] * (len(families) - len(ips))
        spec["clusterIPs"] = ips
        for index, family in enumerate(families):
            if index >= first:
                ips[index] = await self._address(service, family, ips[index], claim)
        spec["clusterIP"] = ips[0]

    async def _address(self, service: Object, family: str, asked: str, claim: Claim) -> str:
        numbers, allocator = self._allocators[family]
        if not asked:
            number = await claim.take_any(allocator)
            if number is None:
                raise InternalError.of(f"failed to allocate a serviceIP: {FULL}")
            return numbers.show(number)
        number = numbers.number(asked)
        if number is None:
            raise InternalError.of(f'failed to parse service IP "{asked}"')
        if why := await claim.take(allocator, number):
            ips = list(service["spec"]["clusterIPs"])
            raise refusal(service, [invalid("spec.clusterIPs", ips, f"failed to allocate IP {asked}: {why}")])
        return asked
