"""Translations of values, compiled from schema nodes and the table of positions."""
# covers: orchtw.renaming.positions

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.renaming.identifiers import Names
from orchtw.renaming.positions import IN, IN_NAMESPACES, OBJECTS
from orchtw.renaming.value_functions import ValueFunctions, renamed_keys
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.kinds import GroupKind

CODECS = Codecs(Catalogue.load(Naming.kubernetes()))
NAMING = CODECS.catalogue.naming
GROUPS = [NAMING.neutral(group.name) for group in CODECS.catalogue.groups]


def upper(name: str) -> str:
    """A rule that a test can see: names with a slash are in capitals."""
    return name.upper() if "/" in name else name


class PositionTests(SynchronousTestCase):
    def test_every_rule_is_there(self) -> None:
        """Each rule of the table is a method of `Names`."""
        for method in {*IN.values(), *OBJECTS.values(), *IN_NAMESPACES.values()}:
            self.assertTrue(callable(getattr(Names, method)), method)

    def test_every_kind_is_there(self) -> None:
        """Each object of the table is a kind of the API, or a subject of its rules."""
        kinds = {GroupKind.of(each.group, each.kind, NAMING) for each in CODECS.catalogue.resources}
        rbac = "rbac.authorization.orch.io"
        subjects = {GroupKind(rbac, "User"), GroupKind(rbac, "Group")}
        self.assertEqual({*OBJECTS, *IN_NAMESPACES} - kinds, subjects)


class ValuesTests(SynchronousTestCase):
    """From orch to kubernetes."""

    def setUp(self) -> None:
        self.values = ValueFunctions(Names(Naming.orch(), Naming.kubernetes(), GROUPS))

    def translated(self, kind: str, obj: dict[str, Any], api_version: str = "v1") -> dict[str, Any]:
        """An object of a kind under its new JSON keys."""
        run = self.values.struct(CODECS.kind(api_version, kind).schema)
        assert run is not None
        found: dict[str, Any] = run(obj)
        return found

    def test_lists_and_maps(self) -> None:
        """Names are found in lists of objects, in keys of maps and in maps of quantities, however deep."""
        pod = {"spec": {
            "tolerations": [{"key": "node.orch.io/not-ready"}, {"key": "mine"}],
            "nodeSelector": {"orch.io/os": "linux", "b": "c"},
            "containers": [{"name": "c", "resources": {"limits": {"orch.io/batteries": "1", "cpu": "2"}}}],
        }}  # fmt: skip
        spec = self.translated("Pod", pod)["spec"]
        self.assertEqual(spec["tolerations"], [{"key": "node.kubernetes.io/not-ready"}, {"key": "mine"}])
        self.assertEqual(spec["nodeSelector"], {"b": "c", "kubernetes.io/os": "linux"})
        self.assertEqual(
            spec["containers"][0]["resources"]["limits"], {"cpu": "2", "kubernetes.io/batteries": "1"}
        )

    def test_references(self) -> None:
        """References are translated as their targets are, by group, kind and namespace."""
        event = {"involvedObject": {"kind": "Service", "namespace": "default", "name": "orch"}}
        self.assertEqual(
            self.translated("Event", event)["involvedObject"],
            {"kind": "Service", "namespace": "default", "name": "kubernetes"},
        )
        binding = {"subjects": [
            {"kind": "User", "apiGroup": "rbac.authorization.orch.io", "name": "system:orch-scheduler"},
            {"kind": "ServiceAccount", "namespace": "orch-system", "name": "orch-dns"},
        ]}  # fmt: skip
        found = self.translated("RoleBinding", binding, "rbac.authorization.k8s.io/v1")["subjects"]
        self.assertEqual(
            found,
            [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "system:kube-scheduler"},
             {"kind": "ServiceAccount", "namespace": "kube-system", "name": "orch-dns"}],
        )  # fmt: skip

    def test_selectors(self) -> None:
        """A selector by the label with a namespace's name has that name's translation, by values too."""
        policy = {"spec": {"ingress": [{"from": [{"namespaceSelector": {
            "matchLabels": {"orch.io/metadata.name": "orch-system", "x": "orch-system"},
            "matchExpressions": [{"key": "orch.io/metadata.name", "operator": "In", "values": ["orch-public", "a"]}],
        }}]}]}}  # fmt: skip
        found = self.translated("NetworkPolicy", policy, "networking.k8s.io/v1")
        selector = found["spec"]["ingress"][0]["from"][0]["namespaceSelector"]
        self.assertEqual(
            selector,
            {"matchLabels": {"kubernetes.io/metadata.name": "kube-system", "x": "orch-system"},
             "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In",
                                   "values": ["kube-public", "a"]}]},
        )  # fmt: skip

    def test_same_object(self) -> None:
        """An object without such names comes back as the same object."""
        pod = {"spec": {"containers": [{"name": "orch"}], "nodeSelector": {"a": "b"}}}
        self.assertIs(self.translated("Pod", pod), pod)


class KeysTests(SynchronousTestCase):
    def test_order(self) -> None:
        """The new map is in the order of its new keys; without any, it is the very map."""
        found = renamed_keys({"a/b": "1", "c": "2"}, upper)
        self.assertEqual(list(found.items()), [("A/B", "1"), ("c", "2")])
        plain = {"b": "1", "a": "2"}
        self.assertIs(renamed_keys(plain, upper), plain)

    def test_taken(self) -> None:
        """A key whose new name is taken keeps the old one."""
        self.assertEqual(renamed_keys({"A/B": "1", "a/b": "2"}, upper), {"A/B": "1", "a/b": "2"})

    def test_values(self) -> None:
        """Values are translated by the old key."""
        found = renamed_keys({"a/b": "x", "c": "x"}, upper, lambda key, value: f"{key}={value}")
        self.assertEqual(found, {"A/B": "a/b=x", "c": "c=x"})
