"""Information published for aggregated servers, and its reloading."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.aggregation import Aggregation
from orchtw.assembly.foundation import Foundation
from orchtw.assembly.resources import Resources
from orchtw.bootstrap.extension_apiserver_authentication import AuthenticationInfo
from orchtw.config import Config
from orchtw.config.reloads import Reloads
from orchtw.naming.naming import Naming
from orchtw.pki import certificates
from orchtw.pki.front_proxy import prepare
from tests.client.world import MemoryStore

NOW = datetime.now(UTC)


class AuthenticationInfoTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.folder = Path(self.mktemp())
        self.folder.mkdir(mode=0o700)
        self.reloads = Reloads()

    def made(self, **settings: Any) -> Aggregation:
        """The aggregation of a server with these settings."""
        config, clock = Config.of(**settings), Clock()
        resources = Resources(config, Naming.orch(), clock, MemoryStore(clock))
        base = Foundation(config=config, resources=resources, reactor=clock, reloads=self.reloads)
        front_proxy = prepare(config.aggregation, config.authn.request_header, self.folder, NOW)
        return Aggregation(base, front_proxy)

    def test_generated(self) -> None:
        """Without flags: the server's own authority, and the usual headers (reference AGG-12)."""
        info = self.made().authentication_info("CA")
        self.assertEqual(info.client_ca, "CA")
        self.assertEqual(info.proxy_ca, (self.folder / "front-proxy-ca.crt").read_text())
        self.assertEqual((info.username_headers, info.group_headers), (("X-Remote-User",), ("X-Remote-Group",)))
        self.assertEqual((info.extra_prefixes, info.allowed_names), (("X-Remote-Extra-",), ("front-proxy-client",)))

    def test_given(self) -> None:
        """With flags: what these say, and after a reload what their files say then (reference AGG-7)."""
        path, pems = self.folder / "proxies.crt", []
        for name in ("a", "b"):
            pems.append(certificates.pem(certificates.new_authority(name, NOW).certificate).decode())
        path.write_text(pems[0])
        made = self.made(
            requestheader_client_ca_file=path,
            requestheader_username_headers=("X-User",),
            requestheader_allowed_names=("proxy",),
        )
        wanted = AuthenticationInfo(
            client_ca="CA", proxy_ca=pems[0], username_headers=("X-User",), allowed_names=("proxy",)
        )
        self.assertEqual(made.authentication_info("CA"), wanted)
        path.write_text(pems[1])
        self.reloads.run()
        self.assertEqual(made.authentication_info("CA").proxy_ca, pems[1])

    def test_own_certificate_alone(self) -> None:
        """A server with a proxy certificate but no authorities publishes no proxy settings (reference AGG-7)."""
        authority, key = certificates.new_authority("own", NOW), certificates.new_key()
        shown = certificates.issue(authority, key, "own", certificates.CLIENT, NOW)
        (self.folder / "own.crt").write_bytes(certificates.pem(shown))
        (self.folder / "own.key").write_bytes(certificates.key_pem(key))
        flags = {"proxy_client_cert_file": self.folder / "own.crt", "proxy_client_key_file": self.folder / "own.key"}
        self.assertEqual(self.made(**flags).authentication_info("CA"), AuthenticationInfo(client_ca="CA"))
