"""A whole server in the test's process, with admission policies."""

from __future__ import annotations

from typing import Any

from orchtw.config.releases import LAST
from tests.admission.webhooks.case import WebhookCase
from tests.emulated import since

API = "/apis/admissionregistration.orch.io/v1"
MAPS_RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
DENIED = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: "


def validating(*expressions: str, name: str = "p", rules: Any = (MAPS_RULE,), **spec: Any) -> dict[str, Any]:
    """Return a policy with validations of these expressions; `spec` has its other fields."""
    given: dict[str, Any] = {"matchConstraints": {"resourceRules": list(rules)}}
    if expressions:
        given["validations"] = [{"expression": each} for each in expressions]
    return {"metadata": {"name": name}, "spec": {**given, **spec}}


def mutating(*expressions: str, name: str = "p", rules: Any = (MAPS_RULE,), **spec: Any) -> dict[str, Any]:
    """Return a policy with mutations: lists are JSON patches, others apply configurations."""
    mutations = [
        {"patchType": "JSONPatch", "jsonPatch": {"expression": each}}
        if each.startswith("[")
        else {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": each}}
        for each in expressions
    ]
    match = {"matchConstraints": {"resourceRules": list(rules)}, "reinvocationPolicy": "Never"}
    return {"metadata": {"name": name}, "spec": {**match, "mutations": mutations, **spec}}


@since(LAST)
class PolicyCase(WebhookCase):
    """Base of tests that make policies and look at the responses to writes."""

    async def put(self, policy: dict[str, Any], **binding: Any) -> None:
        """Create a policy, and a binding of the same name with these fields."""
        word = "mutating" if "mutations" in policy["spec"] else "validating"
        name = policy["metadata"]["name"]
        await self.created(f"{API}/{word}admissionpolicies", policy)
        actions = {} if word == "mutating" else {"validationActions": ["Deny"]}
        bound = {"metadata": {"name": name}, "spec": {"policyName": name, **actions, **binding}}
        await self.created(f"{API}/{word}admissionpolicybindings", bound)
