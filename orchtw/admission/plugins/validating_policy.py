"""ValidatingAdmissionPolicy: policies that may refuse a write, without a call (reference POLICY-1)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from orchtw.admission.attributes import Attributes
from orchtw.admission.host import AdmissionHost
from orchtw.admission.policies.known import KnownPolicies


class ValidatingPolicy:
    """Plugin ValidatingAdmissionPolicy: evaluates the policies that match a write."""

    def __init__(self, host: AdmissionHost) -> None:
        self._host = host
        self._policies = KnownPolicies(host, "validating", ("CREATE", "UPDATE", "DELETE", "CONNECT"))
        self.handles = self._policies.handles
        self.in_force = self._policies.in_force
        self.idle = self._policies.idle

    @cached_property
    def _judge(self) -> Any:
        # Loaded with the first policy that matches a write: expressions take a tenth of a second.
        from orchtw.admission.policies.judge import Judge

        return Judge(self._host)

    async def validate(self, attributes: Attributes) -> None:
        """Evaluate all matching policies; raises the first refusal."""
        pairings = self._policies.at_once(attributes)
        if pairings is None:
            pairings = await self._policies.matching(attributes)
        if pairings:
            await self._judge.judge(pairings, attributes)
