"""Ways to simulated nodes and pods (reference SIM-24)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.outbound.tls import ClientTLS
from orchtw.simulation.agent.places import UNREACHABLE_PORT, SimulatedPlaces, split_place
from tests.simulation.pods.cases import pod


def node(**marks: str) -> dict[str, Any]:
    """A node with annotations of the simulation."""
    annotations = {f"simulate.orch.io/{key}": value for key, value in marks.items()}
    return {"metadata": {"name": "n", "annotations": annotations}}


class PlacesTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.places = SimulatedPlaces(ClientTLS(), lambda: 1234)

    def test_simulated(self) -> None:
        """A simulated node's agent and pods are paths of the one agent on loopback."""
        agent, web = self.places.agent(node(managed="true")), self.places.pod(node(managed="true"), pod(), "")
        assert agent is not None and web is not None
        self.assertEqual((agent.host, agent.port, agent.prefix), ("127.0.0.1", 1234, "/nodes/n"))
        self.assertEqual((web.port, web.prefix), (1234, "/pods/a/p/80"))

    def test_others(self) -> None:
        """Any other node is reached by its address."""
        self.assertIsNone(self.places.agent(node()))
        self.assertIsNone(self.places.pod(node(managed="false"), pod(), "80"))

    def test_gone(self) -> None:
        """A machine without power is not reached."""
        agent = self.places.agent(node(managed="true", gone="true"))
        assert agent is not None
        self.assertEqual(agent.port, UNREACHABLE_PORT)


class SplitPlaceTests(SynchronousTestCase):
    def test_parts(self) -> None:
        """A path names a node or a pod's port, and goes on there."""
        self.assertEqual(split_place("/nodes/n/exec/a/p/c"), ("nodes", ["n"], "/exec/a/p/c"))
        self.assertEqual(split_place("/pods/a/p/80"), ("pods", ["a", "p", "80"], "/"))
        self.assertEqual(split_place("/pods/a"), ("", [], "/pods/a"))

    def test_no_way_out(self) -> None:
        """A path with dots stays where it is: it reaches no other pod, nor a node."""
        self.assertEqual(split_place("/pods/a/p/80/../../nodes/n"), ("pods", ["a", "p", "80"], "/../../nodes/n"))
