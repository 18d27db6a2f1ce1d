"""Workloads of a simulated cluster, as kubectl's users see them (reference SIM-41 to SIM-45)."""
# covers: orchtw.simulation.workloads.deployments.controller
# covers: orchtw.simulation.workloads.stateful.controller
# covers: orchtw.simulation.workloads.daemons.controller

from __future__ import annotations

from typing import Any

import orjson

from orchtw.wire.objects import Object
from tests.end_to_end.kubectl_case import KubectlCase

FLAGS = (
    "--controllers=*,-root-ca-cert-publisher", "--simulate=nodes=3,workloads", "--simulate-speed=20",
)  # fmt: skip


def manifest(kind: str, name: str, **spec: Any) -> str:
    """A workload with pods of one container, as JSON."""
    labels = {"app": name}
    template: Object = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "example.com/web:1"}]},
    }
    whole = {"selector": {"matchLabels": labels}, "template": template, **spec}
    return orjson.dumps({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": whole}).decode()


class WorkloadTests(KubectlCase):
    vocabulary = "kubernetes"
    flags = FLAGS

    async def begin(self, kind: str, name: str, **spec: Any) -> None:
        """Apply a workload, and wait until it has rolled out."""
        await self.run_ok("apply", "-f", "-", stdin=manifest(kind, name, **spec))
        await self.rolled_out(kind, name)

    async def rolled_out(self, kind: str, name: str) -> str:
        """Wait until a workload has rolled out; return what kubectl says at the end."""
        return (await self.run_ok("rollout", "status", kind, name, "--timeout=60s")).splitlines()[-1]

    async def images(self, name: str) -> set[str]:
        """Images of a workload's running pods."""
        path = "jsonpath={.items[*].spec.containers[0].image}"
        selectors = f"--selector=app={name}", "--field-selector=status.phase=Running"
        return set((await self.run_ok("get", "pods", *selectors, "-o", path)).split())

    async def test_deployment(self) -> None:
        """A Deployment rolls out, is changed, undone, paused, resumed, restarted and scaled."""
        await self.begin("Deployment", "web", replicas=3)
        await self.run_ok("set", "image", "deployment/web", "c=example.com/web:2")
        said = await self.rolled_out("deployment", "web")
        self.assertEqual(said, 'deployment "web" successfully rolled out')
        history = await self.words("rollout", "history", "deployment/web")
        self.assertEqual([words[0] for words in history if words and words[0].isdigit()], ["1", "2"])
        await self.run_ok("rollout", "undo", "deployment/web")
        await self.rolled_out("deployment", "web")
        self.assertEqual(await self.images("web"), {"example.com/web:1"})
        await self.run_ok("rollout", "pause", "deployment/web")
        await self.run_ok("set", "image", "deployment/web", "c=example.com/web:3")
        await self.run_ok("rollout", "resume", "deployment/web")
        await self.rolled_out("deployment", "web")
        await self.run_ok("rollout", "restart", "deployment/web")
        await self.run_ok("scale", "deployment/web", "--replicas=5")
        await self.rolled_out("deployment", "web")
        (line,) = await self.words("get", "deployment", "web", "--no-headers")
        self.assertEqual(line[1:4], ["5/5", "5", "5"])

    async def test_stateful_set(self) -> None:
        """A StatefulSet rolls out in order, is changed and undone; its history shows the templates."""
        await self.begin("StatefulSet", "db", replicas=2, serviceName="db")
        await self.run_ok("set", "image", "statefulset/db", "c=example.com/web:2")
        await self.rolled_out("statefulset", "db")
        self.assertEqual(await self.images("db"), {"example.com/web:2"})
        self.assertIn("example.com/web:1", await self.run_ok("rollout", "history", "statefulset/db", "--revision=1"))
        await self.run_ok("rollout", "undo", "statefulset/db")
        await self.rolled_out("statefulset", "db")
        self.assertEqual(await self.images("db"), {"example.com/web:1"})

    async def test_daemon_set(self) -> None:
        """A DaemonSet has a pod on each node, is changed and undone."""
        await self.begin("DaemonSet", "agent")
        await self.run_ok("set", "image", "daemonset/agent", "c=example.com/web:2")
        said = await self.rolled_out("daemonset", "agent")
        self.assertEqual(said, 'daemon set "agent" successfully rolled out')
        nodes = await self.run_ok("get", "pods", "--selector=app=agent", "-o", "jsonpath={.items[*].spec.nodeName}")
        self.assertEqual(len(set(nodes.split())), 3)
        await self.run_ok("rollout", "undo", "daemonset/agent")
        await self.rolled_out("daemonset", "agent")
        self.assertEqual(await self.images("agent"), {"example.com/web:1"})
