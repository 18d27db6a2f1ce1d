"""`kubectl auth`, unmodified: can-i, reconcile, and whoami, which the release does not have (reference CLIENT-1)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from orchtw.testing.kubectl import Kubectl
from orchtw.wire.objects import Object
from tests.emulated import since
from tests.end_to_end.kubectl_case import KubectlCase
from tests.forked import forking

RBAC = "rbac.authorization.k8s.io"
TOKENS = Path("auth-tokens.csv")


def rule(verbs: str, resources: str, **more: Any) -> Object:
    """A rule of the core group, of words."""
    return {"verbs": verbs.split(), "apiGroups": [""], "resources": resources.split(), **more}


class AuthCase(KubectlCase):
    """The administrator, and carl, who authenticates by a token and is one of qa."""

    vocabulary = "kubernetes"

    async def setUp(self) -> None:  # type: ignore[override]
        TOKENS.write_text('carl-token,carl,1,"qa"\n')
        self.flags = (f"--token-auth-file={TOKENS.absolute()}",)
        await super().setUp()

    def carls(self) -> Kubectl:
        """`kubectl` with carl's token."""
        cluster = {"server": f"https://127.0.0.1:{self.server.port}", "insecure-skip-tls-verify": True}
        path = Path(self.mktemp())
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "c", "cluster": cluster}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": self.namespace}}],
            "users": [{"name": "u", "user": {"token": "carl-token"}}],
        }))  # fmt: skip
        return Kubectl(forking, path, self.mktemp())

    async def give(self, kind: str, *rules: Object, group: str = "qa") -> str:
        """A role of that kind for a group, bound where it is; its name."""
        name = self.unique("given")
        cluster = kind == "ClusterRole"
        meta = {"name": name, **({} if cluster else {"namespace": self.namespace})}
        api = {"apiVersion": f"{RBAC}/v1", "metadata": meta}
        subjects = [{"kind": "Group", "name": group, "apiGroup": RBAC}]
        reference = {"apiGroup": RBAC, "kind": kind, "name": name}
        items = [
            {**api, "kind": kind, "rules": list(rules)},
            {**api, "kind": "ClusterRoleBinding" if cluster else "RoleBinding", "roleRef": reference,
             "subjects": subjects},
        ]  # fmt: skip
        await self.run_ok("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        return name


class CanITests(AuthCase):
    async def may(self, *question: str) -> tuple[int, str]:
        """Exit status and first word of what the administrator is told."""
        result = await self.run_any("auth", "can-i", *question)
        self.assertTrue(result.output, result)
        return result.status, result.output.split()[0]

    async def test_as_others(self) -> None:
        """Users, groups and accounts are asked about by --as and --as-group (reference AUTHZ-26, AUTHN-42)."""
        await self.give("Role", rule("get list", "pods"), rule("create", "pods/exec"), rule("get", "secrets",
                        resourceNames=["hers"]))  # fmt: skip
        await self.give("ClusterRole", {"verbs": ["get"], "nonResourceURLs": ["/debug/*"]}, group="ops")
        account = f"system:serviceaccount:{self.namespace}:default"
        qa, ops = ("--as=ann", "--as-group=qa"), ("--as=ann", "--as-group=ops")
        for question, yes in (
            (("list", "pods", *qa), True),
            (("list", "pods", "--as=ann"), False),
            (("list", "pods", "--as=ann", "--as-group=ops", "--as-group=qa"), True),
            (("list", "pods", *qa, "--namespace=default"), False),
            (("list", "pods", *qa, "--all-namespaces"), False),
            (("delete", "pods", *qa), False),
            (("create", "pods", "--subresource=exec", *qa), True),
            (("create", "pods", "--subresource=attach", *qa), False),
            (("get", "pods", "--subresource=log", *qa), False),
            (("get", "secret/hers", *qa), True),
            (("get", "secret/his", *qa), False),
            (("get", "secrets", *qa), False),
            (("get", "/debug/pprof", *ops), True),
            (("get", "/debug", *ops), False),
            (("post", "/debug/pprof", *ops), False),
            (("get", "/version", "--as=ann"), True),
            (("list", "pods", f"--as={account}"), False),
            (("list", "pods", f"--as={account}", "--as-group=qa"), True),
            (("*", "*"), True),
            (("*", "*", *qa), False),
        ):
            self.assertEqual(await self.may(*question), (0, "yes") if yes else (1, "no"), question)

    async def test_own_credentials(self) -> None:
        """Without --as the rights are the user's own; --as needs the right to impersonate (reference AUTHN-41)."""
        await self.give("Role", rule("list", "pods"))
        carls = self.carls()
        self.assertEqual((await carls.run("auth", "can-i", "list", "pods")).output.strip(), "yes")
        self.assertEqual((await carls.run("auth", "can-i", "list", "secrets", "--quiet")).status, 1)
        refused = await carls.run("auth", "can-i", "list", "pods", "--as=ann")
        self.assertEqual(refused.status, 1)
        text = 'users "ann" is forbidden: User "carl" cannot impersonate resource "users" in API group "" at the'
        self.assertIn(text, refused.errors)
        await self.give("ClusterRole", rule("impersonate", "users", resourceNames=["ann"]))
        self.assertEqual((await carls.run("auth", "can-i", "list", "pods", "--as=ann")).output.strip(), "no")
        refused = await carls.run("auth", "can-i", "list", "pods", "--as=eve")
        self.assertIn('users "eve" is forbidden', refused.errors)
        refused = await carls.run("auth", "can-i", "list", "pods", "--as=ann", "--as-group=qa")
        self.assertIn('groups "qa" is forbidden: User "carl" cannot impersonate resource "groups"', refused.errors)

    async def test_anonymous(self) -> None:
        """The anonymous user may not even ask (reference AUTHZ-26, AUTHN-42)."""
        refused = await self.run_any("auth", "can-i", "get", "/version", "--as=system:anonymous")
        asked = 'User "system:anonymous" cannot create resource "selfsubjectaccessreviews" in API group'
        self.assertEqual(refused.status, 1)
        self.assertIn(f"selfsubjectaccessreviews.authorization.k8s.io is forbidden: {asked}", refused.errors)

    async def test_list(self) -> None:
        """--list shows resources, names and paths, of roles of the cluster and of the namespace (AUTHZ-29)."""
        await self.give("Role", rule("get", "secrets", resourceNames=["hers", "his"]))
        debug = {"verbs": ["get"], "nonResourceURLs": ["/debug/*"]}
        await self.give("ClusterRole", rule("list watch", "nodes"), debug)
        result = await self.run_any("auth", "can-i", "--list", "--as=ann", "--as-group=qa")
        self.assertEqual((result.status, result.errors), (0, ""))
        for row in (
            r"nodes +\[\] +\[\] +\[list watch\]",
            r"secrets +\[\] +\[hers\] +\[get\]",
            r"secrets +\[\] +\[his\] +\[get\]",
            r" +\[/debug/\*\] +\[\] +\[get\]",
            r"selfsubjectaccessreviews\.authorization\.k8s\.io +\[\] +\[\] +\[create\]",
        ):
            self.assertRegex(result.output, f"(?m)^{row}$")
        elsewhere = await self.run_any("auth", "can-i", "--list", "--as=ann", "--as-group=qa", "--namespace=default")
        self.assertNotIn("secrets", elsewhere.output)

    @since((1, 28))
    async def test_whoami(self) -> None:
        """`whoami` shows the name and the groups of the administrator (reference AUTHN-60)."""
        shown = await self.run_ok("auth", "whoami")
        self.assertRegex(shown, rf"Username +{self.naming.administrator_user}\n")
        self.assertRegex(shown, r"Groups +\[system:masters system:authenticated\]\n")


class ReconcileTests(AuthCase):
    def manifest(self, verbs: str, *users: str) -> str:
        """A role and its binding."""
        meta = {"name": "team", "namespace": self.namespace}
        api = {"apiVersion": f"{RBAC}/v1", "metadata": meta}
        subjects = [{"kind": "User", "name": user, "apiGroup": RBAC} for user in users]
        reference = {"apiGroup": RBAC, "kind": "Role", "name": "team"}
        items = [
            {**api, "kind": "Role", "rules": [rule(verbs, "pods")]},
            {**api, "kind": "RoleBinding", "roleRef": reference, "subjects": subjects},
        ]
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})

    async def reconcile(self, verbs: str, *users: str, flags: tuple[str, ...] = ()) -> str:
        """Return the output of `kubectl auth reconcile` for the manifest."""
        return await self.run_ok("auth", "reconcile", "-f", "-", *flags, stdin=self.manifest(verbs, *users))

    async def state(self) -> tuple[set[str], set[str]]:
        """Return the role's verbs on pods, and the bound subjects."""
        role = json.loads(await self.run_ok("get", "role", "team", "-o", "json"))
        binding = json.loads(await self.run_ok("get", "rolebinding", "team", "-o", "json"))
        verbs = {verb for each in role.get("rules") or () for verb in each["verbs"]}
        return verbs, {each["name"] for each in binding.get("subjects") or ()}

    async def test_reconcile(self) -> None:
        """It makes and completes; what is there beyond stays unless it is to be removed (reference CLIENT-1)."""
        said = await self.reconcile("get", "ann")
        self.assertIn(f"role.{RBAC}/team reconciled", said)
        self.assertIn(f"rolebinding.{RBAC}/team reconciled", said)
        self.assertEqual(await self.state(), ({"get"}, {"ann"}))
        await self.reconcile("list", "bob")
        self.assertEqual(await self.state(), ({"get", "list"}, {"ann", "bob"}))
        await self.reconcile("watch", "eve", flags=("--dry-run=client",))
        self.assertEqual(await self.state(), ({"get", "list"}, {"ann", "bob"}))
        await self.reconcile("list", "bob", flags=("--remove-extra-subjects",))
        self.assertEqual(await self.state(), ({"get", "list"}, {"bob"}))
        await self.reconcile("list", "bob", flags=("--remove-extra-permissions",))
        self.assertEqual(await self.state(), ({"list"}, {"bob"}))

    async def test_another_role(self) -> None:
        """A binding to another role is made anew, since its role cannot change (reference AUTHZ-13)."""
        await self.reconcile("get", "ann")
        before = json.loads(await self.run_ok("get", "rolebinding", "team", "-o", "json"))
        manifest = json.loads(self.manifest("get", "ann"))
        manifest["items"][1]["roleRef"] = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"}
        await self.run_ok("auth", "reconcile", "-f", "-", stdin=json.dumps(manifest))
        after = json.loads(await self.run_ok("get", "rolebinding", "team", "-o", "json"))
        self.assertEqual(after["roleRef"]["name"], "view")
        self.assertNotEqual(before["metadata"]["uid"], after["metadata"]["uid"])

    async def test_escalation(self) -> None:
        """It hands on nothing that its user does not have (reference AUTHZ-20)."""
        await self.run_ok("create", "rolebinding", "qas", "--clusterrole=admin", "--group=qa")
        result = await self.carls().run("auth", "reconcile", "-f", "-", stdin=self.manifest("use", "carl"))
        self.assertEqual(result.status, 1)
        self.assertIn('is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""]', result.errors)
