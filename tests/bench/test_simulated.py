"""Counts of the measurement of a simulated cluster."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from twisted.trial.unittest import SynchronousTestCase

from bench.simulated import available_pods, deployment, ready_nodes
from orchtw.testing import ApiServer


class CountTests(SynchronousTestCase):
    """Nodes and pods that are counted as up."""

    def server(self, *items: dict[str, Any]) -> ApiServer:
        """Return a server whose lists have these items."""
        answer = SimpleNamespace(json={"items": items})
        return cast(ApiServer, SimpleNamespace(request=lambda method, path: answer))

    def test_nodes(self) -> None:
        """Nodes count whose condition Ready is true."""
        conditions = [{"type": "MemoryPressure", "status": "True"}, {"type": "Ready", "status": "True"}]
        down = [{"type": "Ready", "status": "Unknown"}]
        statuses: tuple[dict[str, Any], ...] = ({"conditions": conditions}, {"conditions": down}, {})
        self.assertEqual(ready_nodes(self.server(*({"status": each} for each in statuses), {})), 1)

    def test_pods(self) -> None:
        """Pods count that their Deployments report as available."""
        self.assertEqual(available_pods(self.server({"status": {"availableReplicas": 3}}, {"status": {}}, {})), 3)
        self.assertEqual(deployment("d", 3)["spec"]["replicas"], 3)
