"""OpenID Connect, with an issuer over TLS (reference AUTHN-32, AUTHN-33)."""

from __future__ import annotations

import base64
import hashlib
import hmac
from functools import partial

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from twisted.internet.defer import Deferred

from orchtw.authn.oidc import NOT_READY
from orchtw.authn.oidc_rules import UNSIGNED
from orchtw.request import UserInfo
from orchtw.testing.webhook import HANG_UP, Reply, WebhookServer
from tests.authn.issuer import NOW, encoded, jwk, key_of, signed
from tests.authn.oidc_case import OIDCCase, Timed
from tests.outbound.test_caller import reactor


class TokenTests(OIDCCase):
    """Good tokens and hostile ones."""

    async def test_good(self) -> None:
        """A token of the issuer for this client is its user's, again and again, until it expires."""
        await self.begin()
        token = signed(self.issuer.claims(exp=NOW + 20))
        self.assertEqual(await self.name(token), "alice")
        self.assertIs(await self.found(token), await self.found(token))
        self.time.clock.advance(10)
        self.now += 21
        self.assertIn("token is expired", await self.found(token))

    async def test_remembered_not_beyond_expiry(self) -> None:
        """A cached token is refused once it has expired."""
        await self.begin()
        token = signed(self.issuer.claims(exp=NOW + 2))
        await self.found(token)
        self.now += 3
        self.time.clock.advance(3)
        self.assertIn("token is expired", await self.found(token))

    async def test_algorithms(self) -> None:
        """Those of the flag are taken, the others refused."""
        algorithms = ("RS384", "ES256", "ES384", "ES512", "PS512")
        self.issuer.keys = [jwk(name, name) for name in algorithms]
        await self.begin(oidc_signing_algs=algorithms)
        for name in algorithms:
            self.assertEqual(await self.name(signed(self.issuer.claims(), name, name)), "alice", name)
        found = await self.found(signed(self.issuer.claims(), "RS384", "RS256"))
        self.assertIn("unsupported signing algorithm", found)

    async def test_not_of_issuer(self) -> None:
        """Tokens of other issuers, and texts that are not JWTs, are left to other methods."""
        await self.begin()
        for token in (
            "t",
            "a.b",
            "..",
            "a.b.c",
            signed(self.issuer.claims(iss="https://other")),
            signed(self.issuer.claims(iss=None)),
            signed(self.issuer.claims(iss=self.issuer.url + "/")),
            signed(self.issuer.claims(iss=[self.issuer.url])),
            "x" * (1 << 20),
            signed(self.issuer.claims(more="x" * (1 << 20))),
            "\udcff.a.b",
        ):
            self.assertIsNone(await self.found(token), token[:40])

    async def test_hostile(self) -> None:
        """Expired, early, foreign, forged, altered and truncated tokens are refused."""
        await self.begin()
        good = signed(self.issuer.claims())
        head, payload, signature = good.split(".")
        other = signed(self.issuer.claims(sub="mallory")).split(".")[1]
        for what, token in {
            "expired": signed(self.issuer.claims(exp=NOW - 1)),
            "no expiry": signed(self.issuer.claims(exp=None)),
            "future": signed(self.issuer.claims(nbf=NOW + 3600)),
            "audience": signed(self.issuer.claims(aud="other")),
            "key": signed(self.issuer.claims(), "strange"),
            "kid of another": signed(self.issuer.claims(), "strange", kid="one"),
            "payload": f"{head}.{other}.{signature}",
            "cut": good[:-20],
            "one sign": good[:-6] + ("A" if good[-6] != "A" else "B") + good[-5:],
            "critical": signed(self.issuer.claims(), crit=["x"], x=1),
        }.items():
            found = await self.found(token)
            self.assertFalse(isinstance(found, UserInfo), what)
        self.assertEqual(await self.name(good), "alice")

    async def test_swapped_algorithm(self) -> None:
        """`none` and a MAC with the public key as its secret are refused, whatever the header says
        (reference AUTHN-48).
        """
        await self.begin(oidc_signing_algs=("RS256", "ES256", "PS256"))
        payload = encoded(self.issuer.claims(sub="mallory"))
        public = key_of("one").public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        for algorithm in ("none", "None", "HS256", "HS512", "RS256", "ES256", "PS256", "", None, 5, ["RS256"]):
            head = encoded({"alg": algorithm, "kid": "one"})
            mac = hmac.new(public, f"{head}.{payload}".encode(), hashlib.sha256).digest()
            for signature in (base64.urlsafe_b64encode(mac).decode().rstrip("="), "AA"):
                found = await self.found(f"{head}.{payload}.{signature}")
                self.assertFalse(isinstance(found, UserInfo), algorithm)
            self.assertIsNone(await self.found(f"{head}.{payload}."))

    async def test_long_but_good(self) -> None:
        """A user may be in thousands of groups."""
        await self.begin(oidc_groups_claim="groups")
        groups = [f"group-{number}" for number in range(5000)]
        found = await self.found(signed(self.issuer.claims(groups=groups)))
        self.assertEqual(len(found.groups), 5001)


