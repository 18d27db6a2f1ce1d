"""Keys of service account tokens (reference AUTHN-24)."""

from __future__ import annotations

from pathlib import Path

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn.service_accounts.keys import SigningKey, TokenKeys, read_signing_key, read_verifying_keys
from orchtw.errors import ConfigError

FLAG = "service-account-key-file"
EC = ec.generate_private_key(ec.SECP256R1())
RSA = rsa.generate_private_key(65537, 2048)


def private_pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def public_pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


class KeyFileTests(SynchronousTestCase):
    def file(self, content: bytes) -> Path:
        path = Path(self.mktemp())
        path.write_bytes(content)
        return path

    def test_several_in_one_file(self) -> None:
        """A file may hold several keys, public and private ones (AUTHN-24)."""
        found = read_verifying_keys(FLAG, self.file(public_pem(RSA) + b"comment\n" + private_pem(EC)))
        self.assertEqual([each.algorithm for each in found], ["RS256", "ES256"])
        self.assertEqual([each.kid for each in found], [SigningKey.of(key).public.kid for key in (RSA, EC)])

    def test_algorithms(self) -> None:
        """The key says the algorithm: its curve, or RS256 (AUTHN-24)."""
        curves = {ec.SECP256R1(): "ES256", ec.SECP384R1(): "ES384", ec.SECP521R1(): "ES512"}
        for curve, algorithm in curves.items():
            key = SigningKey.of(ec.generate_private_key(curve))
            self.assertEqual(key.public.algorithm, algorithm)
        self.assertEqual(SigningKey.of(RSA).public.algorithm, "RS256")

    def test_refused_files(self) -> None:
        """A file without keys, a broken or other kind of key, and a missing file end the start, naming the flag."""
        other = private_pem(ed25519.Ed25519PrivateKey.generate())
        broken = public_pem(EC).replace(b"M", b"!", 3)
        for content in (b"", b"nothing", other, broken, private_pem(rsa.generate_private_key(65537, 1024))):
            error = self.assertRaises(ConfigError, read_verifying_keys, FLAG, self.file(content))
            self.assertTrue(error.problems[0].startswith(f"--{FLAG}: "))
            self.assertRaises(ConfigError, read_signing_key, FLAG, self.file(content))
        self.assertRaises(ConfigError, read_verifying_keys, FLAG, Path("missing"))
        self.assertRaises(ConfigError, read_signing_key, FLAG, self.file(public_pem(EC)))

    def test_signing_key_is_believed(self) -> None:
        """The key that signs is among those that are believed, once (AUTHN-24)."""
        signing = read_signing_key(FLAG, self.file(private_pem(EC)))
        keys = TokenKeys(signing, read_verifying_keys(FLAG, self.file(public_pem(EC) + public_pem(RSA))))
        self.assertEqual([each.algorithm for each in keys.verifying], ["ES256", "RS256"])

    def test_web_keys(self) -> None:
        """The members of the key set are the keys, in the form that other libraries read (AUTHN-31)."""
        for key in (EC, RSA):
            made = SigningKey.of(key).public
            web = jwt.PyJWK(dict(made.jwk()))
            self.assertEqual((web.key, web.key_id), (key.public_key(), made.kid))
            self.assertEqual((made.jwk()["use"], made.jwk()["alg"]), ("sig", made.algorithm))
