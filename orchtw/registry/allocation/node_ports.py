"""The ports of the nodes that lead to a service, and that of its health check (reference KIND-27)."""

from __future__ import annotations

from collections.abc import Iterator

from orchtw.errors import InternalError
from orchtw.objects import Object
from orchtw.registry.allocation.claims import Claim, Held
from orchtw.registry.allocation.families import refusal
from orchtw.registry.allocation.ledger import Ledger
from orchtw.registry.allocation.ranges import FULL
from orchtw.rules import services as rules
from orchtw.rules.causes import invalid
from orchtw.rules.services import Spec


class NodePorts:
    """Takes ports of one ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def held(self, spec: Spec) -> Iterator[Held]:
        """The ports that a service has, as far as they are in our range."""
        return ((self.ledger, number) for number in self._all(spec) if number in self.ledger)

    def foreign(self, spec: Spec) -> Iterator[Held]:
        """The others."""
        return ((self.ledger, number) for number in self._all(spec) if number not in self.ledger)

    @staticmethod
    def _all(spec: Spec) -> set[int]:
        found = set(rules.node_ports(spec)) if rules.needs_node_ports(spec) else set()
        if rules.needs_health_check_port(spec) and spec.get("healthCheckNodePort"):
            found.add(spec["healthCheckNodePort"])
        return found

    async def claim(self, service: Object, old: Spec | None, claim: Claim) -> None:
        """Take the ports that are asked for, and those that are missing where the type gives them.

        Raises Invalid (422), and InternalError (500) when the range is full.
        """
        spec: Spec = service["spec"]
        if rules.needs_node_ports(spec):
            before = set(rules.node_ports(old)) if old is not None and rules.needs_node_ports(old) else set()
            await self._claim_ports(service, before, claim, shares=old is None)
        if rules.needs_health_check_port(spec):
            before = set() if old is None else self._all(old) - set(rules.node_ports(old))
            await self._claim_health_check(spec, before, claim)

    async def _claim_ports(self, service: Object, before: set[int], claim: Claim, *, shares: bool) -> None:
        """`shares`: ports of one number, whose protocols differ, have one node port, as far as they do not say."""
        spec = service["spec"]
        mine = set(before)
        by_port: dict[int, int] = {}
        for port in rules.ports(spec) if shares else ():
            if port.get("nodePort"):
                by_port.setdefault(port.get("port", 0), port["nodePort"])
        for index, port in enumerate(rules.ports(spec)):
            asked = port.get("nodePort", 0)
            if not asked and not rules.allocates_node_ports(spec):
                continue
            number = asked or by_port.get(port.get("port", 0), 0)
            if not number:
                number = await self._any(claim, "a nodePort")
            elif number not in mine and (why := await claim.take(self.ledger, number)):
                raise refusal(service, [invalid(f"spec.ports[{index}].nodePort", number, why)])
            mine.add(number)
            port["nodePort"] = number
            if shares:
                by_port.setdefault(port.get("port", 0), number)

    async def _claim_health_check(self, spec: Spec, before: set[int], claim: Claim) -> None:
        asked = spec.get("healthCheckNodePort", 0)
        if before:
            return
        if not asked:
            spec["healthCheckNodePort"] = await self._any(claim, "a HealthCheck NodePort")
        elif why := await claim.take(self.ledger, asked):
            raise InternalError.of(f"failed to allocate requested HealthCheck NodePort {asked}: {why}")

    async def _any(self, claim: Claim, what: str) -> int:
        number = await claim.take_any(self.ledger)
        if number is None:
            raise InternalError.of(f"failed to allocate {what}: {FULL}")
        return number
