"""Reviews of the requester's rules (reference AUTHZ-29)."""

from __future__ import annotations

from tests.verbs.answered import Case

RULES = "/apis/authorization.orch.io/v1/selfsubjectrulesreviews"


class SelfSubjectRulesTests(Case):
    async def test_rules(self) -> None:
        """The rules of a user are told for a namespace, which has to be named."""
        review = await self.ask("POST", RULES, {"spec": {"namespace": "default"}}, 201)
        self.assertIn({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, review["status"]["resourceRules"])
        self.assertIn({"verbs": ["*"], "nonResourceURLs": ["*"]}, review["status"]["nonResourceRules"])
        self.assertEqual((review["spec"], review["status"]["incomplete"]), ({}, False))
        self.assertEqual(await self.message("POST", RULES, 400, {"spec": {}}), "no namespace on request")
