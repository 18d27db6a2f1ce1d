"""The controller that gathers the rules of ClusterRoles (reference CTRL-29)."""

from __future__ import annotations

from typing import Any

from orchtw.rules.delete_options import DeleteOptions
from orchtw.wire.objects import Object
from tests.controllers.controlled import ControllerTestCase

V1 = "rbac.authorization.orch.io/v1"
AGGREGATION: Object = {"clusterRoleSelectors": [{"matchLabels": {"to": "all"}}, {"matchLabels": {"also": "yes"}}]}


def rule(verb: str) -> Object:
    """A rule that is known by its verb."""
    return {"verbs": [verb], "apiGroups": [""], "resources": ["pods"]}


class AggregationTests(ControllerTestCase):
    names = ("clusterrole-aggregation",)

    def role(self, name: str, labels: dict[str, str], *verbs: str, **more: Any) -> None:
        """Create a ClusterRole and settle."""
        obj = {"metadata": {"name": name, "labels": labels}, "rules": [rule(verb) for verb in verbs], **more}
        resource = self.world.resource("clusterroles", V1)
        self.world.run(self.world.client.create(resource, "", obj))
        self.world.settle()

    def verbs(self, name: str) -> list[str]:
        """The verbs of a ClusterRole's rules."""
        obj = self.world.run(self.world.client.get(self.world.resource("clusterroles", V1), "", name))
        return [each["verbs"][0] for each in obj.get("rules") or ()]

    def change(self, name: str, **members: Any) -> None:
        """Patch a ClusterRole and settle."""
        self.world.run(self.world.client.patch(self.world.resource("clusterroles", V1), "", name, members))
        self.world.settle()

    def test_gathered(self) -> None:
        """Selected roles come by selector, then by name, each rule once, itself excluded."""
        self.role("b", {"to": "all"}, "two", "one")
        self.role("c", {"also": "yes"}, "three")
        self.role("all", {"to": "all"}, "own", aggregationRule=AGGREGATION)
        self.role("a", {"to": "all"}, "one")
        self.role("other", {}, "four")
        self.assertEqual(self.verbs("all"), ["one", "two", "three"])

    def test_followed(self) -> None:
        """Changes of labels, rules and roles show; rules set by hand do not last."""
        self.role("all", {}, aggregationRule=AGGREGATION)
        self.role("a", {"to": "all"}, "one")
        self.change("all", rules=[rule("mine")])
        self.assertEqual(self.verbs("all"), ["one"])
        self.change("a", rules=[rule("two")])
        self.assertEqual(self.verbs("all"), ["two"])
        self.change("a", metadata={"labels": {"to": None}})
        self.assertEqual(self.verbs("all"), [])
        self.change("a", metadata={"labels": {"also": "yes"}})
        self.assertEqual(self.verbs("all"), ["two"])
        self.world.run(
            self.world.client.delete(self.world.resource("clusterroles", V1), "", "a", DeleteOptions())
        )
        self.world.settle()
        self.assertEqual(self.verbs("all"), [])

    def test_in_a_row(self) -> None:
        """A role that gathers may itself be gathered."""
        self.role("top", {}, aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"to": "top"}}]})
        self.role("all", {"to": "top"}, aggregationRule=AGGREGATION)
        self.role("a", {"to": "all"}, "one")
        self.assertEqual(self.verbs("top"), ["one"])

    def test_no_more(self) -> None:
        """A role whose aggregationRule was removed keeps its rules and is left alone."""
        self.role("all", {}, aggregationRule=AGGREGATION)
        self.role("a", {"to": "all"}, "one")
        self.change("all", aggregationRule=None)
        self.change("a", rules=[rule("two")])
        self.assertEqual(self.verbs("all"), ["one"])

    def test_owner(self) -> None:
        """The controller takes over the rules from any owner; other fields keep theirs (reference CTRL-29)."""
        self.role("all", {"mine": "yes"}, "own", aggregationRule=AGGREGATION)
        self.role("a", {"to": "all"}, "one")
        obj = self.world.run(self.world.client.get(self.world.resource("clusterroles", V1), "", "all"))
        entries = {entry["operation"]: entry for entry in obj["metadata"]["managedFields"]}
        self.assertEqual(entries["Apply"]["manager"], "clusterrole-aggregation-controller")
        self.assertEqual(entries["Apply"]["fieldsV1"], {"f:rules": {}})
        self.assertNotIn("f:rules", entries["Update"]["fieldsV1"])
        self.assertEqual((obj["metadata"]["labels"], len(obj["aggregationRule"])), ({"mine": "yes"}, 1))
