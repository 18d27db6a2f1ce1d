"""Facts that a server publishes about its settings (reference CTRL-52)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.accounts import account_tokens
from orchtw.assembly.facts import facts
from orchtw.assembly.keys import pki_options
from orchtw.config import Config
from orchtw.config.settings import SETTINGS
from orchtw.naming.naming import Naming
from orchtw.pki import first_start
from orchtw.pki.cluster_signing import ClusterSigning
from orchtw.rules.agreement import Fact, differences, statement


class FactsTests(SynchronousTestCase):
    """The facts of servers with a folder each."""

    def setUp(self) -> None:
        self.folder = Path(self.mktemp())
        self.other = Path(self.mktemp())

    def facts(self, folder: Path, vocabulary: str = "orch", **settings: Any) -> list[Fact]:
        """Those of a server that starts in a folder."""
        folder.mkdir(mode=0o700, exist_ok=True)
        config = Config.of(data_dir=folder, vocabulary=vocabulary, **settings)
        naming = Naming.of(vocabulary)
        pki = first_start.prepare(pki_options(config), naming, 1, datetime.now(UTC))
        return facts(
            config,
            naming,
            account_tokens(config, naming, "192.0.2.1:1", pki.service_account_key),
            ClusterSigning(config.signing, pki.own_signing),
            client_ca_pem=pki.client_ca_pem,
            published_ca_pem=pki.ca_pem.decode(),
        )

    def differ(self, mine: list[Fact], theirs: list[Fact]) -> tuple[list[str], list[str]]:
        """Return the names of settings that must agree, and of those that should."""
        found = differences(mine, json.loads(json.dumps(statement(theirs))))
        return [each.fact for each in found if each.fatal], [each.fact for each in found if not each.fatal]

    def test_same(self) -> None:
        """Servers with the same keys and flags agree, also if each has a file of its own with the same content."""
        files = [Path(self.mktemp()), Path(self.mktemp())]
        for file in files:
            file.write_text("token,user,uid")
        one, other = (self.facts(self.folder, token_auth_file=file) for file in files)
        self.assertEqual(self.differ(one, other), ([], []))

    def test_keys(self) -> None:
        """Folders that were made apart differ in all keys, and nothing else."""
        found = self.differ(self.facts(self.folder), self.facts(self.other))
        names = ["authorities of clients", "authorities of servers", "keys of service accounts"]
        self.assertEqual(found, (names, []))

    def test_fatal_settings(self) -> None:
        """Vocabulary, ranges and issuer must be the same."""
        settings: list[tuple[str, dict[str, Any]]] = [
            ("--service-cluster-ip-range", {"service_cluster_ip_range": ("10.1.0.0/24",)}),
            ("--service-node-port-range", {"service_node_port_range": "30000-30100"}),
            ("--service-account-issuer", {"service_account_issuer": ("https://else.example.com",)}),
        ]
        mine = self.facts(self.folder)
        for name, setting in settings:
            self.assertEqual(self.differ(mine, self.facts(self.folder, **setting)), ([name], []))
        self.assertIn("--vocabulary", self.differ(mine, self.facts(self.folder, "kubernetes"))[0])

    def test_a_second_issuer(self) -> None:
        """One more that is accepted makes no difference: so an issuer is exchanged."""
        first, second = ("https://a.example.com",), ("https://b.example.com", "https://a.example.com")
        both = ("https://a.example.com", "https://b.example.com")
        steps = [self.facts(self.folder, service_account_issuer=each) for each in (first, both, second)]
        self.assertEqual(self.differ(steps[0], steps[1]), ([], []))
        self.assertEqual(self.differ(steps[1], steps[2]), ([], []))
        self.assertEqual(self.differ(steps[0], steps[2]), (["--service-account-issuer"], []))

    def test_other_settings(self) -> None:
        """Settings that affect requests are published; order counts only for authorization modes."""
        mine = self.facts(self.folder, enable_admission_plugins=("A", "B"), authorization_mode=("Node", "RBAC"))
        theirs = self.facts(self.folder, enable_admission_plugins=("B", "A"), authorization_mode=("RBAC", "Node"))
        self.assertEqual(self.differ(mine, theirs), ([], ["--authorization-mode"]))
        plain = self.facts(self.folder)
        gated = self.facts(self.folder, feature_gates=(("APIServerIdentity", "true"),), anonymous_auth=False)
        self.assertEqual(self.differ(plain, gated), ([], ["--feature-gates", "--anonymous-auth"]))

    def test_nothing_secret(self) -> None:
        """No key, token or file is in a statement."""
        tokens = Path(self.mktemp())
        tokens.write_text("very-secret-token,user,uid")
        said = json.dumps(statement(self.facts(self.folder, token_auth_file=tokens)))
        self.assertNotIn("very-secret", said)
        self.assertNotIn("PRIVATE", said)
        self.assertLess(len(said), 10_000)

    def test_every_setting_is_one(self) -> None:
        """Each fact that is named as a flag is one."""
        flags = {f"--{setting.flag}" for setting in SETTINGS.values()}
        names = [fact.name for fact in self.facts(self.folder)]
        self.assertEqual([name for name in names if name.startswith("--") and name not in flags], [])
        self.assertEqual(len(names), len(set(names)))
