"""The operators' definitions are what they are to be: valid, large, and in both vocabularies."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions.validation import validate_definition
from tests.definitions.build import definition_nodes, in_vocabulary
from tests.definitions.sets import OPERATORS, plural_of


class OperatorTests(SynchronousTestCase):
    def test_valid(self) -> None:
        """Every definition is valid as it is (reference CRD-1)."""
        for naming in (Naming.orch(), Naming.kubernetes()):
            for operator in OPERATORS.values():
                for plain in operator.definitions():
                    definition = in_vocabulary(plain, naming)
                    causes = validate_definition(definition, None, naming)
                    expected = ["status.storedVersions"]  # that the strategy fills
                    self.assertEqual([cause.field for cause in causes], expected, causes[:3])

    def test_size(self) -> None:
        """Each operator has 5 to 15 versions, and all together have thousands of schemas."""
        nodes = {}
        for name, operator in OPERATORS.items():
            definitions = operator.definitions()
            self.assertIn(sum(len(each["spec"]["versions"]) for each in definitions), range(5, 16))
            nodes[name] = sum(map(definition_nodes, definitions))
        self.assertGreater(nodes["monitoring"], 6000)
        self.assertGreater(sum(nodes.values()), 14000)
        self.assertGreater(max(map(definition_nodes, OPERATORS["monitoring"].definitions())), 3000)

    def test_samples(self) -> None:
        """There is an object of each kind, in the version that is stored."""
        for operator in OPERATORS.values():
            definitions = operator.definitions()
            stored = {
                f"{each['spec']['group']}/{version['name']}/{each['spec']['names']['plural']}"
                for each in definitions
                for version in each["spec"]["versions"]
                if version["storage"]
            }
            found = {f"{each['apiVersion']}/{plural_of(definitions, each)}" for each in operator.objects()}
            self.assertEqual(found, stored)
