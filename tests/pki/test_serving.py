"""The serving certificate: its names, `--cert-dir`, and what an operator has put there (reference FLAG-17)."""

from __future__ import annotations

import os
import shutil
import socket
from datetime import timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.keys import pki_options
from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.pki import certificates
from orchtw.pki.first_start import Pki, prepare
from tests.pki.test_first_start import NOW


class ServingCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.data, self.folder = Path(self.mktemp()), Path(self.mktemp())

    def start(self, **settings: Any) -> Pki:
        return prepare(pki_options(Config.of(data_dir=self.data, **settings)), Naming.orch(), 6443, NOW)

    def names(self, **settings: Any) -> frozenset[str]:
        """Return the hosts of the serving certificate."""
        return certificates.hosts_of(self.start(**settings).serving_chain[0])


class NamesTests(ServingCase):
    def test_given_names(self) -> None:
        """`--tls-san` and `--external-hostname` are names of a generated certificate (reference FLAG-17)."""
        sans = ("api.example.com", "*.apps.example.com", "192.0.2.7", "2001:db8:0::1")
        found = self.names(tls_san=sans, external_hostname="front.example.com")
        wanted = {"api.example.com", "*.apps.example.com", "192.0.2.7", "2001:db8::1", "front.example.com"}
        self.assertLessEqual(wanted | {"localhost", "127.0.0.1"}, found)

    def test_new_name(self) -> None:
        """A new name makes a new certificate for the same key; fewer names leave it as it is (reference FLAG-17)."""
        first = self.start()
        second = self.start(tls_san=("a.example.com",))
        self.assertNotEqual(first.serving_chain, second.serving_chain)
        self.assertEqual(first.serving_chain[0].public_key(), second.serving_chain[0].public_key())
        self.assertEqual(self.start().serving_chain, second.serving_chain)

    def test_all_addresses(self) -> None:
        """Bound to all addresses, the machine's name and interfaces are among the names (reference FLAG-17)."""
        alone = self.names()
        for address in ("0.0.0.0", "::"):
            found = self.names(bind_address=address)
            self.assertIn(socket.gethostname(), found)
            self.assertIn("127.0.0.1", found)
            self.assertFalse([each for each in found if each.startswith("fe80")])
        self.assertNotIn(socket.gethostname(), alone)


class FolderTests(ServingCase):
    """Serving certificates in a folder (`--cert-dir`)."""

    def pair(self) -> tuple[Path, Path]:
        return self.folder / "apiserver.crt", self.folder / "apiserver.key"

    def test_made(self) -> None:
        """Missing files are made there by the server's authority, and used again (reference FLAG-17)."""
        first = self.start(cert_dir=self.folder)
        certificate, key = self.pair()
        self.assertEqual(x509.load_pem_x509_certificate(certificate.read_bytes()), first.serving_chain[0])
        self.assertTrue(certificates.issued_by(first.serving_chain[0], first.own.certificate))
        self.assertEqual(os.stat(key).st_mode & 0o777, 0o600)
        self.assertEqual(self.start(cert_dir=self.folder).serving_chain, first.serving_chain)
        renewed = self.start(cert_dir=self.folder, tls_san=("a.example.com",))
        self.assertIn("a.example.com", certificates.hosts_of(renewed.serving_chain[0]))

    def operators_pair(self) -> bytes:
        """Files of another authority; returns the certificate's."""
        self.folder.mkdir()
        authority = certificates.new_authority("elsewhere", NOW)
        key = certificates.new_key()
        made = certificates.issue(
            authority, key, "x", certificates.SERVER, NOW, hosts=("x",), life=timedelta(days=1)
        )
        for path, content in zip(self.pair(), (certificates.pem(made), certificates.key_pem(key)), strict=True):
            path.write_bytes(content)
        return self.pair()[0].read_bytes()

    def test_operators_files(self) -> None:
        """An operator's files are used as they are and never written to (reference FLAG-17)."""
        before = self.operators_pair()
        found = self.start(cert_dir=self.folder, tls_san=("a.example.com",))
        self.assertEqual(certificates.pem(found.serving_chain[0]), before)
        self.assertEqual(found.ca_pem, before)
        self.assertEqual(self.pair()[0].read_bytes(), before)

    def test_half(self) -> None:
        """One file of the two ends the start, and names the other one."""
        for missing in (0, 1):
            shutil.rmtree(self.folder, ignore_errors=True)
            self.operators_pair()
            self.pair()[missing].unlink()
            error = self.assertRaises(ConfigError, self.start, cert_dir=self.folder)
            self.assertIn(f"{self.pair()[missing]}: No such file", str(error))

    def test_given_files_first(self) -> None:
        """`--tls-cert-file` counts before the folder, which stays empty."""
        self.operators_pair()
        elsewhere = Path(self.mktemp())
        self.folder.rename(elsewhere)
        found = self.start(
            cert_dir=self.folder,
            tls_cert_file=elsewhere / "apiserver.crt",
            tls_private_key_file=elsewhere / "apiserver.key",
        )
        self.assertEqual(certificates.pem(found.serving_chain[0]), (elsewhere / "apiserver.crt").read_bytes())
        self.assertFalse(self.folder.exists())
