"""Jobs, budgets, autoscalers and volumes of a simulated cluster, as kubectl's users see them (reference SIM-46)."""

from __future__ import annotations

from typing import Any

import orjson

from orchtw.wire.objects import Object
from tests.end_to_end.kubectl_case import KubectlCase
from tests.end_to_end.test_simulated_workloads import manifest

POD: Object = {"containers": [{"name": "c", "image": "example.com/web:1"}]}


def text(api_version: str, kind: str, name: str, **spec: Any) -> str:
    """An object as JSON."""
    return orjson.dumps({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}).decode()


class JobTests(KubectlCase):
    vocabulary = "kubernetes"
    flags = ("--controllers=*,-root-ca-cert-publisher", "--simulate=nodes=3,workloads,volumes", "--simulate-speed=50")

    async def apply(self, text: str) -> None:
        """Apply a manifest with kubectl."""
        await self.run_ok("apply", "-f", "-", stdin=text)

    async def test_job(self) -> None:
        """A Job of five completions completes."""
        command = {**POD["containers"][0], "command": ["true"]}
        template = {"spec": {"containers": [command], "restartPolicy": "Never"}}
        await self.apply(text("batch/v1", "Job", "sum", completions=5, parallelism=2, template=template))
        await self.run_ok("wait", "--for=condition=complete", "job/sum", "--timeout=60s")
        self.assertEqual(await self.run_ok("get", "job", "sum", "-o", "jsonpath={.status.succeeded}"), "5")

    async def test_claims(self) -> None:
        """A StatefulSet whose pods have claims runs: the default class makes their volumes."""
        claim = {"metadata": {"name": "data"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        }}
        await self.apply(manifest("StatefulSet", "db", replicas=2, serviceName="db", volumeClaimTemplates=[claim]))
        await self.run_ok("rollout", "status", "statefulset", "db", "--timeout=60s")
        phases = await self.run_ok("get", "pvc", "-o", "jsonpath={.items[*].status.phase}")
        self.assertEqual(phases, "Bound Bound")

    async def test_eviction(self) -> None:
        """A budget of pods that must all stay lets none go."""
        await self.apply(manifest("Deployment", "web", replicas=2))
        await self.run_ok("rollout", "status", "deployment", "web", "--timeout=60s")
        selector = {"matchLabels": {"app": "web"}}
        await self.apply(text("policy/v1", "PodDisruptionBudget", "web", minAvailable=2, selector=selector))
        waits = "--for=jsonpath={.status.currentHealthy}=2", "pdb/web", "--timeout=60s"
        await self.run_ok("wait", *waits)
        names = await self.run_ok("get", "pods", "--selector=app=web", "-o", "jsonpath={.items[*].metadata.name}")
        pod = names.split()[0]
        answer = await self.client.post(self.core("pods", pod, "eviction"), {
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod},
        })
        self.assertEqual(answer.code, 429, answer)
