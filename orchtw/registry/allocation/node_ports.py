"""Node ports of a service, and that of its health check (reference KIND-27)."""

from __future__ import annotations

from collections.abc import Iterator

from orchtw.errors import InternalError
from orchtw.registry.allocation.allocator import Allocator
from orchtw.registry.allocation.claims import Claim, Held
from orchtw.registry.allocation.families import refusal
from orchtw.registry.allocation.ranges import FULL
from orchtw.rules import services as rules
from orchtw.rules.services import Spec
from orchtw.values.causes import invalid
from orchtw.wire.objects import Object


class NodePorts:
    """Claims of ports from one allocator."""

    def __init__(self, allocator: Allocator) -> None:
        self.allocator = allocator

    def held(self, spec: Spec) -> Iterator[Held]:
        """Yield the ports of a service that are in our range."""
        return ((self.allocator, number) for number in self._all(spec) if number in self.allocator)

    def foreign(self, spec: Spec) -> Iterator[Held]:
        """Yield the ports outside of the range."""
        return ((self.allocator, number) for number in self._all(spec) if number not in self.allocator)

    @staticmethod
    def _all(spec: Spec) -> set[int]:
        found = set(rules.node_ports(spec)) if rules.needs_node_ports(spec) else set()
        if rules.needs_health_check_port(spec) and spec.get("healthCheckNodePort"):
            found.add(spec["healthCheckNodePort"])
        return found

    async def claim(self, service: Object, old: Spec | None, claim: Claim) -> None:
        """Take the ports that are asked for, then those that are missing where the type gives them.

        Raises Invalid (422), and InternalError (500) when the range is full.
        """
        spec: Spec = service["spec"]
        before = set(rules.node_ports(old)) if old is not None and rules.needs_node_ports(old) else set()
        checked = old is not None and rules.needs_health_check_port(old) and bool(old.get("healthCheckNodePort"))
        checks = rules.needs_health_check_port(spec) and not checked
        if rules.needs_node_ports(spec):
            await self._take_asked(service, before, claim)
        if checks and (asked := spec.get("healthCheckNodePort")) and (why := await claim.take(self.allocator, asked)):
            raise InternalError.of(f"failed to allocate requested HealthCheck NodePort {asked}: {why}")
        if rules.allocates_node_ports(spec):
            await self._fill_missing(spec, claim, shares=old is None)
        if checks and not spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = await self._any(claim, "a HealthCheck NodePort")

    async def _take_asked(self, service: Object, before: set[int], claim: Claim) -> None:
        """Take the ports that a service names, except those in `before`, its own; one named twice is taken once."""
        mine = set(before)
        for index, port in enumerate(rules.ports(service["spec"])):
            number = port.get("nodePort", 0)
            if number and number not in mine:
                if why := await claim.take(self.allocator, number):
                    raise refusal(service, [invalid(f"spec.ports[{index}].nodePort", number, why)])
                mine.add(number)

    async def _fill_missing(self, spec: Spec, claim: Claim, *, shares: bool) -> None:
        """Fill in missing node ports; with `shares`, ports of one number and different protocols get the same one."""
        by_port: dict[int, int] = {}
        for port in rules.ports(spec) if shares else ():
            if port.get("nodePort"):
                by_port.setdefault(port.get("port", 0), port["nodePort"])
        for port in rules.ports(spec):
            if not port.get("nodePort"):
                number = by_port.get(port.get("port", 0)) or await self._any(claim, "a nodePort")
                port["nodePort"] = number
                if shares:
                    by_port[port.get("port", 0)] = number

    async def _any(self, claim: Claim, what: str) -> int:
        number = await claim.take_any(self.allocator)
        if number is None:
            raise InternalError.of(f"failed to allocate {what}: {FULL}")
        return number
