"""Type checking of policies by their controller (reference POLICY-14)."""
# covers: orchtw.schema.cel.node_types

from __future__ import annotations

from typing import Any

from orchtw.controllers.policy_status import MOST_KINDS
from tests.admission.policies.case import API, PolicyCase, validating

RULE = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["deployments", "daemonsets"]}


class TypeCheckingTests(PolicyCase):
    settings = {"controllers": ("validatingadmissionpolicy-status",)}

    async def status(self, generation: int) -> Any:
        """Return the status once a generation has been observed."""
        while True:
            found = (await self.server.request("GET", f"{API}/validatingadmissionpolicies/p")).json
            if found["status"].get("observedGeneration") == generation:
                return found["status"]
            await self.pause()

    async def test_warnings(self) -> None:
        """Each expression that does not fit a kind has one warning, with a line for each kind."""
        await self.put(validating("object.spec.replicas > 1", "object.metadata.namespace == 'x'", rules=[RULE]))
        (warning,) = (await self.status(1))["typeChecking"]["expressionWarnings"]
        self.assertEqual(warning["fieldRef"], "spec.validations[0].expression")
        text = (
            "apps/v1, Kind=DaemonSet: ERROR: <input>:1:12: undefined field 'replicas'\n"
            " | object.spec.replicas > 1\n | ...........^\n"
        )
        self.assertEqual(warning["warning"], text)

    async def test_fitting(self) -> None:
        """A policy without warnings has been checked all the same; wildcards are not."""
        await self.put(validating("object.spec.x > 1", rules=[{**RULE, "apiGroups": ["*"]}]))
        self.assertEqual((await self.status(1))["typeChecking"], {})

    def test_limit(self) -> None:
        """At most ten kinds are checked."""
        self.assertEqual(MOST_KINDS, 10)
