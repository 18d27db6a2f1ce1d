"""MutatingAdmissionPolicy: policies that change a write, without a call (reference POLICY-1, POLICY-12)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from orchtw.admission.attributes import Attributes
from orchtw.admission.host import AdmissionHost
from orchtw.admission.policies.known import KnownPolicies


class MutatingPolicy:
    """Plugin MutatingAdmissionPolicy: applies the policies that match a write."""

    def __init__(self, host: AdmissionHost) -> None:
        self._host = host
        self._policies = KnownPolicies(host, "mutating", ("CREATE", "UPDATE", "CONNECT"))
        self.handles = self._policies.handles
        self.in_force = self._policies.in_force
        self.idle = self._policies.idle

    @cached_property
    def _mutator(self) -> Any:
        # Loaded with the first policy that matches a write: expressions take a tenth of a second.
        from orchtw.admission.policies.mutator import Mutator

        return Mutator(self._host)

    async def admit(self, attributes: Attributes) -> None:
        """Apply all matching policies. Raises the first refusal."""
        pairings = await self._policies.matching(attributes)
        if pairings:
            await self._mutator.mutate(pairings, attributes)
