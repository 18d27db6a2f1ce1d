"""`orch-user`: kubeconfigs for further users."""

from __future__ import annotations

import base64
import io
import os
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.x509.oid import NameOID
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.keys import pki_options
from orchtw.config import Config
from orchtw.naming.naming import Naming
from orchtw.pki import certificates
from orchtw.pki.first_start import prepare
from orchtw.pki.user_command import main


class UserCommandTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.data = Path(self.mktemp())
        prepare(pki_options(Config.of(data_dir=self.data)), Naming.orch(), 6443, datetime.now(UTC))

    def command(self, *arguments: str) -> tuple[int, str]:
        """Return the exit status and the output."""
        printed = io.StringIO()
        with redirect_stdout(printed), redirect_stderr(printed):
            status = main([*arguments, "--data-dir", str(self.data)])
        return status, printed.getvalue().strip()

    def user(self, path: str | Path) -> tuple[dict[str, Any], x509.Certificate]:
        """The kubeconfig and the certificate in it."""
        document: dict[str, Any] = yaml.safe_load(Path(path).read_text())
        pem = base64.b64decode(document["users"][0]["user"]["client-certificate-data"])
        return document, x509.load_pem_x509_certificate(pem)

    def test_user(self) -> None:
        """The certificate names user and groups, is signed by the folder's authority and ends when it is told to."""
        status, path = self.command("ann", "--group", "dev", "--group", "ops", "--days", "7")
        self.assertEqual((status, path), (0, str(self.data / "users" / "ann.kubeconfig")))
        document, certificate = self.user(path)
        subject = certificate.subject
        (name,) = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        groups = [each.value for each in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
        self.assertEqual((name.value, groups), ("ann", ["dev", "ops"]))
        ca = x509.load_pem_x509_certificate((self.data / "pki" / "ca.crt").read_bytes())
        self.assertTrue(certificates.issued_by(certificate, ca))
        self.assertLess(certificate.not_valid_after_utc, datetime.now(UTC) + timedelta(days=7, minutes=1))
        self.assertEqual(document["clusters"][0]["cluster"]["server"], "https://127.0.0.1:6443")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)

    def test_pem_files(self) -> None:
        """The same certificate, its key and the server's authority lie beside the kubeconfig as private PEM files."""
        _, path = self.command("prometheus")
        document, certificate = self.user(path)
        folder = self.data / "users"
        self.assertEqual(x509.load_pem_x509_certificate((folder / "prometheus.crt").read_bytes()), certificate)
        user = document["users"][0]["user"]
        self.assertEqual((folder / "prometheus.key").read_bytes(), base64.b64decode(user["client-key-data"]))
        authority = (self.data / "pki" / "ca.crt").read_bytes()
        self.assertEqual((folder / "prometheus-ca.crt").read_bytes(), authority)
        modes = {each.name: os.stat(each).st_mode & 0o777 for each in folder.iterdir()}
        self.assertEqual(set(modes.values()), {0o600}, modes)

    def test_output(self) -> None:
        """A place of one's own; a name that is not a file name makes a tame one."""
        wanted = self.data / "elsewhere"
        self.assertEqual(self.command("ann", "--output", str(wanted)), (0, str(wanted)))
        _, path = self.command("system:node:../n1")
        self.assertEqual(Path(path).parent, self.data / "users")
        self.assertEqual(self.user(path)[0]["users"][0]["name"], "system:node:../n1")

    def test_refusals(self) -> None:
        """Names that no certificate carries and folders without keys are one line each."""
        for arguments in (("",), ("x" * 65,), ("a\nb",), ("ann", "--group", "")):
            status, line = self.command(*arguments)
            self.assertEqual((status, line.count("\n")), (1, 0), line)
            self.assertIn("1 to 64 printable characters", line)
        (self.data / "pki" / "ca.key").unlink()
        status, line = self.command("ann")
        self.assertEqual(status, 1)
        self.assertIn("ca.key", line)
