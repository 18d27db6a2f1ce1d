"""Field sets in the names of another vocabulary."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.renaming.fields import Fields
from orchtw.renaming.identifiers import Names
from orchtw.renaming.value_functions import ValueFunctions
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.wire.objects import Object

CODECS = Codecs(Catalogue.load(Naming.kubernetes()))
GROUPS = [Naming.kubernetes().neutral(group.name) for group in CODECS.catalogue.groups]


class FieldsTests(SynchronousTestCase):
    """From orch to kubernetes; the sets are about objects under the new JSON keys."""

    def setUp(self) -> None:
        self.fields = Fields(ValueFunctions(Names(Naming.orch(), Naming.kubernetes(), GROUPS)))

    def translated(self, tree: Object, kind: str = "Pod", api_version: str = "v1") -> Object:
        """A set about an object of a kind."""
        return self.fields.translate(tree, CODECS.kind(api_version, kind).schema)

    def test_keys_of_maps(self) -> None:
        """Steps into labels and the like are names; those of users stay."""
        tree: Object = {"f:metadata": {"f:labels": {".": {}, "f:orch.io/arch": {}, "f:zone": {}}}}
        expected: Object = {"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/arch": {}, "f:zone": {}}}}
        self.assertEqual(self.translated(tree), expected)

    def test_values_of_sets(self) -> None:
        """So are the members of a set, such as the finalizers."""
        tree: Object = {"f:metadata": {"f:finalizers": {'v:"orch.io/pvc-protection"': {}, 'v:"x"': {}}}}
        expected: Object = {"f:metadata": {"f:finalizers": {'v:"kubernetes.io/pvc-protection"': {}, 'v:"x"': {}}}}
        self.assertEqual(self.translated(tree), expected)

    def test_keys_of_lists(self) -> None:
        """And the keys of a list's elements, below which the set goes on."""
        one: Object = {"f:spec": {"f:topologySpreadConstraints": {
            'k:{"topologyKey":"topology.orch.io/zone","whenUnsatisfiable":"DoNotSchedule"}': {".": {}}
        }}}  # fmt: skip
        other: Object = {"f:spec": {"f:topologySpreadConstraints": {
            'k:{"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule"}': {".": {}}
        }}}  # fmt: skip
        self.assertEqual(self.translated(one), other)

    def test_names_of_fields(self) -> None:
        """A field that bears the product's name has the other one."""
        tree: Object = {"f:status": {"f:nodeInfo": {"f:orchletVersion": {}, "f:osImage": {}}}}
        self.assertEqual(
            self.translated(tree, "Node"), {"f:status": {"f:nodeInfo": {"f:kubeletVersion": {}, "f:osImage": {}}}}
        )

    def test_order(self) -> None:
        """The new set is in the order of sets."""
        tree: Object = {"f:metadata": {"f:labels": {"f:a": {}, "f:orch.io/arch": {}, "f:pod": {}}}}
        found = self.translated(tree)["f:metadata"]["f:labels"]
        self.assertEqual(list(found), ["f:a", "f:kubernetes.io/arch", "f:pod"])
        tree = {"f:metadata": {"f:labels": {"f:m": {}, "f:orch.io/arch": {}}}}
        self.assertEqual(
            list(self.translated(tree)["f:metadata"]["f:labels"]), ["f:kubernetes.io/arch", "f:m"]
        )

    def test_taken_names(self) -> None:
        """A step whose new name is already there keeps the old one, so that nothing is lost."""
        tree: Object = {"f:metadata": {"f:labels": {"f:kubernetes.io/arch": {}, "f:orch.io/arch": {}}}}
        self.assertIs(self.translated(tree), tree)

    def test_nothing_to_do(self) -> None:
        """A set without any such name comes back itself; so does one about fields that nobody knows."""
        trees: tuple[Object, ...] = (
            {"f:spec": {"f:containers": {'k:{"name":"orch.io/arch"}': {"f:image": {}}}}},
            {"f:unknown": {"f:orch.io/arch": {}}},
            {"f:data": {"f:orch.io/arch": {}}},
            {"i:0": {}},
            {},
        )
        for tree in trees:
            self.assertIs(self.translated(tree), tree)

    def test_no_set(self) -> None:
        """An invalid field set raises ValueError."""
        self.assertRaises(ValueError, self.translated, {"nonsense": {}})
