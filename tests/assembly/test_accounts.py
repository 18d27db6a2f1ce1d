"""Tokens of service accounts as the flags want them (reference AUTHN-24, AUTHN-7, AUTHN-30)."""

from __future__ import annotations

from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.accounts import account_tokens, root_ca
from orchtw.assembly.flags import parse
from orchtw.authn.service_accounts.issuer import AccountTokens
from orchtw.errors import ConfigError
from orchtw.naming.naming import Naming
from orchtw.pki.certificates import public_pem
from tests.authn.service_accounts.test_keys import EC, RSA, private_pem

ISSUER = "https://kubernetes.default.svc.cluster.local"


class AccountTokensTests(SynchronousTestCase):
    def file(self, content: bytes) -> str:
        path: str = self.mktemp()
        Path(path).write_bytes(content)
        return path

    def made(self, *flags: str, generated: ec.EllipticCurvePrivateKey | None = None) -> AccountTokens:
        return account_tokens(parse(flags), Naming.kubernetes(), "a:1", generated)

    def test_defaults(self) -> None:
        """The generated key signs; the issuer is the server's name in the cluster, and the audience (AUTHN-31)."""
        tokens = self.made(generated=EC)
        self.assertEqual((tokens.issuers, tokens.audiences), ((ISSUER,), (ISSUER,)))
        self.assertIs(tokens.keys.signing.key, EC)
        self.assertEqual(len(tokens.keys.verifying), 1)
        self.assertEqual(tokens.jwks_uri, "https://a:1/openid/v1/jwks")

    def test_serving_key(self) -> None:
        """Without keys of their own, tokens by the serving certificate's key are believed (AUTHN-24)."""
        serving, other = self.file(private_pem(RSA)), self.file(public_pem(EC))
        pair = ("--tls-cert-file=a", f"--tls-private-key-file={serving}")
        self.assertEqual([key.algorithm for key in self.made(*pair, generated=EC).keys.verifying], ["ES256", "RS256"])
        keys = self.made(*pair, f"--service-account-key-file={other}", generated=EC).keys
        self.assertEqual([key.algorithm for key in keys.verifying], ["ES256"])
        strange = self.file(private_pem(ed25519.Ed25519PrivateKey.generate()))
        pair = ("--tls-cert-file=a", f"--tls-private-key-file={strange}")
        self.assertEqual(len(self.made(*pair, generated=EC).keys.verifying), 1)

    def test_without_any_key(self) -> None:
        """A server without files makes a key that ends with it."""
        first, second = self.made(), self.made()
        self.assertNotEqual(first.keys.signing.public.kid, second.keys.signing.public.kid)

    def test_key_for_secrets(self) -> None:
        """Tokens in Secrets may have a key of their own, which is believed too (CTRL-23, AUTHN-24)."""
        tokens = self.made(f"--service-account-private-key-file={self.file(private_pem(RSA))}", generated=EC)
        account = {"metadata": {"namespace": "a", "name": "b", "uid": "c"}}
        kept = jwt.get_unverified_header(tokens.legacy(account, "s"))
        issued = jwt.get_unverified_header(tokens.bound(account, ["x"], 0, (600, 0), None))
        self.assertEqual((kept["alg"], issued["alg"]), ("RS256", "ES256"))
        self.assertEqual([key.kid for key in tokens.keys.verifying], [issued["kid"], kept["kid"]])
        with self.assertRaises(ConfigError) as raised:
            self.made("--service-account-private-key-file=none")
        expected = "--service-account-private-key-file: none: No such file or directory"
        self.assertEqual(raised.exception.problems, (expected,))

    def test_flags(self) -> None:
        """Files, issuers and audiences of the flags take the place of what is generated (AUTHN-24, AUTHN-7)."""
        signing, other = self.file(private_pem(RSA)), self.file(public_pem(EC))
        tokens = self.made(
            f"--service-account-signing-key-file={signing}",
            f"--service-account-key-file={other}",
            "--service-account-issuer=https://a",
            "--service-account-issuer=https://b",
            "--api-audiences=api",
            "--service-account-lookup=false",
            "--service-account-max-token-expiration=2h",
            "--service-account-jwks-uri=https://c/keys",
            generated=ec.generate_private_key(ec.SECP256R1()),
        )
        self.assertEqual([key.algorithm for key in tokens.keys.verifying], ["RS256", "ES256"])
        self.assertEqual((tokens.issuers, tokens.audiences), (("https://a", "https://b"), ("api",)))
        self.assertEqual((tokens.lookup, tokens.max_s, tokens.jwks_uri), (False, 7200, "https://c/keys"))

    def test_refused_flags(self) -> None:
        """Issuers with a colon are URLs, keys are told by https, and the longest time is an hour at least."""
        for flag, problem in (
            ("--service-account-issuer=a:b", "is not a valid URL"),
            ("--service-account-jwks-uri=http://a/b", "requires https scheme"),
            ("--service-account-max-token-expiration=59m", "between 1 hour and 2^32 seconds"),
            ("--concurrent-serviceaccount-token-syncs=0", "must be greater than 0"),
        ):
            error = self.assertRaises(ConfigError, parse, [flag])
            self.assertIn(problem, error.problems[0])

    def test_key_files_are_rooted(self) -> None:
        """Key files are taken from the folder that the server was started in, each of them."""
        config = parse(["--service-account-key-file=a,/b", "--service-account-key-file=c"]).rooted(Path("/srv"))
        self.assertEqual(config.accounts.key_file, (Path("/srv/a"), Path("/b"), Path("/srv/c")))

    def test_root_ca(self) -> None:
        """--root-ca-file must hold certificates; without it there is nothing to say (CTRL-23)."""
        self.assertEqual(root_ca(parse([]).accounts), "")
        self.assertRaises(ConfigError, root_ca, parse([f"--root-ca-file={self.file(b'x')}"]).accounts)
