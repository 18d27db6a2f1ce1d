"""Roles and bindings as objects: fields, defaults, and what is wrong with them (reference AUTHZ-10 to AUTHZ-15)."""

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object
from tests.verbs.answered import Case

GROUP = "rbac.authorization.orch.io"
BASE = f"/apis/{GROUP}/v1"
HERE = f"{BASE}/namespaces/default"
PODS: Object = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
VIEW: Object = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "view"}


class ObjectCase(Case):
    async def causes(self, path: str, **fields: Any) -> list[str]:
        """Return the causes for an object of these fields."""
        status = (await self.send("POST", path, 422, {"metadata": {"name": "x"}, **fields})).json
        return [f"{cause['field']}: {cause['message']}" for cause in status["details"]["causes"]]

    async def stored(self, path: str, **fields: Any) -> Object:
        """An object of these fields, as it is stored."""
        obj: Object = (await self.send("POST", path, 201, {"metadata": {"name": "x"}, **fields})).json
        return obj


class RoleTests(ObjectCase):
    async def test_rules_of_resources(self) -> None:
        """Verbs, groups and resources are needed, each by its text (reference AUTHZ-11, AUTHZ-14)."""
        for path in (f"{HERE}/roles", f"{BASE}/clusterroles"):
            self.assertEqual(await self.causes(path, rules=[{}, PODS]), [
                "rules[0].verbs: Required value: verbs must contain at least one value",
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
            ])  # fmt: skip

    async def test_rules_of_paths(self) -> None:
        """Paths are for rules of ClusterRoles that have nothing else (reference AUTHZ-11, AUTHZ-14)."""
        paths = {"verbs": ["get"], "nonResourceURLs": ["/a"]}
        text = "rules cannot apply to both regular resources and non-resource URLs"
        self.assertEqual(
            await self.causes(f"{BASE}/clusterroles", rules=[{**PODS, **paths}]),
            [f'rules[0].nonResourceURLs: Invalid value: []string{{"/a"}}: {text}'],
        )
        told = await self.causes(f"{HERE}/roles", rules=[paths])
        text = "namespaced rules cannot apply to non-resource URLs"
        self.assertEqual(told[0], f'rules[0].nonResourceURLs: Invalid value: []string{{"/a"}}: {text}')
        await self.stored(f"{BASE}/clusterroles", rules=[paths])

    async def test_aggregation(self) -> None:
        """A rule of aggregation has selectors, which can be read (reference AUTHZ-12, AUTHZ-14)."""
        text = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        self.assertEqual(
            await self.causes(f"{BASE}/clusterroles", aggregationRule={}),
            [f"aggregationRule.clusterRoleSelectors: Required value: {text}"],
        )
        wrong = {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Is"}]}]}
        told = await self.causes(f"{BASE}/clusterroles", aggregationRule=wrong)
        self.assertTrue(told[0].startswith("aggregationRule.clusterRoleSelectors"), told)

    async def test_free_words(self) -> None:
        """Any words will do in rules, and no rules at all; names may hold colons (reference AUTHZ-10, AUTHZ-15)."""
        rules = [{"verbs": ["dance"], "apiGroups": ["*", "no.such"], "resources": ["*/x"], "resourceNames": ["a b"]}]
        body = {"metadata": {"name": "a:B:c_d"}, "rules": rules}
        self.assertEqual((await self.send("POST", f"{HERE}/roles", 201, body)).json["rules"], rules)
        self.assertEqual((await self.stored(f"{HERE}/roles"))["rules"], None)
        for name in ("a/b", "..", "a%b"):
            status = (await self.send("POST", f"{HERE}/roles", 422, {"metadata": {"name": name}})).json
            self.assertEqual(status["details"]["causes"][0]["field"], "metadata.name")


class BindingTests(ObjectCase):
    async def test_defaults(self) -> None:
        """The group of a role is filled in, and that of users and groups, not of accounts (reference AUTHZ-15)."""
        subjects = [
            {"kind": "User", "name": "a"},
            {"kind": "Group", "name": "b"},
            {"kind": "ServiceAccount", "name": "c", "namespace": "default"},
        ]
        role = {"kind": "ClusterRole", "name": "view"}
        for path in (f"{HERE}/rolebindings", f"{BASE}/clusterrolebindings"):
            obj = await self.stored(path, roleRef=role, subjects=subjects)
            self.assertEqual(obj["roleRef"], {**role, "apiGroup": GROUP})
            self.assertEqual([each.get("apiGroup") for each in obj["subjects"]], [GROUP, GROUP, None])

    async def test_role(self) -> None:
        """A binding leads to a role of a kind that fits, by name (reference AUTHZ-13, AUTHZ-14)."""
        both = '"Role", "ClusterRole"'
        for path, kinds in ((f"{HERE}/rolebindings", both), (f"{BASE}/clusterrolebindings", '"ClusterRole"')):
            told = await self.causes(path, roleRef={"apiGroup": "x", "kind": "Thing", "name": ""})
            self.assertEqual(told, [
                f'roleRef.apiGroup: Unsupported value: "x": supported values: "{GROUP}"',
                f'roleRef.kind: Unsupported value: "Thing": supported values: {kinds}',
                "roleRef.name: Required value",
            ])  # fmt: skip

    async def test_subjects(self) -> None:
        """Subjects have a known kind and a name, accounts in the cluster a namespace (AUTHZ-13, AUTHZ-14)."""
        subjects = [
            {"kind": "User", "name": ""},
            {"kind": "ServiceAccount", "name": "a"},
            {"kind": "Z", "name": "b"},
            {"kind": "Group", "name": "c", "apiGroup": "x"},
            {"kind": "ServiceAccount", "name": "D", "namespace": "a", "apiGroup": "x"},
        ]
        told = await self.causes(f"{BASE}/clusterrolebindings", roleRef=VIEW, subjects=subjects)
        for text in (
            "subjects[0].name: Required value",
            "subjects[1].namespace: Required value",
            'subjects[2].kind: Unsupported value: "Z": supported values: "ServiceAccount", "User", "Group"',
            f'subjects[3].apiGroup: Unsupported value: "x": supported values: "{GROUP}"',
            'subjects[4].apiGroup: Unsupported value: "x": supported values: ""',
        ):
            self.assertIn(text, told)
        self.assertTrue(any(text.startswith('subjects[4].name: Invalid value: "D": ') for text in told), told)
        self.assertEqual(len(told), 6)

    async def test_role_is_for_ever(self) -> None:
        """roleRef never changes, subjects do (reference AUTHZ-13)."""
        path = f"{HERE}/rolebindings"
        obj = await self.stored(path, roleRef=VIEW, subjects=[])
        changed = {**obj, "roleRef": {**VIEW, "name": "edit"}}
        status = (await self.send("PUT", f"{path}/x", 422, changed)).json
        self.assertEqual(status["details"]["causes"][0]["field"], "roleRef")
        shown = f'rbac.RoleRef{{APIGroup:"{GROUP}", Kind:"ClusterRole", Name:"edit"}}'
        self.assertIn(f"roleRef: Invalid value: {shown}: cannot change roleRef", status["message"])
        await self.send("PUT", f"{path}/x", 200, {**obj, "subjects": [{"kind": "User", "name": "a"}]})
