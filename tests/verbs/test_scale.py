"""Scales of workloads (reference TABLE-8)."""

from __future__ import annotations

from orchtw.verbs.scale import COLUMNS
from orchtw.wire.objects import Object
from tests.verbs.served import ServedCase

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
TABLE = {"accept": "application/json;as=Table;g=meta.orch.io;v=v1"}


class ScaleTests(ServedCase):
    """The Scale of a Deployment."""

    def setUp(self) -> None:
        super().setUp()
        labels = {"app": "web"}
        pod: Object = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": pod}
        self.done("POST", DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec})

    def test_table(self) -> None:
        """As a Table, a Scale has the columns of Scales, with the wanted replicas."""
        table = self.done("GET", f"{DEPLOYMENTS}/web/scale", headers=TABLE)
        columns = [each["name"] for each in table["columnDefinitions"]]
        self.assertEqual(columns, [column.name for column in COLUMNS])
        self.assertEqual(table["rows"][0]["cells"][:3], ["web", 2, 0])

    def test_update(self) -> None:
        """A new Scale changes the replicas of the workload."""
        scale = self.done("GET", f"{DEPLOYMENTS}/web/scale")
        self.done("PUT", f"{DEPLOYMENTS}/web/scale", {**scale, "spec": {"replicas": 5}})
        self.assertEqual(self.done("GET", f"{DEPLOYMENTS}/web")["spec"]["replicas"], 5)
