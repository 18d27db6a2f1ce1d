"""Tests with a node agent: the server is told of its certificates by flags, and of its address by a Node."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from OpenSSL import crypto
from twisted.internet.ssl import Certificate, CertificateOptions, trustRootFromCertificates

from orchtw.pki import certificates
from orchtw.pki.certificates import Authority
from orchtw.wire.objects import Object
from tests.end_to_end.case import ServerCase, reactor
from tests.end_to_end.node_agent import NodeAgent

LOOPBACK = "127.0.0.1"


class AgentPki:
    """An authority of node agents and one of their clients, with the files that the flags name."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.agents = self._authority("agents")
        self.clients = self._authority("clients")
        self._issued("client", self.clients, certificates.CLIENT)
        self._issued("agent", self.agents, certificates.SERVER, hosts=(LOOPBACK,))

    def _authority(self, name: str) -> Authority:
        made = certificates.new_authority(name, datetime.now(UTC))
        (self.folder / f"{name}.crt").write_bytes(certificates.pem(made.certificate))
        return made

    def _issued(self, name: str, authority: Authority, purpose: Any, hosts: tuple[str, ...] = ()) -> None:
        key = certificates.new_key()
        made = certificates.issue(authority, key, f"the-{name}", purpose, datetime.now(UTC), hosts=hosts)
        (self.folder / f"{name}.crt").write_bytes(certificates.pem(made))
        (self.folder / f"{name}.key").write_bytes(certificates.key_pem(key))
        (self.folder / f"{name}.key").chmod(0o600)

    def options(self) -> CertificateOptions:
        """Return the agent's TLS settings: it asks for a certificate of its clients' authority."""
        certificate = crypto.load_certificate(crypto.FILETYPE_PEM, (self.folder / "agent.crt").read_bytes())
        key = crypto.load_privatekey(crypto.FILETYPE_PEM, (self.folder / "agent.key").read_bytes())
        roots = trustRootFromCertificates([Certificate(crypto.X509.from_cryptography(self.clients.certificate))])
        return CertificateOptions(privateKey=key, certificate=certificate, trustRoot=roots)

    def flags(self, agent: str = "orchlet") -> tuple[str, ...]:
        """Return the server's flags."""
        return (
            f"--{agent}-certificate-authority={self.folder}/agents.crt",
            f"--{agent}-client-certificate={self.folder}/client.crt",
            f"--{agent}-client-key={self.folder}/client.key",
        )


@cache
def agent_pki() -> AgentPki:
    """One for all tests."""
    return AgentPki()


class AgentCase(ServerCase):
    """An agent of a node `self.node`, and pods on it; the server has `more_flags` beside those for agents."""

    more_flags: tuple[str, ...] = ()

    async def setUp(self) -> None:  # type: ignore[override]
        self.pki = agent_pki()
        self.flags = (*self.pki.flags("kubelet" if self.vocabulary == "kubernetes" else "orchlet"), *self.more_flags)
        await super().setUp()
        self.agent = NodeAgent(reactor, self.pki.options())
        self.addCleanup(self.agent.stop)
        self.node = await self.new_node(self.agent.port)

    async def new_node(self, port: int, address: str = LOOPBACK) -> str:
        """A node whose agent listens there."""
        name = self.unique("node")
        await self.created("/api/v1/nodes", {"metadata": {"name": name}})
        endpoint = self.naming.translate("orchletEndpoint")
        status: Object = {
            "addresses": [{"type": "InternalIP", "address": address}],
            "daemonEndpoints": {endpoint: {"Port": port}},
        }
        path = f"/api/v1/nodes/{name}/status"
        answer = await self.client.send(
            "PATCH", path, {"status": status}, {"Content-Type": "application/merge-patch+json"}
        )
        self.assertEqual(answer.code, 200, answer)
        return name

    async def new_pod(self, *containers: str, node: str | None = None, **spec: Any) -> str:
        """A pod on the node, by default with container `c`."""
        name = self.unique("pod")
        made = [{"name": each, "image": "example.com/web:1"} for each in containers or ("c",)]
        node = self.node if node is None else node
        spec |= {"containers": made, **({"nodeName": node} if node else {})}
        await self.created(self.core("pods"), {"metadata": {"name": name}, "spec": spec})
        return name

    async def set_status(self, plural: str, name: str, status: Object) -> None:
        """Write an object's status."""
        answer = await self.client.send(
            "PATCH",
            self.core(plural, name, "status"),
            {"status": status},
            {"Content-Type": "application/merge-patch+json"},
        )
        self.assertEqual(answer.code, 200, answer)
