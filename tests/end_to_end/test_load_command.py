"""The real `orch-load` beside a real server."""
# covers: orchtw.commands.load.churn, orchtw.commands.load.deployments, orchtw.commands.load.nodes
# covers: orchtw.commands.load.pods, orchtw.commands.load.requests, orchtw.commands.load.run

from __future__ import annotations

import json
import sys

from twisted.internet.utils import getProcessOutputAndValue

from orchtw.testing.process import ServerProcess, environment
from tests.end_to_end.case import ServerCase
from tests.forked import forking

COMMAND = ("-m", "orchtw.commands.load")


async def orch_load(server: ServerProcess, *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and errors of the command on a server."""
    words = (*COMMAND, f"--kubeconfig={server.kubeconfig}", *arguments)
    output, errors, status = await getProcessOutputAndValue(
        sys.executable, words, environment(), reactor=forking
    )
    return status, output.decode(), errors.decode()


class LoadCommandTests(ServerCase):
    """A small cluster for a few seconds."""

    vocabulary = "kubernetes"

    async def test_load(self) -> None:
        """Every kind of write is made, no event is lost, and nothing is left."""
        prefix = self.unique("load")
        status, output, errors = await orch_load(
            self.server, "--nodes=5", "--pods=10", "--deployments=2", "--namespaces=2", "--churn=5", "--informers=2",
            "--duration=3", "--interval=1", "--workloads=tool", f"--namespace={prefix}", "--json",
        )  # fmt: skip
        periods = [json.loads(line) for line in output.splitlines()]
        self.assertEqual((status, [each["errors"] for each in periods if each["errors"]]), (0, []), errors)
        total = periods[-1]
        self.assertEqual((total["period"], total["events"]["lost"]), ("total", 0))
        self.assertGreater(total["events"]["compared"], 20)
        wanted = {"bind pods", "create leases", "create events", "delete pods at once", "patch endpointslices",
                  "patch deployments", "patch pods/status"}  # fmt: skip
        self.assertEqual(wanted - set(total["operations"]), set())
        for path in ("api/v1/nodes", "api/v1/pods", "apis/coordination.k8s.io/v1/leases", "apis/apps/v1/deployments"):
            found = await self.client.get(f"/{path}?labelSelector=orch-load%3D{prefix}")
            self.assertEqual(found.json["items"], [], path)

    async def test_failed_set_up(self) -> None:
        """An object that is there already ends the run with status 1 and a reason, and is left alone."""
        prefix = self.unique("load")
        labels = {"orch-load": "another"}
        made = await self.client.post("/api/v1/nodes", {"metadata": {"name": f"{prefix}-00000", "labels": labels}})
        self.assertEqual(made.code, 201)
        status, output, errors = await orch_load(
            self.server, "--nodes=1", "--pods=0", "--deployments=0", "--duration=1", f"--namespace={prefix}"
        )
        self.assertEqual((status, output), (1, ""))
        self.assertIn("the set-up has failed: create nodes: 409", errors)
        self.assertEqual((await self.client.get(f"/api/v1/nodes/{prefix}-00000")).code, 200)
