"""Authorities of the signers (reference CSR-15)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import x25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from twisted.trial.unittest import SynchronousTestCase

from orchtw.config import Config
from orchtw.config.signing import SigningOptions
from orchtw.errors import ConfigError
from orchtw.pki import certificates
from orchtw.pki.cluster_signing import CLIENT, LEGACY, NODE_CLIENT, NODE_SERVING, ClusterSigning
from orchtw.pki.issuing import SigningAuthority

ALL = (CLIENT, NODE_CLIENT, NODE_SERVING, LEGACY)


class ClusterSigningTests(SynchronousTestCase):
    def setUp(self) -> None:
        made = certificates.new_authority("own", datetime.now(UTC))
        self.own = SigningAuthority(made.certificate, made.key)
        self.folder = Path(self.mktemp())
        self.folder.mkdir()

    def write(self, name: str, common_name: str = "") -> tuple[Path, Path]:
        """The files of another authority."""
        made = certificates.new_authority(common_name or name, datetime.now(UTC))
        paths = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        paths[0].write_bytes(certificates.pem(made.certificate))
        paths[1].write_bytes(certificates.key_pem(made.key))
        return paths

    def signers(self, signing: ClusterSigning) -> list[str]:
        """Return the subject of each signer's authority, or "" if it has none."""
        found = (signing.authority(signer) for signer in ALL)
        return ["" if each is None else each.certificate.subject.rfc4514_string() for each in found]

    def test_own(self) -> None:
        """Without flags the server's own authority signs for all, if there is one."""
        self.assertEqual(self.signers(ClusterSigning(SigningOptions(), self.own)), ["CN=own"] * 4)
        self.assertEqual(self.signers(ClusterSigning(SigningOptions())), [""] * 4)
        self.assertEqual(ClusterSigning(SigningOptions(), self.own).files, ())

    def test_common(self) -> None:
        """The common files are for all signers; they can be read again."""
        certificate, key = self.write("a")
        config = Config.of(cluster_signing_cert_file=certificate, cluster_signing_key_file=key)
        signing = ClusterSigning(config.signing, self.own)
        self.assertEqual(self.signers(signing), ["CN=a"] * 4)
        self.assertEqual(signing.files, (certificate, key))
        self.write("a", "b")
        signing.read()
        self.assertEqual(self.signers(signing), ["CN=b"] * 4)
        key.write_bytes(b"")
        with self.assertRaises(ConfigError):
            signing.read()
        self.assertEqual(self.signers(signing), ["CN=b"] * 4)

    def test_each(self) -> None:
        """Once a signer has files of its own, those without have nobody."""
        certificate, key = self.write("a")
        names = ("orch_apiserver_client", "orchlet_client", "orchlet_serving", "legacy_unknown")
        for index, name in enumerate(names):
            given: dict[str, Any] = {
                f"cluster_signing_{name}_cert_file": certificate, f"cluster_signing_{name}_key_file": key
            }
            expected = [""] * 4
            expected[index] = "CN=a"
            self.assertEqual(self.signers(ClusterSigning(Config.of(**given).signing, self.own)), expected)

    def test_wrong_files(self) -> None:
        """A refusal names flag and file."""
        certificate, key = self.write("a")
        other = self.write("b")[1]
        cannot = self.folder / "x"
        cannot.write_bytes(
            x25519.X25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        )
        flag = "--cluster-signing-key-file"
        cases = {
            (certificate, other): f"{flag}: {other}: is not the key of {certificate}",
            (certificate, cannot): f"{flag}: {cannot}: is of a type that cannot sign certificates",
            (key, key): f"--cluster-signing-cert-file: {key}: holds no readable PEM certificate",
        }
        for (first, second), expected in cases.items():
            config = Config.of(cluster_signing_cert_file=first, cluster_signing_key_file=second)
            with self.assertRaises(ConfigError) as caught:
                ClusterSigning(config.signing)
            self.assertEqual(caught.exception.problems, (expected,))
