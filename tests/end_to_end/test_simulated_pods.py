"""Pods of simulated nodes on a real server, as kubectl sees them (reference SIM-20 to SIM-26)."""

# covers: orchtw.simulation.pods.controller, orchtw.simulation.pods.recorder, orchtw.simulation.pods.references
# covers: orchtw.simulation.agent.backend, orchtw.simulation.agent.connection, orchtw.simulation.agent.routes
# covers: orchtw.simulation.agent.session, orchtw.simulation.agent.streams, orchtw.simulation.agent.follower
# covers: orchtw.simulation.agent.small_answer, orchtw.simulation.usage.metrics_api

from __future__ import annotations

import socket
import ssl
from typing import Any

from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from orchtw.testing.kubectl import Kubectl
from orchtw.wire.objects import Object
from tests.end_to_end.case import reactor
from tests.end_to_end.client import tls_context
from tests.end_to_end.kubectl_case import KubectlCase
from tests.end_to_end.websocket_client import Closed, WebSocketClient
from tests.forked import forking

LOOKS = 600


class SimulatedPodsTests(KubectlCase):
    """A server with two simulated nodes, whose time runs ten times as fast."""

    vocabulary = "kubernetes"
    flags = ("--simulate=nodes=2", "--simulate-speed=10")

    async def new_pod(self, name: str, *, annotations: dict[str, str] | None = None, **fields: Any) -> None:
        """A pod with a container `c` on a simulated node; annotations are without their prefix."""
        one = {"name": "c", "image": "app:1", **fields.pop("container", {})}
        marks = {f"simulate.orch.io/{key}": value for key, value in (annotations or {}).items()}
        spec = {"nodeName": "node-0", "containers": [one], **fields}
        await self.created(self.core("pods"), {"metadata": {"name": name, "annotations": marks}, "spec": spec})

    async def until(self, name: str, wanted: str) -> Object:
        """The pod, once the first container's state (or its reason), or the pod's phase, is the wanted one."""
        for _ in range(LOOKS):
            pod: Object = (await self.client.get(self.core("pods", name))).json
            states = [each["state"] for each in pod["status"].get("containerStatuses") or ()]
            seen = {pod["status"]["phase"], *(key for each in states for key in each)}
            seen |= {value.get("reason") for each in states for value in each.values()}
            if wanted in seen:
                return pod
            await deferLater(reactor, 0.05)
        raise AssertionError(f"{name} never was {wanted}: {pod['status']}")

    async def test_life(self) -> None:
        """A pod runs with an address, reports events, and is gone soon after its deletion."""
        await self.new_pod("web")
        pod = await self.until("web", "Running")
        self.assertTrue(pod["status"]["podIP"].startswith("10.1.0."))
        await self.run_ok("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
        for _ in range(LOOKS):
            events = (await self.client.get(self.core("events"))).json["items"]
            if {"Pulled", "Created", "Started"} <= {each["reason"] for each in events}:
                break
            await deferLater(reactor, 0.05)
        (started,) = [each for each in events if each["reason"] == "Started"]
        self.assertEqual(started["source"], {"component": "kubelet", "host": "node-0"})
        self.assertEqual(started["involvedObject"]["fieldPath"], "spec.containers{c}")
        await self.run_ok("delete", "pod", "web", "--timeout=60s")

    async def test_missing_secret(self) -> None:
        """A container waits for the Secret that it refers to."""
        await self.new_pod("config", container={"envFrom": [{"secretRef": {"name": "s"}}]})
        await self.until("config", "CreateContainerConfigError")
        await self.created(self.core("secrets"), {"metadata": {"name": "s"}})
        await self.until("config", "running")

    async def test_commands(self) -> None:
        """`logs`, `exec` and `attach` reach the container, by SPDY and WebSocket."""
        words = ["sh", "-c", "echo hello; sleep 1h"]
        probe = {"httpGet": {"path": "/index.html", "port": 80}}
        await self.new_pod("shell", container={"command": words, "readinessProbe": probe})
        await self.until("shell", "running")
        self.assertEqual(await self.run_ok("logs", "shell"), "hello\n")
        for way in ("true", "false"):
            variables = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": way}
            self.kubectl = Kubectl(forking, self.server.kubeconfig, self.mktemp(), variables)
            result = await self.run_any("exec", "shell", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
            self.assertEqual((result.status, result.output), (3, "out\n"), result)
            self.assertTrue(result.errors.startswith("err\n"), result)
            much = "0123456789abcde\n" * 50_000
            self.assertEqual(await self.run_ok("exec", "-i", "shell", "--", "cat", stdin=much), much)
        self.assertIn("typed\n", await self.run_ok("attach", "-i", "shell", stdin="typed\n"))
        result = await self.run_any("exec", "shell", "--", "nosuch")
        self.assertEqual(result.status, 127, result)
        for source, target, ready in (("/www/index.html", "/tmp/", "false"), ("/tmp/index.html", "/www/", "true")):
            await self.run_ok("exec", "shell", "--", "mv", source, target)
            await self.run_ok("wait", f"--for=condition=Ready={ready}", "pod/shell", "--timeout=60s")

    async def test_log_messages(self) -> None:
        """A log comes over a WebSocket too, as bytes or in base64 (reference PROXY-7)."""
        await self.new_pod("said", container={"command": ["sh", "-c", "echo alive; sleep 600"]})
        await self.until("said", "running")
        context = tls_context(self.server.kubeconfig)
        for protocols, wanted in (((), b"alive\n"), (("base64.binary.k8s.io",), "YWxpdmUK")):
            path = f"{self.core('pods', 'said', 'log')}?container=c"
            client = await WebSocketClient.open(self.server.port, context, path, protocols=protocols)
            self.addCleanup(client.drop)
            self.assertEqual(await client.message(), wanted)
            with self.assertRaises(Closed):
                await client.message()

    async def test_follow(self) -> None:
        """`logs -f` shows lines as they come, and ends with the container."""
        words = ["sh", "-c", "echo a; sleep 15; echo b"]
        await self.new_pod("job", restartPolicy="Never", container={"command": words})
        await self.until("job", "running")
        self.assertEqual(await self.run_ok("logs", "-f", "job"), "a\nb\n")
        await self.until("job", "Succeeded")

    async def test_ports(self) -> None:
        """`port-forward` and the proxies of pods, services and nodes get the small answer."""
        await self.new_pod("web", container={"ports": [{"containerPort": 80}]})
        pod = await self.until("web", "Running")
        answer = f"{self.namespace}/web port 80: GET /x?y=1\n"
        path = self.core("pods", "web", "proxy", "x?y=1")
        self.assertEqual(await self.run_ok("get", "--raw", path), answer)
        await self.created(self.core("services"), {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
        target = {"kind": "Pod", "name": "web", "namespace": self.namespace}
        subset = {"addresses": [{"ip": pod["status"]["podIP"], "targetRef": target}], "ports": [{"port": 80}]}
        await self.created(self.core("endpoints"), {"metadata": {"name": "s"}, "subsets": [subset]})
        self.assertEqual(await self.run_ok("get", "--raw", self.core("services", "s", "proxy", "x?y=1")), answer)
        self.assertEqual(await self.run_ok("get", "--raw", "/api/v1/nodes/node-0/proxy/healthz"), "ok")
        self.assertIn("PodList", await self.run_ok("get", "--raw", "/api/v1/nodes/node-0/proxy/pods"))
        self.assertIn("<pre>", await self.run_ok("get", "--raw", "/api/v1/nodes/node-0/proxy/logs/"))
        forwarding = self.kubectl.start("port-forward", "web", ":80", f"--namespace={self.namespace}")
        port = int((await forwarding.until("Forwarding from 127.0.0.1")).split("127.0.0.1:")[1].split(" ")[0])
        for _ in range(2):
            self.assertTrue((await deferToThread(_get, port, "/x?y=1")).endswith(answer))
        await forwarding.stop()
        await self.new_pod("named", container={"args": ["serve-hostname"]})
        await self.until("named", "Running")
        self.assertEqual(await self.run_ok("get", "--raw", self.core("pods", "named:9376", "proxy/")), "named")

    async def test_top(self) -> None:
        """`top` shows what annotations say, also after they have changed."""
        await self.new_pod("busy", annotations={"cpu": "250m", "memory": "64Mi"})
        await self.until("busy", "running")
        for _ in range(LOOKS):
            if (result := await self.run_any("top", "pods", "--no-headers")).status == 0:
                break
            await deferLater(reactor, 0.1)
        self.assertEqual(result.output.split(), ["busy", "250m", "64Mi"], result)
        await self.run_ok("annotate", "--overwrite", "pod", "busy", "simulate.orch.io/cpu=1")
        self.assertEqual((await self.run_ok("top", "pods", "--no-headers")).split()[1], "1000m")
        self.assertIn("node-1", await self.run_ok("top", "nodes"))

    async def test_no_certificate(self) -> None:
        """The agent lets in the API server alone: a client without its certificate fails in the handshake."""
        port = int(self.server.log.split("SimulatedNodeAgent (TLS) starting on ")[1].split()[0])
        await self.assertFailure(deferToThread(_handshake, port), OSError)


def _handshake(port: int) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=20)) as connection:
        connection.sendall(b"GET /nodes/node-0/healthz HTTP/1.1\r\nHost: node\r\n\r\n")
        return connection.recv(100) or _closed()


def _closed() -> bytes:
    raise ConnectionError("closed")


def _get(port: int, path: str) -> str:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        received = b""
        while more := connection.recv(65536):
            received += more
        return received.decode()
