"""The certificates for node agents: read at the start, read again on request (reference PROXY-2)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import attrs
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.outward import outward
from orchtw.assembly.resources import Resources
from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.naming import Naming
from orchtw.outbound.tls import ClientTLS
from orchtw.reloads import Reloads
from orchtw.rules.origins import AllowedOrigins
from tests.client.world import MemoryStore
from tests.end_to_end.agent_case import agent_pki


class CertificateTests(SynchronousTestCase):
    """Files that the flags name."""

    def setUp(self) -> None:
        self.folder = Path(self.mktemp())
        shutil.copytree(agent_pki().folder, self.folder)
        self.config = Config(
            orchlet_certificate_authority=self.folder / "agents.crt",
            orchlet_client_certificate=self.folder / "client.crt",
            orchlet_client_key=self.folder / "client.key",
        )
        self.reloads = Reloads()

    def tls(self, **changes: Any) -> ClientTLS:
        """What agents are dialled with."""
        config = attrs.evolve(self.config, **changes)
        clock = Clock()
        resources = Resources(config, Naming.orch(), clock, MemoryStore(clock))
        self.made = outward(config, resources, AllowedOrigins(), self.reloads)
        return self.made.agents._settings.tls()

    def test_read(self) -> None:
        """Certificate, key and authority are what the files hold."""
        tls = self.tls()
        self.assertEqual((len(tls.certificates), len(tls.authorities)), (1, 1))
        self.assertEqual(tls.unverified.authorities, ())

    def test_none(self) -> None:
        """Without the flags nobody is shown or verified, and there is nothing to read again."""
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
        """New files are in use after a reload; what cannot be used changes nothing."""
        before = self.tls()
        shutil.copy(self.folder / "agent.crt", self.folder / "client.crt")
        self.reloads.run()
        self.assertIs(self.made.agents._settings.tls(), before)
        shutil.copy(self.folder / "agent.key", self.folder / "client.key")
        self.reloads.run()
        after = self.made.agents._settings.tls()
        self.assertNotEqual(after.certificates, before.certificates)