class KeyTests(OIDCCase):
    """Fetching and refreshing of issuers' keys (reference AUTHN-33)."""

    async def test_not_ready(self) -> None:
        """An issuer that does not answer delays no one; only its own tokens are refused meanwhile."""
        self.issuer.discovery = Reply(silent=True)
        await self.begin(ready=False)
        self.assertEqual(await self.found(signed(self.issuer.claims())), NOT_READY)
        self.assertIsNone(await self.found("t"))

    async def test_comes_later(self) -> None:
        """An issuer that fails is asked again after a while."""
        self.issuer.discovery = Reply(code=503)
        await self.begin(ready=False)
        await self.settled(lambda: self.time.clock.calls)
        self.issuer.discovery = None
        self.time.clock.advance(10)
        await self.settled(lambda: self.keys.keys)
        self.assertEqual(await self.name(signed(self.issuer.claims())), "alice")

    async def test_rotation(self) -> None:
        """A token with a new key makes the keys be read again; all such tokens wait for one reading
        (reference AUTHN-49).
        """
        await self.begin()
        self.issuer.keys.append(jwk("two"))
        self.time.clock.advance(10)
        tokens = [signed(self.issuer.claims(sub=name), "two") for name in "ab"]
        asked = [Deferred.fromCoroutine(self.name(token)) for token in tokens]
        self.assertEqual([await each for each in asked], ["a", "b"])
        self.assertEqual(self.issuer.fetches, 2)

    async def test_back_off(self) -> None:
        """Tokens with keys that nobody has make the issuer be asked every ten seconds at most
        (reference AUTHN-49).
        """
        await self.begin()
        token = signed(self.issuer.claims(), "strange")
        for _ in range(5):
            self.assertEqual(await self.found(token), UNSIGNED)
        self.assertEqual(self.issuer.fetches, 1)
        self.time.clock.advance(10)
        for _ in range(5):
            self.assertEqual(await self.found(token), UNSIGNED)
        self.assertEqual(self.issuer.fetches, 2)

    async def test_retired(self) -> None:
        """A key that the issuer has withdrawn is dropped at the next refresh."""
        self.issuer.max_age = "public, max-age=120"
        await self.begin()
        token = signed(self.issuer.claims())
        self.assertEqual(await self.name(token), "alice")
        self.issuer.keys = [jwk("two")]
        self.time.clock.advance(120)
        await self.settled(lambda: self.issuer.fetches == 2)
        await self.settled(lambda: self.keys.keys[0].kid == "two")
        self.assertEqual(await self.found(token), UNSIGNED)

    async def test_withdrawn(self) -> None:
        """From the reading on that no longer has a key its tokens are refused, remembered ones too; a set without any
        key that can be used withdraws all (reference AUTHN-49).
        """
        for left in ([], [{"kty": "oct", "k": "AAAA", "kid": "one"}], [jwk("one", use="enc")], [jwk("two")]):
            self.issuer.keys, self.issuer.max_age, self.time = [jwk("one"), jwk("two")], "no-store", Timed()
            await self.begin()
            token, other = signed(self.issuer.claims()), signed(self.issuer.claims(sub="bob"), "two")
            self.time.clock.advance(59)
            self.assertEqual((await self.name(token), await self.name(other)), ("alice", "bob"))
            self.issuer.keys, before = left, self.keys.keys
            self.time.clock.advance(1)
            await self.settled(partial(lambda before: self.keys.keys is not before, before))
            self.assertEqual(await self.found(token), UNSIGNED, left)
            self.assertEqual(await self.name(other), "bob" if left == [jwk("two")] else "", left)

    async def test_comes_back(self) -> None:
        """An issuer that has withdrawn its keys and publishes others is believed again (reference AUTHN-49)."""
        self.issuer.keys = []
        await self.begin(ready=False)
        await self.settled(lambda: self.keys.keys is not None)
        token = signed(self.issuer.claims(), "two")
        self.assertEqual(await self.found(token), UNSIGNED)
        self.issuer.keys = [jwk("two")]
        self.time.clock.advance(10)
        self.assertEqual(await self.name(token), "alice")

    async def test_unreachable(self) -> None:
        """While the issuer is away its last keys hold."""
        await self.begin()
        self.issuer.jwks = HANG_UP
        self.time.clock.advance(300)
        await self.settled(lambda: self.issuer.fetches >= 2)
        await self.settled(lambda: self.time.clock.calls)
        self.assertEqual(await self.name(signed(self.issuer.claims())), "alice")

    async def test_lying(self) -> None:
        """Another's issuer, keys without TLS, no set of keys, too much, and no JSON leave the method without keys."""
        for name, answer in (
            ("discovery", {"issuer": "https://other", "jwks_uri": f"{self.issuer.url}/keys?v=1"}),
            ("discovery", {"issuer": self.issuer.url, "jwks_uri": "http://127.0.0.1/keys"}),
            ("discovery", {"issuer": self.issuer.url}),
            ("discovery", Reply(body=b"[]")),
            ("discovery", Reply(code=302, headers=(("Location", "/keys?v=1"),))),
            ("jwks", {"keys": "x"}),
            ("jwks", {"error": "not now"}),
            ("jwks", Reply(body=b"<html>")),
            ("jwks", Reply(body=b" " * (2 << 20))),
        ):
            self.issuer.discovery = self.issuer.jwks = None
            setattr(self.issuer, name, answer)
            self.time = Timed()
            await self.begin(ready=False)
            await self.settled(lambda: self.time.clock.calls)
            self.assertIsNone(self.keys.keys, answer)

    async def test_stranger(self) -> None:
        """An issuer with a certificate from an authority other than the flag's is not trusted."""
        stranger = WebhookServer(reactor, lambda asked: {})
        self.addCleanup(stranger.stop)
        await self.begin(ready=False, ca=stranger.ca_pem)
        await self.settled(lambda: self.time.clock.calls)
        self.assertEqual((self.keys.keys, self.issuer.server.asked), (None, []))
