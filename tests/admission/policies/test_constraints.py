"""Constraints that are parsed, and the writes that they match (reference POLICY-3)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.policies.constraints import ALL_WRITES, Constraints, constraints_of
from tests.admission.asked import resource
from tests.admission.policies.case import MAPS_RULE

SCALERS = {**MAPS_RULE, "apiGroups": ["autoscaling"], "apiVersions": ["v1"], "resources": ["*"]}
V1, V2 = (resource("horizontalpodautoscalers", f"autoscaling/{version}") for version in ("v1", "v2"))
MAPS = resource("configmaps")


def only(*rules: Any, **more: Any) -> Constraints:
    """Return constraints with these rules."""
    return constraints_of({"resourceRules": list(rules), **more})


class ConstraintTests(SynchronousTestCase):
    def test_none(self) -> None:
        """Without constraints every write is matched as it was requested."""
        self.assertIs(constraints_of(None), ALL_WRITES)
        self.assertIs(ALL_WRITES.seen_as("CREATE", MAPS, (), "", "x"), MAPS)

    def test_rules(self) -> None:
        """A write is matched by a rule for its resource and operation."""
        rules = only({**MAPS_RULE, "operations": ["UPDATE"]})
        self.assertIs(rules.seen_as("UPDATE", MAPS, (), "", "x"), MAPS)
        self.assertIsNone(rules.seen_as("CREATE", MAPS, (), "", "x"))
        self.assertIsNone(rules.seen_as("UPDATE", resource("secrets"), (), "", "x"))

    def test_versions(self) -> None:
        """Another version of the resource serves as well, unless the matchPolicy is Exact."""
        self.assertIs(only(SCALERS).seen_as("CREATE", V2, (V1,), "", "x"), V1)
        self.assertIsNone(only(SCALERS, matchPolicy="Exact").seen_as("CREATE", V2, (V1,), "", "x"))

    def test_excluded(self) -> None:
        """A write that an excluding rule matches, in any version, is not matched."""
        rules = constraints_of({"excludeResourceRules": [SCALERS]})
        self.assertIsNone(rules.seen_as("CREATE", V2, (V1,), "", "x"))
        self.assertIs(rules.seen_as("CREATE", MAPS, (), "", "x"), MAPS)

    def test_names(self) -> None:
        """Rules may be for some names; for any name, they match whatever they match for one."""
        rules = only(
            {**MAPS_RULE, "resourceNames": ["x"]}, excludeResourceRules=[{**SCALERS, "resourceNames": ["y"]}]
        )
        self.assertTrue(rules.named)
        self.assertIs(rules.seen_as("CREATE", MAPS, (), "", "x"), MAPS)
        self.assertIsNone(rules.seen_as("CREATE", MAPS, (), "", "y"))
        free = rules.of_any_name
        self.assertFalse(free.named)
        self.assertEqual(free.excluded, ())
        self.assertIs(free.seen_as("CREATE", MAPS, (), "", "y"), MAPS)
