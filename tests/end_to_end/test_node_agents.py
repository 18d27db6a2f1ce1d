"""Real clients through the real server to a node agent: logs, exec, attach, port-forward, cp, proxy (KIND-22)."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from twisted.internet.threads import deferToThread

from tests.end_to_end.agent_case import AgentCase
from tests.end_to_end.case import reactor
from tests.end_to_end.kubectl_case import KubectlCase

kubernetes: Any
try:
    import kubernetes
    import kubernetes.stream
except ImportError:
    kubernetes = None


class KubectlAgentTests(KubectlCase, AgentCase):
    """kubectl under Kubernetes' own names, by SPDY."""

    vocabulary = "kubernetes"

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        self.pod = await self.new_pod()
        await self.set_status("pods", self.pod, {"phase": "Running"})

    async def test_logs(self) -> None:
        """`logs` shows what the agent has; the agent sees the server's certificate and the options."""
        shown = await self.run_ok("logs", self.pod, "--tail=5", "--since=1h", "--timestamps")
        self.assertEqual(shown, "first\nsecond\n")
        asked = self.agent.asked[-1]
        self.assertEqual(asked.path, f"/containerLogs/{self.namespace}/{self.pod}/c")
        self.assertEqual(asked.query, {"tailLines": ["5"], "sinceSeconds": ["3600"], "timestamps": ["true"]})
        self.assertEqual(asked.user, "the-client")

    async def test_follow(self) -> None:
        """`logs -f` shows lines as they come; when kubectl ends, the agent's connection does too."""
        following = self.kubectl.start("logs", "-f", self.pod, f"--namespace={self.namespace}")
        await following.until("second")
        self.agent.follow("third\n")
        await following.until("third")
        (held,) = self.agent.following
        await following.stop()
        for _ in range(100):
            if held.lost:
                break
            await _pause(0.05)
        self.assertTrue(held.lost)

    async def test_exec(self) -> None:
        """`exec` gives both outputs, the input and the exit code."""
        result = await self.run_any("exec", self.pod, "--", "sh", "-c", "echo out; echo err >&2; exit 3")
        self.assertEqual((result.status, result.output), (3, "out\n"))
        self.assertTrue(result.errors.startswith("err\n"), result)
        self.assertEqual(await self.run_ok("exec", "-i", self.pod, "--", "cat", stdin="hello\n"), "hello\n")
        asked = self.agent.asked[-1]
        self.assertEqual(asked.query, {"command": ["cat"], "input": ["1"], "output": ["1"], "error": ["1"]})
        self.assertEqual(asked.method, "POST")

    async def test_much(self) -> None:
        """Megabytes pass both ways whole."""
        text = "0123456789abcde\n" * 200_000
        shown = await self.run_ok("exec", "-i", self.pod, "--", "cat", stdin=text)
        self.assertEqual(len(shown), len(text))
        self.assertTrue(shown == text)

    async def test_attach(self) -> None:
        """`attach` joins the container's streams."""
        shown = await self.run_ok("attach", "-i", self.pod, stdin="hi\n")
        self.assertIn("attached\nhi\n", shown)

    async def test_port_forward(self) -> None:
        """`port-forward` carries connections to the pod's ports."""
        forwarding = self.kubectl.start("port-forward", self.pod, ":80", f"--namespace={self.namespace}")
        output = await forwarding.until("Forwarding from 127.0.0.1")
        port = int(output.split("127.0.0.1:")[1].split(" ")[0])
        for _ in range(2):
            self.assertEqual(await deferToThread(_talk, port, b"hello"), b"port 80\nHELLO")
        await forwarding.stop()

    async def test_cp(self) -> None:
        """`cp` copies a file out of the pod and into it."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        (folder / "from").write_bytes(b"content" * 1000)
        await self.run_ok("cp", f"{self.namespace}/{self.pod}:{folder}/from", f"{folder}/there")
        self.assertEqual((folder / "there").read_bytes(), b"content" * 1000)
        await self.run_ok("cp", f"{folder}/there", f"{self.namespace}/{self.pod}:{folder}/back")
        self.assertEqual((folder / "back").read_bytes(), b"content" * 1000)

    async def test_raw(self) -> None:
        """`get --raw` reads through a node's proxy, whose page's links lead back through it."""
        path = f"/api/v1/nodes/{self.node}/proxy"
        shown = await self.run_ok("get", "--raw", f"{path}/stats/summary?only=cpu")
        self.assertIn('"target": "/stats/summary?only=cpu"', shown)
        page = await self.run_ok("get", "--raw", f"{path}/page")
        self.assertIn(f'href="{path}/root?a=1"', page)

    async def test_proxy(self) -> None:
        """A node is reached through `kubectl proxy`."""
        proxy = self.kubectl.start("proxy", "--port=0")
        port = int((await proxy.until("Starting to serve on")).split(":")[-1])
        url = f"/api/v1/nodes/{self.node}/proxy/moved"
        shown = await deferToThread(_get, port, url)
        self.assertIn(f"Location: /api/v1/nodes/{self.node}/proxy/elsewhere/", shown)
        await proxy.stop()

    async def test_unreachable(self) -> None:
        """An agent that is not there is named in what kubectl prints."""
        node = await self.new_node(1)
        pod = await self.new_pod(node=node)
        await self.set_status("pods", pod, {"phase": "Running"})
        result = await self.run_any("exec", pod, "--", "true")
        self.assertIn("error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused", result.errors)


class ShutdownTests(KubectlCase, AgentCase):
    """A stop of the server while somebody sits before a shell."""

    vocabulary = "kubernetes"

    async def test_sessions_end(self) -> None:
        """It does not wait for sessions and followed logs: both sides are told at once."""
        pod = await self.new_pod()
        await self.set_status("pods", pod, {"phase": "Running"})
        inside = f"--namespace={self.namespace}"
        shell = self.kubectl.start("exec", pod, inside, "--", "sh", "-c", "echo started; exec sleep 60")
        log = self.kubectl.start("logs", "-f", pod, inside)
        await shell.until("started")
        await log.until("second")
        self.client.close()
        began = reactor.seconds()
        await self.server.terminate()
        self.assertLess(reactor.seconds() - began, 15.0)
        await shell.result
        await log.result
        for _ in range(100):
            if not self.agent.connections:
                break
            await _pause(0.05)
        self.assertEqual(self.agent.connections, set())

    def no_tracebacks(self) -> None:
        """The server of this test has ended."""
        self.assertNotIn("Traceback", self.server.log)


class PythonClientAgentTests(AgentCase):
    """The public Python client, by WebSocket."""

    vocabulary = "kubernetes"
    if kubernetes is None:
        skip = "the kubernetes package is not installed (extra `test`): not run"

    async def test_exec(self) -> None:
        """`stream` runs a command and talks to it."""
        pod = await self.new_pod()

        def work() -> tuple[str, str, int]:
            api = kubernetes.config.new_client_from_config(str(self.server.kubeconfig))
            v1 = kubernetes.client.CoreV1Api(api)
            talk = kubernetes.stream.stream(
                v1.connect_get_namespaced_pod_exec,
                pod,
                self.namespace,
                command=["sh", "-c", "read x; echo got $x; echo bad >&2; exit 4"],
                stdin=True,
                stdout=True,
                stderr=True,
                tty=False,
                _preload_content=False,
            )
            talk.write_stdin("word\n")
            talk.run_forever(timeout=20)
            return talk.read_stdout(), talk.read_stderr(), talk.returncode

        self.assertEqual(await deferToThread(work), ("got word\n", "bad\n", 4))
        self.assertEqual(self.agent.asked[-1].method, "GET")

    async def test_log(self) -> None:
        """The log is text."""
        pod = await self.new_pod()

        def work() -> str:
            api = kubernetes.config.new_client_from_config(str(self.server.kubeconfig))
            text: str = kubernetes.client.CoreV1Api(api).read_namespaced_pod_log(pod, self.namespace)
            return text

        self.assertEqual(await deferToThread(work), "first\nsecond\n")


async def _pause(seconds: float) -> None:
    from twisted.internet.task import deferLater

    await deferLater(reactor, seconds, lambda: None)


def _talk(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while more := connection.recv(65536):
            received += more
        return received


def _get(port: int, path: str) -> str:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        received = b""
        while more := connection.recv(65536):
            received += more
        return received.decode()
