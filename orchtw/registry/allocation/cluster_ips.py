"""Cluster IPs of a service: those it takes, and the ranges they come from (reference KIND-27)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchtw.errors import InternalError
from orchtw.registry.allocation.claims import Claim, Held
from orchtw.registry.allocation.families import refusal, settle_families, stays_preferred
from orchtw.registry.allocation.ledger import Ledger
from orchtw.registry.allocation.ranges import FULL, AddressRange
from orchtw.rules import services as rules
from orchtw.rules.services import Spec
from orchtw.values.causes import invalid
from orchtw.wire.objects import Object


class Addresses:
    """Ledgers by IP family, the server's first family first."""

    def __init__(self, ledgers: Mapping[AddressRange, Ledger]) -> None:
        self._ledgers = {numbers.family: (numbers, ledger) for numbers, ledger in ledgers.items()}
        self.families = tuple(self._ledgers)

    @property
    def ledgers(self) -> Iterator[Ledger]:
        """Yield the ledgers of all families."""
        return (ledger for _, ledger in self._ledgers.values())

    def held(self, spec: Spec) -> Iterator[Held]:
        """Yield the numbers of a service's addresses that are in our ranges."""
        return ((ledger, number) for ledger, number in self._all(spec) if number in ledger)

    def foreign(self, spec: Spec) -> Iterator[Held]:
        """Yield the addresses outside of the ranges."""
        return ((ledger, number) for ledger, number in self._all(spec) if number not in ledger)

    def _all(self, spec: Spec) -> Iterator[Held]:
        if not rules.needs_cluster_ip(spec) or rules.is_headless(spec):
            return
        for address in rules.cluster_ips(spec) or filter(None, [spec.get("clusterIP")]):
            for numbers, ledger in self._ledgers.values():
                number = numbers.number(address)
                if number is not None:
                    yield ledger, number

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
        numbers, ledger = self._ledgers[family]
        if not asked:
            number = await claim.take_any(ledger)
            if number is None:
                raise InternalError.of(f"failed to allocate a serviceIP: {FULL}")
            return numbers.show(number)
        number = numbers.number(asked)
        if number is None:
            raise InternalError.of(f'failed to parse service IP "{asked}"')
        if why := await claim.take(ledger, number):
            ips = list(service["spec"]["clusterIPs"])
            raise refusal(service, [invalid("spec.clusterIPs", ips, f"failed to allocate IP {asked}: {why}")])
        return asked
