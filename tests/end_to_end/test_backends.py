"""Pods, services and nodes through the real server: proxies, slow readers, ends (reference PROXY-9 to PROXY-18)."""

from __future__ import annotations

import socket
from typing import Any

from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from tests.end_to_end.agent_case import AgentCase
from tests.end_to_end.case import reactor
from tests.end_to_end.node_agent import NodeAgent


def own_address() -> str:
    """An address of this machine that a pod could have; empty if it has none. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
        except OSError:
            return ""
        address: str = probe.getsockname()[0]
    return "" if address.startswith(("127.", "0.")) else address


class BackendTests(AgentCase):
    """A backend that listens where a pod could."""

    if not own_address():
        skip = "this machine has no address but loopback: not run"

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        self.address = own_address()
        self.backend = NodeAgent(reactor, None, self.address)
        self.addCleanup(self.backend.stop)
        self.pod = await self.new_pod()
        status = {"phase": "Running", "podIP": self.address, "podIPs": [{"ip": self.address}]}
        await self.set_status("pods", self.pod, status)
        self.path = self.core("pods", f"{self.pod}:{self.backend.port}", "proxy")

    async def settled(self, done: Any) -> None:
        """Wait until `done()` is true."""
        for _ in range(200):
            if done():
                return
            await deferLater(reactor, 0.05, lambda: None)
        self.fail("it does not come to that")

    async def test_pod(self) -> None:
        """A request passes with its body, and its answer comes back."""
        answer = await self.client.send("PUT", f"{self.path}/a?b=c", b"hello", {"Content-Type": "text/plain"})
        shown = answer.json
        self.assertEqual((answer.code, shown["method"], shown["target"]), (200, "PUT", "/a?b=c"))
        self.assertEqual((shown["body"], answer.headers["x-agent"]), ("hello", "yes"))
        self.assertEqual((await self.client.send("HEAD", f"{self.path}/a")).code, 200)
        page = await self.client.get(f"{self.path}/page")
        self.assertIn(f'href="{self.path}/root?a=1"'.encode(), page.body)

    async def test_service(self) -> None:
        """A service leads to the pod behind it."""
        name = self.unique("svc")
        spec = {"ports": [{"port": 80, "name": "web"}]}
        await self.created(self.core("services"), {"metadata": {"name": name}, "spec": spec})
        target = {"kind": "Pod", "namespace": self.namespace, "name": self.pod}
        subset = {
            "addresses": [{"ip": self.address, "targetRef": target}],
            "ports": [{"name": "web", "port": self.backend.port}],
        }
        await self.created(self.core("endpoints"), {"metadata": {"name": name}, "subsets": [subset]})
        for port in ("web", "80"):
            answer = await self.client.get(self.core("services", f"{name}:{port}", "proxy", "x"))
            self.assertEqual((answer.code, answer.json["target"]), (200, "/x"))

    async def test_node(self) -> None:
        """Another port of the node is dialled at the node's address, unless that is one of this machine's."""
        node = await self.new_node(10250, self.address)
        answer = await self.client.get(f"/api/v1/nodes/{node}:{self.backend.port}/proxy/metrics")
        self.assertEqual((answer.code, answer.json["target"]), (200, "/metrics"))
        answer = await self.client.get(f"/api/v1/nodes/{self.node}:{self.backend.port}/proxy/metrics")
        self.assertRefused(answer, 400, "BadRequest", "address not allowed")

    async def test_unreachable(self) -> None:
        """A refused connection is a 503."""
        answer = await self.client.get(self.core("pods", f"{self.pod}:1", "proxy", "x"))
        text = f"error trying to reach service: dial tcp {self.address}:1: connect: connection refused"
        self.assertRefused(answer, 503, "ServiceUnavailable", text)

    async def test_slow_reader(self) -> None:
        """Of a body without end only so much is read as the client takes; when it leaves, the backend is left too."""

        def begin() -> Any:
            connection = self.client.connection()
            connection.request("GET", f"{self.path}/endless")
            answer = connection.getresponse()
            return connection, answer, answer.read(1000)

        connection, answer, first = await deferToThread(begin)
        self.assertEqual(first, b"x" * 1000)
        (held,) = self.backend.connections
        producer = held.transport.producer
        await deferLater(reactor, 1.0, lambda: None)
        sent = producer.sent
        await deferLater(reactor, 1.0, lambda: None)
        self.assertEqual(producer.sent, sent)
        self.assertLess(sent, 32 << 20)
        answer.close()
        connection.close()
        await self.settled(lambda: not self.backend.connections)

    async def test_impatient_client(self) -> None:
        """A client that leaves before there is an answer leaves nothing behind, whatever its method."""
        for method in ("GET", "POST"):
            connection = self.client.connection()
            await deferToThread(connection.request, method, f"{self.path}/silent")
            await self.settled(lambda: self.backend.connections)
            connection.close()
            await self.settled(lambda: not self.backend.connections)
