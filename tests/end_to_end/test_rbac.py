"""Roles and bindings with `kubectl`, unmodified: who may what, and what may be handed on."""

from __future__ import annotations

import json
from pathlib import Path

from orchtw.testing.kubectl import Kubectl, Result
from tests.end_to_end.kubectl_case import KubectlCase
from tests.forked import forking

TOKENS = Path("rbac-tokens.csv")
HELD = (
    'user "bob" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'
)


class RbacTests(KubectlCase):
    """bob is one of dev, and authenticates by a token."""

    vocabulary = "kubernetes"

    async def setUp(self) -> None:  # type: ignore[override]
        TOKENS.write_text('bob-token,bob,1,"dev"\n')
        self.flags = (f"--token-auth-file={TOKENS.absolute()}",)
        await super().setUp()
        self.bobs = Path(self.mktemp())
        self.bobs.write_text(json.dumps(self.configuration("bob-token")))

    def configuration(self, token: str) -> dict[str, object]:
        """A client configuration that shows a token."""
        cluster = {"server": f"https://127.0.0.1:{self.server.port}", "insecure-skip-tls-verify": True}
        context = {"cluster": "c", "user": "u", "namespace": self.namespace}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "x",
            "clusters": [{"name": "c", "cluster": cluster}],
            "contexts": [{"name": "x", "context": context}],
            "users": [{"name": "u", "user": {"token": token}}],
        }

    async def bob(self, *arguments: str) -> Result:
        """Return the response to bob."""
        return await Kubectl(forking, str(self.bobs.absolute()), self.mktemp()).run(*arguments)

    async def may(self, *question: str) -> str:
        """Return bob's rules by a review."""
        return (await self.bob("auth", "can-i", *question)).output.split()[0]

    async def test_can_i(self) -> None:
        """A binding gives rights in its namespace, from then on, until it is gone (reference AUTHZ-16)."""
        self.assertEqual(await self.may("list", "pods"), "no")
        await self.run_ok("create", "rolebinding", "bobs", "--clusterrole=edit", "--group=dev")
        for question, answer in (
            (("create", "deployments.apps"), "yes"), (("get", "pods", "--subresource=log"), "yes"),
            (("create", "roles.rbac.authorization.k8s.io"), "no"), (("list", "nodes"), "no"),
            (("list", "pods", "--namespace=default"), "no"),
            (("get", "/version"), "yes"), (("get", "/metrics"), "no"),
        ):  # fmt: skip
            self.assertEqual(await self.may(*question), answer, question)
        listed = (await self.bob("auth", "can-i", "--list")).output
        self.assertRegex(listed, r"deployments\.apps +\[\] +\[\] +\[.*create.*\]")
        as_dev = await self.run_ok("auth", "can-i", "create", "pods", "--as=eve", "--as-group=dev")
        self.assertEqual(as_dev.strip(), "yes")
        await self.run_ok("delete", "rolebinding", "bobs")
        self.assertEqual(await self.may("list", "pods"), "no")

    async def test_large_role(self) -> None:
        """A role of 20,000 rules counts once its writer is answered, and no longer (reference AUTHZ-39)."""
        bob = self.anonymous(Authorization="Bearer bob-token")
        roles = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{self.namespace}/roles"
        rules = [{"verbs": ["get"], "apiGroups": [""], "resources": [f"things-{number}"]} for number in range(20_000)]
        given = [*rules, {"verbs": ["list"], "apiGroups": [""], "resources": ["configmaps"]}]
        role = await self.created(roles, {"metadata": {"name": "large"}, "rules": given})
        await self.run_ok("create", "rolebinding", "bobs", "--role=large", "--user=bob")
        for wanted, code in ((given, 200), (rules, 403), (given, 200), (rules[:1], 403), (given, 200)):
            answer = await self.client.put(f"{roles}/large", {"metadata": role["metadata"], "rules": wanted})
            self.assertEqual(answer.code, 200, answer.body[:300])
            role = answer.json
            self.assertEqual((await bob.get(self.core("configmaps"))).code, code)
            secrets = (await bob.get(self.core("secrets"))).code
            self.assertEqual(secrets, 403)

    async def test_escalation(self) -> None:
        """Nobody hands on what he does not have, and is told what that is (reference AUTHZ-20, AUTHZ-23)."""
        await self.run_ok("create", "rolebinding", "bobs", "--clusterrole=admin", "--user=bob")
        result = await self.bob("create", "role", "x", "--verb=get", "--resource=nodes,pods")
        self.assertEqual(result.errors.strip(), (
            f'Error from server (Forbidden): roles.rbac.authorization.k8s.io "x" is forbidden: {HELD}'
            '{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}'
        ))
        result = await self.bob("create", "rolebinding", "x", "--clusterrole=cluster-admin", "--user=bob")
        self.assertIn(HELD + '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n', result.errors)
        result = await self.bob("create", "rolebinding", "x", "--clusterrole=view", "--user=eve")
        self.assertEqual(result.status, 0, result)

    async def test_reconcile(self) -> None:
        """`kubectl auth reconcile` completes a role (reference CLIENT-1)."""
        name = self.unique("role")
        manifest = Path(self.mktemp())
        for verbs in (["get"], ["get", "list"]):
            manifest.write_text(json.dumps({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                "metadata": {"name": name, "namespace": self.namespace},
                "rules": [{"verbs": verbs, "apiGroups": [""], "resources": ["pods"]}],
            }))  # fmt: skip
            await self.run_ok("auth", "reconcile", "-f", str(manifest.absolute()))
        rules = json.loads(await self.run_ok("get", "role", name, "-o", "json"))["rules"]
        self.assertEqual({verb for rule in rules for verb in rule["verbs"]}, {"get", "list"})
