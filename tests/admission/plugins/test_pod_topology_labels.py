"""Labels of pods with the zone and region of their nodes (reference PLUG-111)."""

from __future__ import annotations

from orchtw.wire.objects import Object
from tests.admission.plugins.served import PluginCase, pod
from tests.emulated import since

ZONE, REGION = "topology.orch.io/zone", "topology.orch.io/region"
LABELS = {ZONE: "z1", REGION: "r1", "other": "x"}


class TopologyCase(PluginCase):
    name = "PodTopologyLabels"

    def setUp(self) -> None:
        super().setUp()
        self.done("POST", "/api/v1/nodes", {"metadata": {"name": "n", "labels": LABELS}})

    def labels(self, obj: Object) -> Object:
        found: Object = obj["metadata"].get("labels") or {}
        return found


@since((1, 33))
class PodTopologyLabelsTests(TopologyCase):
    more = {**PluginCase.more, "feature_gates": (("PodTopologyLabelsAdmission", "true"),)}

    def test_created(self) -> None:
        """A pod that is created with a node gets its zone and region, but no other label (reference PLUG-111)."""
        made = self.done("POST", "pods", pod(nodeName="n"))
        self.assertEqual(self.labels(made), {REGION: "r1", ZONE: "z1"})
        own = pod("q", nodeName="n")
        own["metadata"]["labels"] = {ZONE: "mine", "a": "b"}
        self.assertEqual(self.labels(self.done("POST", "pods", own)), {"a": "b", REGION: "r1", ZONE: "z1"})

    def test_without_node(self) -> None:
        """A pod without a node, or with one that is not there, stays as it is (reference PLUG-111)."""
        self.assertEqual(self.labels(self.done("POST", "pods", pod("a"))), {})
        self.assertEqual(self.labels(self.done("POST", "pods", pod("b", nodeName="gone"))), {})

    def test_bound(self) -> None:
        """A bound pod gets them, and the labels of the Binding, by way of either resource (reference PLUG-111)."""
        first = pod("a")
        first["metadata"]["labels"] = {"own": "mine", "both": "mine", ZONE: "mine"}
        self.done("POST", "pods", first)
        target = {"kind": "Node", "name": "n"}
        meta = {"name": "a", "labels": {"both": "theirs", "more": "1", ZONE: "theirs"}}
        self.done("POST", "pods/a/binding", {"metadata": meta, "target": target})
        expected = {"own": "mine", "both": "theirs", "more": "1", REGION: "r1", ZONE: "z1"}
        self.assertEqual(self.labels(self.done("GET", "pods/a")), expected)


@since((1, 33))
class GateOffTests(TopologyCase):
    def test_off(self) -> None:
        """Without the gate no pod gets a label (reference PLUG-111)."""
        self.assertEqual(self.labels(self.done("POST", "pods", pod(nodeName="n"))), {})
        self.done("POST", "pods", pod("a"))
        binding = {"metadata": {"name": "a", "labels": {"more": "1"}}, "target": {"kind": "Node", "name": "n"}}
        self.done("POST", "pods/a/binding", binding)
        self.assertEqual(self.labels(self.done("GET", "pods/a")), {})
