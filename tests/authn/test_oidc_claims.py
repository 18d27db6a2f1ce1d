"""Claims of ID tokens (reference AUTHN-33 to AUTHN-35)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn.oidc_claims import BadToken, Mapping
from orchtw.config.authentication import OIDCOptions
from orchtw.request import UserInfo
from tests.authn.issuer import NOW

ISSUER = "https://issuer"
CLAIMS = {"iss": ISSUER, "aud": "client", "sub": "alice", "exp": NOW + 10}


def mapping(**flags: Any) -> Mapping:
    """That of these flags."""
    return Mapping.of(OIDCOptions(issuer_url=ISSUER, client_id="client", **flags))


class CheckTests(SynchronousTestCase):
    """Validity of an ID token's claims (reference AUTHN-33)."""

    def why(self, **claims: Any) -> str:
        """Return the reason for refusing the claims, or "" if they are accepted."""
        try:
            mapping().check({**CLAIMS, **claims}, NOW)
        except BadToken as problem:
            return str(problem)
        return ""

    def test_audience(self) -> None:
        """The client must be the audience or among them; `azp` does not matter."""
        audience: Any
        for audience in ("client", ["other", "client"]):
            self.assertEqual(self.why(aud=audience, azp="other"), "")
        for audience in ("clients", ["other"], [], None, {"client": 1}, 5, [["client"]]):
            self.assertIn('oidc: verify token: oidc: expected audience "client" got', self.why(aud=audience))
        self.assertTrue(self.why(aud=["a", "b"]).endswith('got ["a" "b"]'))

    def test_expiry(self) -> None:
        """It must be there and not be past; there is no leeway."""
        self.assertEqual(self.why(exp=NOW), "")
        self.assertEqual(self.why(exp=NOW + 0.5), "")
        expiry: Any
        for expiry in (NOW - 1, 0, -1, None, 1e300 - 1e300):
            self.assertIn("token is expired", self.why(exp=expiry))
        for expiry in ("9999999999", True, [NOW + 10], {}):
            self.assertIn("exp must be a number", self.why(exp=expiry))

    def test_not_before(self) -> None:
        """A token may be used up to a minute before its time, as clocks differ."""
        for begin in (None, NOW - 1, NOW + 60):
            self.assertEqual(self.why(nbf=begin), "")
        for begin in (NOW + 61, 1e300):
            self.assertIn("before the nbf (not before) time", self.why(nbf=begin))
        self.assertIn("nbf must be a number", self.why(nbf="soon"))


class UserTests(SynchronousTestCase):
    """Users read from an ID token's claims (reference AUTHN-34, AUTHN-35)."""

    def user(self, claims: Any = None, **flags: Any) -> Any:
        """The user, or the text of the refusal."""
        try:
            return mapping(**flags).user({**CLAIMS, **(claims or {})})
        except BadToken as problem:
            return str(problem)

    def test_prefixes(self) -> None:
        """Names have the issuer before them, unless they are addresses or the flag says otherwise."""
        for flags, name in (
            ({}, "https://issuer#alice"),
            ({"username_prefix": "-"}, "alice"),
            ({"username_prefix": "oidc:"}, "oidc:alice"),
            ({"username_claim": "email"}, "a@b"),
            ({"username_claim": "email", "username_prefix": "oidc:"}, "oidc:a@b"),
        ):
            user = self.user({"email": "a@b"}, **flags)
            self.assertEqual(user, UserInfo(name=name, groups=("system:authenticated",)), flags)

    def test_name(self) -> None:
        """The claim must be there and be a text."""
        for claims, why in (({}, "claim not present"), ({"x": 5}, "must be a string")):
            expected = f'oidc: parse username claims "x": {why}'
            self.assertEqual(self.user(claims, username_claim="x"), expected)

    def test_verified_email(self) -> None:
        """An email that the issuer calls unverified is refused; without that claim it is accepted."""
        flags = {"username_claim": "email"}
        self.assertEqual(self.user({"email": "a@b", "email_verified": True}, **flags).name, "a@b")
        for value in (False, None):
            found = self.user({"email": "a@b", "email_verified": value}, **flags)
            self.assertEqual(found, "oidc: email not verified")
        self.assertIn("parse 'email_verified' claim", self.user({"email": "a@b", "email_verified": "true"}, **flags))
        self.assertIsInstance(self.user({"email_verified": False}), UserInfo)

    def test_groups(self) -> None:
        """Groups are a string or a list of strings, each prefixed; an absent claim adds no groups."""
        flags = {"groups_claim": "g", "groups_prefix": "p:"}
        for value, groups in (("a", ("p:a",)), (["a", "b"], ("p:a", "p:b")), (None, ()), ([], ())):
            self.assertEqual(self.user({"g": value}, **flags).groups, (*groups, "system:authenticated"))
        self.assertEqual(self.user({}, **flags).groups, ("system:authenticated",))
        self.assertEqual(self.user({"g": ["a"]}).groups, ("system:authenticated",))
        for wrong in (5, [5], {"a": 1}, [["a"]]):
            self.assertIn('oidc: parse groups claim "g": ', self.user({"g": wrong}, **flags))

    def test_required(self) -> None:
        """Every required claim must have its value."""
        flags = {"required_claim": (("hd", "example.com"), ("role", "dev"))}
        self.assertIsInstance(self.user({"hd": "example.com", "role": "dev"}, **flags), UserInfo)
        for claims, why in (
            ({"hd": "example.com"}, "oidc: required claim role not present in ID token"),
            ({"hd": "x"}, 'oidc: required claim hd value does not match. Got = x, want = example.com'),
            ({"hd": ["example.com"]}, "oidc: parse claim hd: must be a string"),
        ):
            self.assertEqual(self.user(claims, **flags), why)
