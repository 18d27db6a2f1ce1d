"""A server that offers HTTP/2, and real clients: kubectl, which is written in Go, and h2 (reference REQ-32)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

from twisted.internet.threads import deferToThread

from orchtw.testing.kubectl import Kubectl
from tests.end_to_end.agent_case import AgentCase
from tests.end_to_end.case import NO_KUBECTL
from tests.end_to_end.client import tls_context
from tests.forked import forking
from tests.serving.authorities import connect
from tests.serving.http2.client import BlockingClient

T = TypeVar("T")

WATCHES = 100
MAP = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"key": "%s"}}'


class MultiplexedTests(AgentCase):
    vocabulary = "kubernetes"

    async def over(self, work: Callable[[BlockingClient], T]) -> T:
        """Return the result of `work` over one HTTP/2 connection."""
        context = tls_context(self.server.kubeconfig)
        context.set_alpn_protocols(["h2"])
        context.check_hostname = False

        def talk() -> T:
            with connect(self.server.port, context) as connected:
                assert connected.selected_alpn_protocol() == "h2"
                return work(BlockingClient(connected))

        return await deferToThread(talk)

    async def test_watches(self) -> None:
        """Many watches, and writes that they see, share one connection."""
        maps = self.core("configmaps")

        def work(client: BlockingClient) -> list[list[str]]:
            version = json.loads(client.get(maps)[1])["metadata"]["resourceVersion"]
            watches = [client.ask("GET", f"{maps}?watch=1&resourceVersion={version}") for _ in range(WATCHES)]
            for name in ("a", "b"):
                body = json.dumps({"metadata": {"name": name}}).encode()
                made = client.answer(client.ask("POST", maps, ("content-type", "application/json"), body=body))
                self.assertEqual(made[0], 201)
            client.until(lambda: all(client.bodies.get(each, b"").count(b"\n") == 2 for each in watches))
            events = [[json.loads(line) for line in client.bodies[each].splitlines()] for each in watches]
            return [[event["object"]["metadata"]["name"] for event in each] for each in events]

        self.assertEqual(await self.over(work), [["a", "b"]] * WATCHES)

    async def test_upgrades(self) -> None:
        """Requests that need an upgrade are refused over HTTP/2."""
        pod = await self.new_pod()
        path = self.core("pods", pod, "exec") + "?command=ls&stdout=1"
        code, body = await self.over(lambda client: client.answer(client.ask("POST", path)))
        self.assertEqual((code, json.loads(body)["message"]), (400, "Upgrade request required"))

    async def test_kubectl(self) -> None:
        """kubectl watches, applies, reads logs and runs commands: these over connections of HTTP/1.1."""
        if NO_KUBECTL:
            self.skipTest(NO_KUBECTL)
        kubectl = Kubectl(forking, self.server.kubeconfig, self.mktemp(), {"GODEBUG": "http2debug=1"})
        here = f"--namespace={self.namespace}"
        pod = await self.new_pod()
        await self.set_status("pods", pod, {"phase": "Running"})
        watching = kubectl.start("get", "configmaps", "-w", "-o=jsonpath={.metadata.name}={.data.key} ", here)
        for value in ("one", "two"):
            applied = await kubectl.run("apply", "-f", "-", here, stdin=MAP % value)
            self.assertEqual(applied.status, 0, applied)
            self.assertIn("http2: Transport", applied.errors)
            await watching.until(f"a={value}")
        await watching.stop()
        logs = await kubectl.run("logs", pod, here)
        self.assertEqual(logs.output, "first\nsecond\n", logs)
        ran = await kubectl.run("exec", "-i", pod, here, "--", "cat", stdin="hello\n")
        self.assertEqual(ran.output, "hello\n", ran)
