"""Admission policies of a real process, and a release that has none (reference POLICY-1, POLICY-2, POLICY-10)."""

from __future__ import annotations

from typing import Any

from tests.emulated import since
from tests.end_to_end.case import ServerCase

API = "/apis/admissionregistration.orch.io/v1"


@since((1, 36))
class PolicyTests(ServerCase):
    """Policies that see the test's own namespace alone."""

    async def bound(self, word: str, **spec: Any) -> str:
        """Create a policy about ConfigMaps and its binding; returns their name."""
        name = self.unique("p")
        match = {
            "namespaceSelector": {"matchLabels": {"orch.io/metadata.name": self.namespace}},
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
            ],
        }
        policy = {"metadata": {"name": name}, "spec": {"matchConstraints": match, **spec}}
        actions = {"validationActions": ["Deny"]} if word == "validating" else {}
        binding = {"metadata": {"name": name}, "spec": {"policyName": name, **actions}}
        for plural, obj in (("policies", policy), ("policybindings", binding)):
            await self.created(f"{API}/{word}admission{plural}", obj)
            self.addCleanup(self.client.delete, f"{API}/{word}admission{plural}/{name}")
        return name

    async def test_refusal_and_change(self) -> None:
        """Policies count for the write after that of their binding: they change it, and refuse it."""
        expression = "Object{metadata: Object.metadata{labels: {'seen': 'yes'}}}"
        mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
        await self.bound("mutating", mutations=[mutation], reinvocationPolicy="Never")
        stored = await self.created(self.core("configmaps"), {"metadata": {"name": "a"}})
        self.assertEqual(stored["metadata"]["labels"], {"seen": "yes"})
        rule = {"expression": "object.metadata.labels.seen != 'yes'", "message": "seen already"}
        name = await self.bound("validating", validations=[rule])
        answer = await self.client.post(self.core("configmaps"), {"metadata": {"name": "b"}})
        text = f"ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: seen already"
        self.assertRefused(answer, 422, "Invalid", f'configmaps "b" is forbidden: {text}')


class EarlierReleaseTests(ServerCase):
    """A server that is release 1.24 exactly."""

    flags = ("--emulated-version=1.24",)

    async def test_no_trace(self) -> None:
        """Neither kind exists, and the group has one version with the configurations of webhooks."""
        for word in ("validating", "mutating"):
            answer = await self.client.get(f"{API}/{word}admissionpolicies")
            self.assertEqual(answer.code, 404)
        found = (await self.client.get(API)).json
        plurals = [each["name"] for each in found["resources"]]
        self.assertEqual(plurals, ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"])
