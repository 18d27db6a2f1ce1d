"""The keys of an issuer: documents, the service that fetches them, its flags (reference AUTHN-32, AUTHN-33)."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn import TOKENS
from orchtw.authn.compact import compact
from orchtw.authn.oidc import from_flags
from orchtw.authn.oidc_keys import Fetched, IssuerKeys, Key, NoKeys, fresh_s, keys_of
from orchtw.config import Config
from orchtw.config.authentication import AuthenticationOptions
from orchtw.errors import ConfigError
from orchtw.wire.objects import Object
from tests.authn.hosts import a_host
from tests.authn.issuer import encoded, jwk, key_of, signed
from tests.properties import examples


class DocumentTests(SynchronousTestCase):
    """Keys as issuers publish them."""

    def kids(self, *keys: Any) -> list[str]:
        return [key.kid for key in keys_of({"keys": [jwk("good"), *keys]})]

    def test_passed_over(self) -> None:
        """Keys that cannot verify are skipped.

        These are keys of other uses and kinds, short keys, wrong curves and texts (reference AUTHN-47).
        """
        short = RSAAlgorithm.to_jwk(rsa.generate_private_key(public_exponent=65537, key_size=1024).public_key())
        curve = ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP256K1()).public_key())
        self.assertEqual(
            self.kids(
                jwk("enc", use="enc"),
                {"kty": "oct", "k": "AAAA", "kid": "oct"},
                {**orjson.loads(short), "kid": "short"},
                {**orjson.loads(curve), "kid": "curve"},
                {"kty": "RSA", "kid": "nothing"},
                {"kty": "RSA", "kid": "wrong", "n": 5, "e": "AQAB"},
                {"kty": "EC", "kid": "off", "crv": "P-256", "x": "AAAA", "y": "AAAA"},
                "text",
                jwk("kid", kid=5),
            ),
            ["good"],
        )

    def test_many(self) -> None:
        """So many keys count, and no more."""
        self.assertEqual(len(self.kids(*[jwk("good")] * 500)), 100)

    def test_none(self) -> None:
        """A key set without a usable key is empty; a document that is not a key set raises NoKeys (AUTHN-49)."""
        for listed in ([], [{"kty": "oct"}], ["text"], [jwk("enc", use="enc")]):
            self.assertEqual(keys_of({"keys": listed}), ())
        document: Object
        for document in ({}, {"keys": None}, {"keys": {}}, {"keys": "x"}):
            self.assertRaises(NoKeys, keys_of, document)

    def test_fresh(self) -> None:
        """The response headers determine how long a key set stays fresh, within bounds (AUTHN-49)."""
        for control, age, seconds in (
            ("", "", 300), ("max-age=120", "", 120), ("public, MAX-AGE=\"600\"", "", 600), ("max-age=1", "", 60),
            ("max-age=86400", "", 3600), ("max-age=600", "100", 500), ("max-age=600", "9999999", 60),
            ("max-age=600", "x", 600), ("no-store", "", 60), ("no-cache, max-age=600", "", 60),
            ("s-maxage=600", "", 300), ("max-age=" + "9" * 30, "", 300),
        ):  # fmt: skip
            self.assertEqual(fresh_s({"cache-control": control, "age": age}), seconds, (control, age))

    def test_algorithm_of_key(self) -> None:
        """A key that names its algorithm is for no other."""
        token = compact(signed({}, "good"))
        assert token is not None
        for algorithm, good in (("RS256", True), ("PS256", False), ("RSA-OAEP", False)):
            (key,) = keys_of({"keys": [jwk("good", alg=algorithm)]})
            self.assertEqual(key.verifies(token, "RS256"), good)

    @examples(100)
    @given(st.text(max_size=60))
    def test_any_text(self, text: str) -> None:
        """Whatever a token is, reading it raises nothing."""
        compact(text)
        compact(f"{encoded({})}.{encoded({})}.{text}")

    def test_deep(self) -> None:
        """Brackets within brackets do not make a token."""
        deep = base64.urlsafe_b64encode(b"[" * 100_000).decode()
        self.assertIsNone(compact(f"{deep}.{deep}.AA"))
        self.assertIsNone(compact(f"{encoded({})}.{deep}.AA"))


class ServiceTests(SynchronousTestCase):
    """The keeping of keys."""

    def test_bug(self) -> None:
        """An unexpected exception is logged, and fetching goes on."""
        clock, calls = Clock(), []

        async def fetch() -> Fetched:
            calls.append(clock.seconds())
            if len(calls) == 1:
                raise RuntimeError("x")
            return Fetched((Key(kid="a", algorithm="", public=key_of("one").public_key()),), 60)

        keys = IssuerKeys(fetch, clock, lambda: None)
        keys.startService()
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        clock.advance(10)
        self.assertEqual((calls, len(keys.keys or ())), ([0, 10], 1))
        keys.stopService()
        self.assertEqual(clock.getDelayedCalls(), [])

    def test_stops(self) -> None:
        """A stop ends the fetch in progress and releases its waiters."""
        pending: Deferred[Fetched] = Deferred()

        async def fetch() -> Fetched:
            return await pending

        clock = Clock()
        keys = IssuerKeys(fetch, clock, lambda: None)
        keys.startService()
        waits = Deferred.fromCoroutine(keys.refreshed())
        keys.stopService()
        self.successResultOf(waits)
        self.assertEqual((clock.getDelayedCalls(), keys.keys), ([], None))
        self.successResultOf(Deferred.fromCoroutine(keys.refreshed()))


class FlagTests(SynchronousTestCase):
    def test_off(self) -> None:
        """Without an issuer there is no such method."""
        self.assertIsNone(TOKENS["oidc"](a_host(), AuthenticationOptions()))

    def test_ca_file(self) -> None:
        """Authorities that cannot be read end the start."""
        path = Path(self.mktemp())
        config = Config.of(oidc_issuer_url="https://h", oidc_client_id="c", oidc_ca_file=path).authn
        self.assertRaises(ConfigError, from_flags, a_host(), config)
        path.write_text("no")
        self.assertRaises(ConfigError, from_flags, a_host(), config)
