"""Adoption and release of dependents."""

from __future__ import annotations

from orchtw.simulation.workloads.claiming import Claimer, parse_selector
from orchtw.wire.objects import Object
from tests.simulation.workloads.case import LABELS, SPEC, TEMPLATE, WorkloadCase


class SelectorTests(WorkloadCase):
    def test_malformed(self) -> None:
        """A selector with an unknown operator selects nothing; that of stored objects may have one."""
        selector = parse_selector({"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]})
        self.assertFalse(selector.matches({"a": "b"}))
        self.assertTrue(parse_selector({"matchLabels": LABELS}).matches({**LABELS, "x": "y"}))


class ClaimerTests(WorkloadCase):
    def setUp(self) -> None:
        super().setUp()
        informer = self.simulated.informer("", "pods")
        informer.start()
        self.addCleanup(informer.stop)
        self.claimer = Claimer(self.world.client, informer, self.world.resource("replicasets", "apps/v1"))
        spec = {"replicas": 0, "selector": {"matchLabels": LABELS}, "template": TEMPLATE}
        self.owner = self.create("replicasets", {"metadata": {"name": "web"}, "spec": spec})
        other: Object = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1"}
        pod = {"metadata": {"name": "p", "labels": LABELS, "ownerReferences": [other]}, "spec": SPEC}
        self.create("pods", pod, "v1")

    def owners(self) -> list[str]:
        """Names of the pod's owners."""
        return [each["name"] for each in self.get("pods", "p", "v1")["metadata"].get("ownerReferences", ())]

    def test_adoption(self) -> None:
        """An adopted dependent keeps its other owners, also when it is released."""
        self.world.run(self.claimer.adopt(self.owner, ["a/p", "a/gone"]))
        self.assertEqual(self.owners(), ["n", "web"])
        self.world.run(self.claimer.release(self.owner, ["a/p"]))
        self.assertEqual(self.owners(), ["n"])

    def test_deleted_owner(self) -> None:
        """An owner that has been replaced under its name adopts nothing."""
        self.delete("replicasets", "web")
        spec = self.owner["spec"]
        self.create("replicasets", {"metadata": {"name": "web"}, "spec": spec})
        with self.assertRaises(Exception) as caught:
            self.world.run(self.claimer.adopt(self.owner, ["a/p"]))
        self.assertIn("has been deleted", str(caught.exception))
        self.assertEqual(self.owners(), ["n"])
