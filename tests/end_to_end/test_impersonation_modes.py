"""Impersonation with rights of its own, by RBAC (reference AUTHN-66)."""

# covers: orchtw.filters.constrained_impersonation

from __future__ import annotations

from orchtw.wire.objects import Object
from tests.emulated import since
from tests.end_to_end.case import ServerCase

OWN = "authentication.orch.io"
ROLES = "/apis/rbac.authorization.orch.io/v1"


@since((1, 35))
class ModeTests(ServerCase):
    flags = ("--feature-gates=ConstrainedImpersonation=true", "--controllers=*,-root-ca-cert-publisher")

    async def grant(self, user: str, *rules: Object) -> None:
        name = self.unique("mode")
        await self.created(f"{ROLES}/clusterroles", {"metadata": {"name": name}, "rules": list(rules)})
        role = {"apiGroup": "rbac.authorization.orch.io", "kind": "ClusterRole", "name": name}
        subject = {"apiGroup": "rbac.authorization.orch.io", "kind": "User", "name": user}
        binding = {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
        await self.created(f"{ROLES}/clusterrolebindings", binding)

    async def test_for_one_verb(self) -> None:
        """An account may list as another user, and do nothing else as them (reference AUTHN-66)."""
        pods = {"apiGroups": [""], "resources": ["pods"]}
        users = {"apiGroups": [OWN], "resources": ["users"], "resourceNames": ["ann"]}
        await self.grant("ann", {**pods, "verbs": ["list", "get"]})
        token = await self.token("bob")
        client = self.anonymous(**{"authorization": f"Bearer {token}", "impersonate-user": "ann"})
        self.assertEqual((await client.get(self.core("pods"))).code, 403)
        await self.grant(self.user("bob"), {**users, "verbs": ["impersonate:user-info"]})
        await self.grant(self.user("bob"), {**pods, "verbs": ["impersonate-on:user-info:list"]})
        self.assertEqual((await client.get(self.core("pods"))).code, 200)
        refused = await client.get(self.core("pods", "p"))
        self.assertEqual(refused.code, 403)
        self.assertIn('cannot impersonate-on:user-info:get resource "pods"', refused.json["message"])

    def user(self, account: str) -> str:
        return f"system:serviceaccount:{self.namespace}:{account}"

    async def token(self, account: str) -> str:
        await self.created(self.core("serviceaccounts"), {"metadata": {"name": account}})
        made = await self.client.post(self.core("serviceaccounts", account, "token"), {"spec": {}})
        token: str = made.json["status"]["token"]
        return token

    async def test_node(self) -> None:
        """The administrator acts as a node, with the nodes' group (reference AUTHN-66)."""
        client = self.new_client(**{"impersonate-user": "system:node:n1"})
        answer = await client.post("/apis/authentication.orch.io/v1/selfsubjectreviews", {})
        user = answer.json["status"]["userInfo"]
        self.assertEqual(user["username"], "system:node:n1")
        self.assertEqual(user["groups"], ["system:nodes", "system:authenticated"])
