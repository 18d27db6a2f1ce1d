"""The roles and bindings of every installation, as data, in both vocabularies."""

from __future__ import annotations

import re
from itertools import product, takewhile
from pathlib import Path

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.bootstrap.rbac import expected_objects
from orchtw.naming.naming import Naming
from orchtw.wire.objects import Object


class ExpectedTests(SynchronousTestCase):
    def test_other_vocabulary(self) -> None:
        """With the other vocabulary no neutral name is left (reference ROLE-8)."""
        objects = list(expected_objects(Naming.kubernetes()))
        self.assertNotIn(b"orch", orjson.dumps(objects))
        names = {obj["metadata"]["name"] for _, obj in objects}
        self.assertLess({"system:kube-scheduler", "system:kubelet-api-admin", "system:kube-dns"}, names)
        meta = dict(objects)["clusterroles"]["metadata"]
        self.assertEqual(meta["annotations"], {"rbac.authorization.kubernetes.io/autoupdate": "true"})

    def test_each_controller_has_its_role(self) -> None:
        """A controller's role is bound to the service account of its name (reference ROLE-9)."""
        objects = list(expected_objects(Naming.orch()))
        bound = {obj["metadata"]["name"]: obj for plural, obj in objects if plural == "clusterrolebindings"}
        roles = [obj["metadata"]["name"] for plural, obj in objects if plural == "clusterroles"]
        for name in roles:
            prefix, _, account = name.rpartition(":")
            if prefix == "system:controller":
                [subject] = bound[name]["subjects"]
                self.assertEqual(
                    subject, {"kind": "ServiceAccount", "name": account, "namespace": "orch-system"}
                )
        self.assertNotIn("subjects", bound["system:node"])

    def test_bindings_have_their_roles(self) -> None:
        """No binding leads to a role that is not made (reference ROLE-9, ROLE-11)."""
        objects = list(expected_objects(Naming.orch()))
        made = {
            (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
            for plural, obj in objects if plural in ("roles", "clusterroles")
        }  # fmt: skip
        for _, obj in objects:
            if role := obj.get("roleRef"):
                scope = obj["metadata"].get("namespace", "") if role["kind"] == "Role" else ""
                self.assertIn((scope, role["name"]), made)


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "bootstrap-roles.md"
READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")
WORDS = {"read": READ, "write": WRITE, "record": ("create", "patch", "update"), "all": ("*",)}
LABEL = "rbac.authorization.orch.io/"

Atom = tuple[str, str, str, str]
"""Group (`path` for a path), resource or path, name, and verb."""


def rows(rule: str) -> list[list[str]]:
    """The rows of the first table behind a rule, cell by cell."""
    lines = PAGE.read_text().partition(f"**{rule}**")[2].splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("|---")) + 1
    table = takewhile(lambda line: line.startswith("|"), lines[first:])
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]


def told(text: str) -> tuple[set[Atom], set[str], set[str]]:
    """Parse a row: single rights, the role's labels, and those that it aggregates by."""
    atoms: set[Atom] = set()
    labels: set[str] = set()
    gathered: set[str] = set()
    for part in text.split("; "):
        names = re.findall("`([^`]+)`", part)
        if part.startswith("label "):
            labels.update(names)
            continue
        if part.startswith("gathers "):
            gathered.update(names)
            continue
        what, _, verbs = part.rpartition(": ")
        wanted = [verb for word in verbs.split(", ") for verb in WORDS.get(word, (word,))]
        if part.startswith("paths "):
            atoms.update(("path", path, "", verb) for path in names for verb in wanted)
            continue
        groups = what.partition(" `")[0].split(" and ")
        named = names[1:] if " named " in what else [""]
        kinds = {"core": "", "any group": "*"}
        atoms.update(
            (kinds.get(group, group), resource, name, verb)
            for group in groups for resource in names[0].split() for name in named for verb in wanted
        )  # fmt: skip
    return atoms, labels, gathered


def given(role: Object) -> tuple[set[Atom], set[str], set[str]]:
    """The same of a role that is made."""
    atoms: set[Atom] = set()
    for rule in role.get("rules") or ():
        atoms.update(product(("path",), rule.get("nonResourceURLs", ()), ("",), rule["verbs"]))
        atoms.update(product(
            rule.get("apiGroups", ()), rule.get("resources", ()), rule.get("resourceNames") or [""], rule["verbs"]
        ))  # fmt: skip
    labels = {key.removeprefix(LABEL) for key in role["metadata"]["labels"] if key.startswith(LABEL)}
    selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors", ())
    return atoms, labels, {key.removeprefix(LABEL) for each in selectors for key in each["matchLabels"]}


class PageTests(SynchronousTestCase):
    """Row by row, what is made is what the reference page says."""

    def setUp(self) -> None:
        self.made = {
            (plural, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]): obj
            for plural, obj in expected_objects(Naming.orch())
        }

    def of(self, plural: str) -> dict[str, Object]:
        """All objects of a kind, by namespace, if any, and name."""
        return {
            f"{namespace} {name}".strip(): obj for (kind, namespace, name), obj in self.made.items() if kind == plural
        }

    def test_cluster_roles(self) -> None:
        """Each row of the table is a ClusterRole, and there is no other (reference ROLE-7, ROLE-8)."""
        roles = self.of("clusterroles")
        expected = {name.strip("`"): told(text) for name, text in rows("ROLE-8")}
        self.assertEqual(set(expected), set(roles))
        for name, row in expected.items():
            self.assertEqual(given(roles[name]), row, name)

    def test_roles(self) -> None:
        """Each row of the table is a Role, and there is no other (reference ROLE-10)."""
        roles = self.of("roles")
        expected = {name.replace("`", ""): told(text) for name, text in rows("ROLE-10")}
        self.assertEqual(set(expected), set(roles))
        for name, row in expected.items():
            self.assertEqual(given(roles[name]), row, name)

    def subjects(self, binding: Object) -> list[str]:
        """Its subjects, in the page's words."""
        words = {"User": "user", "Group": "group", "ServiceAccount": "service account"}
        return [
            f"{words[each['kind']]} `{each['namespace'] + '/' if 'namespace' in each else ''}{each['name']}`"
            for each in binding.get("subjects") or ()
        ]

    def test_cluster_bindings(self) -> None:
        """Each row is a binding to the role of its name; controllers have one each (reference ROLE-9)."""
        bindings = self.of("clusterrolebindings")
        expected = {name.strip("`"): text for name, text in rows("ROLE-9")}
        controllers = {name for name in bindings if name.startswith("system:controller:")}
        self.assertEqual(set(expected) | controllers, set(bindings))
        for name, text in expected.items():
            self.assertEqual(bindings[name]["roleRef"]["name"], name)
            self.assertEqual(", ".join(self.subjects(bindings[name])) or "nobody", text)

    def test_bindings(self) -> None:
        """Each row is a RoleBinding, and there is no other (reference ROLE-11)."""
        bindings = self.of("rolebindings")
        expected = {name.replace("`", ""): (role.strip("`"), text) for name, role, text in rows("ROLE-11")}
        self.assertEqual(set(expected), set(bindings))
        for name, (role, text) in expected.items():
            self.assertEqual((bindings[name]["roleRef"]["kind"], bindings[name]["roleRef"]["name"]), ("Role", role))
            self.assertEqual(", ".join(self.subjects(bindings[name])), text)
