"""Outbound connections: reloadable certificates for node agents (reference PROXY-2), and Services."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from twisted.internet import reactor
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from orchtw.assembly.foundation import Foundation
from orchtw.assembly.outbound import proxy_transport
from orchtw.assembly.resources import Resources
from orchtw.config import Config
from orchtw.config.reloads import Reloads
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.outbound.caller import CallFailed
from orchtw.outbound.remote import Remote
from orchtw.outbound.services import ServiceReference
from orchtw.outbound.tls import ClientTLS
from orchtw.rules.origins import AllowedOrigins
from tests.client.world import MemoryStore
from tests.end_to_end.agent_case import agent_pki
from tests.in_process import InProcessServer


class CertificateTests(SynchronousTestCase):
    """Files that the flags name."""

    def setUp(self) -> None:
        self.folder = Path(self.mktemp())
        shutil.copytree(agent_pki().folder, self.folder)
        self.config = Config.of(
            orchlet_certificate_authority=self.folder / "agents.crt",
            orchlet_client_certificate=self.folder / "client.crt",
            orchlet_client_key=self.folder / "client.key",
        )
        self.reloads = Reloads()

    def tls(self, **changes: Any) -> ClientTLS:
        """Return the TLS settings with which agents are dialled."""
        config = self.config.changed(**changes)
        clock = Clock()
        resources = Resources(config, Naming.orch(), clock, MemoryStore(clock))
        base = Foundation(config=config, resources=resources, reactor=clock, reloads=self.reloads)
        self.made = proxy_transport(base, AllowedOrigins())
        return self.made.agents._settings.tls()

    def test_read(self) -> None:
        """The certificate, key and authority are those in the files."""
        tls = self.tls()
        self.assertEqual((len(tls.certificates), len(tls.authorities)), (1, 1))
        self.assertEqual(tls.unverified.authorities, ())

    def test_none(self) -> None:
        """Without the flags no certificate is shown or verified, and there is nothing to reload."""
        none = self.tls(
            orchlet_certificate_authority=None, orchlet_client_certificate=None, orchlet_client_key=None
        )
        self.assertEqual((none.certificates, none.key, none.authorities), ((), None, ()))
        self.assertEqual(self.reloads._reads, {})

    def test_unusable(self) -> None:
        """A file that cannot be used is named by its flag."""
        other = self.folder / "agent.key"
        for field, path, word in (
            ("orchlet_certificate_authority", self.folder / "missing", "--orchlet-certificate-authority: "),
            ("orchlet_client_key", self.folder / "client.crt", "--orchlet-client-key: "),
            ("orchlet_client_key", other, "do not belong together"),
        ):
            caught = self.assertRaises(ConfigError, self.tls, **{field: path})
            self.assertIn(word, str(caught))

    def test_reload(self) -> None:
        """New files are in use after a reload; unusable ones change nothing."""
        before = self.tls()
        shutil.copy(self.folder / "agent.crt", self.folder / "client.crt")
        self.reloads.run()
        self.assertIs(self.made.agents._settings.tls(), before)
        shutil.copy(self.folder / "agent.key", self.folder / "client.key")
        self.reloads.run()
        after = self.made.agents._settings.tls()
        self.assertNotEqual(after.certificates, before.certificates)


class CallerTests(TestCase):
    """The caller of webhooks (reference HOOK-26)."""

    async def setUp(self) -> None:  # type: ignore[override]
        self.server = InProcessServer(reactor, self.mktemp())
        await self.server.start()
        self.addCleanup(self.server.stop)

    async def place(self, namespace: str, name: str) -> str:
        """Return the address and verified name dialled for a Service."""
        service = ServiceReference(namespace=namespace, name=name)
        found = await self.server.instance.caller.destination(Remote.of_service(service))
        return f"{found.host}:{found.port} {found.verified_name}"

    async def test_services(self) -> None:
        """Services of the cluster are resolved to their current endpoints and addresses."""
        with self.assertRaises(CallFailed) as raised:
            await self.place("default", "web")
        self.assertEqual(str(raised.exception), 'service "web" not found')
        spec = {"clusterIP": "10.0.0.77", "ports": [{"port": 443}]}
        await self.made("services", {"metadata": {"name": "web"}, "spec": spec})
        self.assertEqual(await self.place("default", "web"), "10.0.0.77:443 web.default.svc")
        subset = {"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 8443}]}
        await self.made("endpoints", {"metadata": {"name": "web"}, "subsets": [subset]})
        self.assertEqual(await self.place("default", "web"), "10.1.2.3:8443 web.default.svc")

    async def test_own(self) -> None:
        """The server's own Service leads to this server, on loopback too."""
        self.assertEqual(await self.place("default", "orch"), "127.0.0.1:6443 orch.default.svc")

    async def made(self, plural: str, obj: Any) -> None:
        answer = await self.server.request("POST", f"/api/v1/namespaces/default/{plural}", obj)
        self.assertEqual(answer.code, 201, answer.body)
