"""Bootstrap tokens and their Secrets (reference AUTHN-20 to AUTHN-22)."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import jwt
from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.bootstrap_tokens import BadSecret, TokenSecret, split
from orchtw.rules.detached_signature import detached_signature
from orchtw.wire.objects import Object

NOW = 1_700_000_000.0
PAST, FUTURE = "2023-11-14T22:13:20Z", "2023-11-14T22:13:21Z"
VALUES = {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
    "usage-bootstrap-signing": "true",
}


def token_secret(name: str = "", /, **values: Any) -> Object:
    """A Secret with these keys; underscores are dashes, None is not a key."""
    given = {**VALUES, **{key.replace("_", "-"): value for key, value in values.items()}}
    data = {key: b64encode(str(value).encode()).decode() for key, value in given.items() if value is not None}
    return {
        "metadata": {"name": name or f"bootstrap-token-{given['token-id']}"},
        "type": "bootstrap.orch.io/token",
        "data": data,
    }


class SplitTests(SynchronousTestCase):
    def test_form(self) -> None:
        """Six and sixteen small letters and digits with a dot between (reference AUTHN-20)."""
        self.assertEqual(split("abcde1.0123456789abcdef"), ("abcde1", "0123456789abcdef"))
        for token in (
            "abcdef.0123456789abcdef\n",
            "\nabcdef.0123456789abcdef",
            "abcdeF.0123456789abcdef",
            "abcdef.0123456789abcdeF",
            "abcde.0123456789abcdef",
            "abcdef.0123456789abcde",
            "abcdef:0123456789abcdef",
            "abcdef.0123456789abcde\u0661",
            "",
        ):
            self.assertIsNone(split(token), token)


class AuthenticationTests(SynchronousTestCase):
    """Authentication with bootstrap tokens (reference AUTHN-21)."""

    def why(self, secret: Object, token: str = "0123456789abcdef") -> str:
        """Return the reason for refusing the token, or ""."""
        try:
            TokenSecret.of(secret).groups("abcdef", token, NOW)
        except BadSecret as problem:
            return str(problem)
        return ""

    def test_good(self) -> None:
        """A token that is whole, and one that is yet to expire."""
        self.assertEqual(self.why(token_secret()), "")
        self.assertEqual(self.why(token_secret(expiration=FUTURE)), "")
        self.assertEqual(self.why(token_secret(expiration="")), "")

    def test_bad(self) -> None:
        """Each check alone keeps out."""
        terminating = token_secret()
        terminating["metadata"]["deletionTimestamp"] = PAST
        for secret, why in (
            (terminating, "its Secret is being deleted"),
            (token_secret(token_secret="x"), "the secret does not match"),
            (token_secret(token_secret=None), "the secret does not match"),
            (token_secret("bootstrap-token-abcdef", token_id="abcdeg"), "its Secret has another token id"),
            (token_secret("bootstrap-token-abcdef", token_id=None), "its Secret has another token id"),
            (token_secret(expiration=PAST), "it has expired"),
            (token_secret(expiration="tomorrow"), "it has expired"),
            (token_secret(usage_bootstrap_authentication="True"), "it is not for authentication"),
            (token_secret(usage_bootstrap_authentication=None), "it is not for authentication"),
        ):
            self.assertEqual(self.why(secret), why)
        self.assertEqual(self.why(token_secret(), "0123456789abcdeg"), "the secret does not match")
        self.assertEqual(self.why({**token_secret(), "data": {"token-secret": "/w=="}}), "the secret does not match")
        self.assertEqual(self.why({"metadata": {"name": "x"}}), "the secret does not match")

    def test_groups(self) -> None:
        """The default group and the extra ones, each once, in order (reference AUTHN-22)."""
        extra = "system:bootstrappers:b,system:bootstrappers:a:1,system:bootstrappers:b"
        found = TokenSecret.of(token_secret(auth_extra_groups=extra)).groups("abcdef", "0123456789abcdef", NOW)
        self.assertEqual(found, ("system:bootstrappers", "system:bootstrappers:a:1", "system:bootstrappers:b"))

    def test_bad_groups(self) -> None:
        """One group of another form spoils the token."""
        for group in (
            "system:masters",
            "system:bootstrappers:",
            "system:bootstrappers:a,",
            "system:bootstrappers:a, system:bootstrappers:b",
            "system:bootstrappers:A",
            "system:bootstrappers:a-",
            "system:bootstrappers:a\n",
            "system:bootstrappers:" + "a" * 257,
        ):
            self.assertIn("extra groups", self.why(token_secret(auth_extra_groups=group)), group)


class SigningTests(SynchronousTestCase):
    """Tokens that sign (reference AUTHN-45)."""

    def test_good(self) -> None:
        """One that says so; it need not be for authentication, nor have a secret that is (reference AUTHN-45)."""
        self.assertTrue(TokenSecret.of(token_secret(usage_bootstrap_authentication=None)).signs(NOW))
        for secret in ("tokenSecret", "x", "0123456789ABCDEF", "0" * 300):
            token = token_secret(token_id="dddddd", token_secret=secret)
            self.assertTrue(TokenSecret.of(token).signs(NOW))
            self.assertIsNone(split(f"dddddd.{secret}"))

    def test_bad(self) -> None:
        """Another form, name or use, and what has expired."""
        for secret in (
            token_secret(token_secret=""),
            token_secret(token_secret=None),
            token_secret(token_id="abcde"),
            token_secret(token_id="abcdeF"),
            token_secret(token_id=None),
            token_secret("bootstrap-token-aaaaaa"),
            token_secret(expiration=PAST),
            token_secret(usage_bootstrap_signing=None),
            token_secret(usage_bootstrap_signing="false"),
        ):
            self.assertFalse(TokenSecret.of(secret).signs(NOW))

    def test_signature(self) -> None:
        """A detached JWS as any library verifies it once the content is put back (reference AUTHN-45)."""
        header, content, signature = detached_signature("content\u00e4", "abcdef", "k" * 32).split(".")
        self.assertEqual(content, "")
        body = b64encode("content\u00e4".encode(), b"-_").decode().rstrip("=")
        found = jwt.PyJWS().decode_complete(f"{header}.{body}.{signature}", "k" * 32, ["HS256"])
        self.assertEqual(found["header"], {"alg": "HS256", "kid": "abcdef"})
        self.assertEqual(found["payload"], "content\u00e4".encode())
