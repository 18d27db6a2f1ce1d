"""Certificates with which the server authenticates to aggregated servers."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from cryptography.x509.oid import NameOID
from twisted.trial.unittest import SynchronousTestCase

from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.pki import certificates, files
from orchtw.pki.front_proxy import FrontProxy, prepare
from tests.pki.test_first_start import NOW


class FrontProxyTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.folder = Path(self.mktemp())
        self.folder.mkdir(mode=0o700)
        self.now = NOW

    def start(self, **settings: Any) -> FrontProxy:
        config = Config.of(**settings)
        return prepare(config.aggregation, config.authn.request_header, self.folder, self.now)

    def read(self) -> dict[str, bytes]:
        """The files of the folder."""
        return {path.name: path.read_bytes() for path in self.folder.iterdir()}

    def written(self) -> tuple[Path, Path]:
        """Certificate and key of somebody's own, as files."""
        authority, key = certificates.new_authority("own", NOW), certificates.new_key()
        shown = certificates.issue(authority, key, "own-proxy", certificates.CLIENT, NOW)
        paths = Path(self.mktemp()), Path(self.mktemp())
        paths[0].write_bytes(certificates.pem(shown))
        paths[1].write_bytes(certificates.key_pem(key))
        return paths

    def test_made(self) -> None:
        """An authority and a certificate for clients that it signs; keys are the owner's alone (reference AGG-12)."""
        found = self.start()
        (own,) = found.chain
        names = own.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        self.assertEqual([each.value for each in names], ["front-proxy-client"])
        self.assertTrue(certificates.issued_by(own, found.authorities[0]))
        self.assertTrue(found.generated)
        modes = {path.name: path.stat().st_mode & 0o777 for path in self.folder.glob("*.key")}
        self.assertEqual(modes, {"front-proxy-ca.key": 0o600, "front-proxy-client.key": 0o600})

    def test_again(self) -> None:
        """A later start finds what the first one made, and renews the certificate in time (reference AGG-12)."""
        self.start()
        before = self.read()
        self.start()
        self.assertEqual(self.read(), before)
        self.now += certificates.LEAF_LIFE - timedelta(days=1)
        renewed = self.start()
        changed = {name for name, content in self.read().items() if content != before[name]}
        self.assertEqual(changed, {"front-proxy-client.crt"})
        self.assertGreater(renewed.chain[0].not_valid_after_utc, self.now + certificates.RENEWAL)

    def test_cut_short(self) -> None:
        """Files left incomplete by an interrupted start are made anew (reference DESIGN-20)."""
        self.start()
        (self.folder / "front-proxy-ca.crt").unlink()
        found = self.start()
        self.assertTrue(certificates.issued_by(found.chain[0], found.authorities[0]))

    def test_damaged(self) -> None:
        """A damaged or mismatched file ends the start and is named (reference DESIGN-20)."""
        self.start()
        whole = self.read()
        for name, content in (
            ("front-proxy-ca.crt", b"x"),
            ("front-proxy-ca.key", whole["front-proxy-client.key"]),
            ("front-proxy-client.key", whole["front-proxy-ca.key"]),
            ("front-proxy-client.crt", b""),
        ):
            files.replace(self.folder / name, content, 0o600)
            self.assertIn(str(self.folder / "front-proxy"), str(self.assertRaises(ConfigError, self.start)))
            files.replace(self.folder / name, whole[name], 0o600)
        self.now += certificates.CA_LIFE + timedelta(days=1)
        self.assertIn("expired", str(self.assertRaises(ConfigError, self.start)))

    def test_given(self) -> None:
        """A certificate of the operator's is shown in place of the generated one; whose it is, is theirs to say
        (reference AGG-4, AGG-7).
        """
        certificate, key = self.written()
        found = self.start(proxy_client_cert_file=certificate, proxy_client_key_file=key)
        self.assertEqual((len(found.chain), found.authorities, found.generated), (1, (), False))
        found = self.start(requestheader_client_ca_file=certificate)
        self.assertEqual((len(found.authorities), found.generated), (1, False))
        pair = {"proxy_client_cert_file": certificate, "proxy_client_key_file": self.written()[1]}
        error = self.assertRaises(ConfigError, self.start, **pair)
        self.assertIn("is not the key", str(error))
        missing = Path("nowhere")
        error = self.assertRaises(ConfigError, self.start, requestheader_client_ca_file=missing)
        self.assertIn("--requestheader-client-ca-file", str(error))
