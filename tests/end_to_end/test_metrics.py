"""Prometheus scrapes a server, and its tool finds nothing to say (reference METRIC-1, METRIC-9)."""

from __future__ import annotations

import re
import shutil
import socket
from base64 import b64decode
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
import yaml
from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred
from twisted.internet.protocol import ProcessProtocol
from twisted.internet.task import deferLater
from twisted.internet.utils import getProcessOutputAndValue
from twisted.web.client import Agent, readBody

from tests.end_to_end.case import ServerCase

reactor: Any = installed_reactor

PROMTOOL, PROMETHEUS = shutil.which("promtool"), shutil.which("prometheus")
NOT_RUN = "prometheus is not on the PATH (Debian package prometheus): not run"
# Names that the release has fixed, and that the tool would have otherwise.
NAMED_SO = re.compile(
    r"(authentication_attempts|authenticated_user_requests|apiserver_admission_webhook_(rejection|fail_open)_count|"
    r"etcd_object_counts|authentication_token_cache_active_fetch_count|"
    r"apiserver_admission_step_admission_duration_seconds_summary) .*"
)


class _Running(ProcessProtocol):
    """A process, and when it has ended."""

    def __init__(self) -> None:
        self.ended: Deferred[None] = Deferred()
        self.said = b""

    def errReceived(self, data: bytes) -> None:
        self.said += data

    def processEnded(self, reason: Any) -> None:
        self.ended.callback(None)


class MetricsTests(ServerCase):
    """`/metrics` of a running server."""

    async def test_who_may(self) -> None:
        """Without rights on the path there are no metrics; with them they can be compressed."""
        self.assertEqual((await self.anonymous().get("/metrics")).code, 403)
        answer = await self.client.get("/metrics")
        self.assertEqual(answer.code, 200)
        self.assertIn(b"\napiserver_request_total{", answer.body)
        self.assertIn(b"\norchtw_store_commit_seconds_count ", answer.body)
        self.assertIn(b"\napiserver_tls_handshake_errors_total ", answer.body)

    async def test_promtool(self) -> None:
        """`promtool check metrics` has nothing against what is shown but names that the release has fixed."""
        await self.created(self.core("configmaps"), {"metadata": {"name": "a"}})
        await self.client.get(self.core("configmaps"))
        shown = Path(self.mktemp())
        shown.write_bytes((await self.client.get("/metrics")).body)
        checking = getProcessOutputAndValue("/bin/sh", ["-c", f'"{PROMTOOL}" check metrics < "{shown}"'])
        out, err, code = await checking
        problems = [line for line in (out + err).decode().splitlines() if not NAMED_SO.fullmatch(line)]
        self.assertEqual((problems, code in (0, 3)), ([], True))

    async def test_scraped(self) -> None:
        """A real Prometheus scrapes the server by TLS with a client certificate and finds its counts."""
        port = await self.prometheus()
        await self.found(port, 'up{job="orchtw"} == 1')
        await self.found(port, 'sum(apiserver_request_total{job="orchtw",resource="namespaces"}) > 0')
        await self.found(port, 'count(orchtw_reactor_lag_seconds_bucket{job="orchtw"}) > 0')

    async def prometheus(self) -> int:
        """The port of a Prometheus that scrapes the server every second."""
        folder = Path(self.mktemp())
        folder.mkdir()
        user = yaml.safe_load(Path(self.server.kubeconfig).read_text())
        tls = self.pems(folder, user)
        scrape = {
            "job_name": "orchtw",
            "scheme": "https",
            "tls_config": tls,
            "static_configs": [{"targets": [f"127.0.0.1:{self.server.port}"]}],
        }
        config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [scrape]}
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port: int = free.getsockname()[1]
        running = _Running()
        assert PROMETHEUS is not None
        options = {
            "config.file": folder / "prometheus.yml",
            "storage.tsdb.path": folder / "data",
            "web.listen-address": f"127.0.0.1:{port}",
        }
        arguments = [PROMETHEUS, *(f"--{name}={value}" for name, value in options.items())]
        process = reactor.spawnProcess(running, PROMETHEUS, arguments, env={})

        async def end() -> None:
            process.signalProcess("KILL")
            await running.ended

        self.addCleanup(end)
        return port

    def pems(self, folder: Path, config: Any) -> dict[str, str]:
        """Files with what a kubeconfig holds, as Prometheus wants them."""
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        found = {
            "ca_file": cluster["certificate-authority-data"],
            "cert_file": user["client-certificate-data"],
            "key_file": user["client-key-data"],
        }
        for name, data in found.items():
            (folder / name).write_bytes(b64decode(data))
        return {name: str(folder.resolve() / name) for name in found}

    async def found(self, port: int, query: str) -> None:
        """Wait until Prometheus answers a query with something."""
        agent: Any = Agent(reactor)
        url = f"http://127.0.0.1:{port}/api/v1/query?query={quote(query)}".encode()
        while True:
            try:
                answer = await agent.request(b"GET", url)
                if orjson.loads(await readBody(answer))["data"]["result"]:
                    return
            except Exception:  # noqa: BLE001 - it is still starting
                pass
            await deferLater(reactor, 0.2)

    if PROMTOOL is None:
        test_promtool.skip = NOT_RUN  # type: ignore[attr-defined]
    if PROMETHEUS is None:
        test_scraped.skip = NOT_RUN  # type: ignore[attr-defined]
