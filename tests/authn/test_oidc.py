"""OpenID Connect, with an issuer over TLS (reference AUTHN-32, AUTHN-33)."""

from __future__ import annotations

import base64
import hashlib
import hmac
from pathlib import Path
from typing import Any

import jwt
import orjson
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from twisted.internet.defer import Deferred, ensureDeferred, gatherResults
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn import oidc_distributed
from orchtw.authn.compact import compact
from orchtw.authn.oidc import NOT_READY, from_flags
from orchtw.authn.oidc_keys import Fetched, IssuerKeys, Key, NoKeys, keys_of
from orchtw.authn.oidc_rules import UNSIGNED
from orchtw.config import Config
from orchtw.errors import ConfigError, Unauthorized
from orchtw.request import UserInfo
from orchtw.testing.webhook import HANG_UP, Asked, Reply, WebhookServer
from tests.authn.hosts import a_host
from tests.authn.issuer import NOW, Issuer, jwk, key_of, signed
from tests.outbound.test_caller import CallerCase, reactor


class Timed:
    """The reactor, but that time passes only when it is told so."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.seconds = self.clock.seconds
        self.callLater = self.clock.callLater


class OIDCCase(CallerCase):
    """A method and its issuer."""

    def setUp(self) -> None:
        super().setUp()
        self.issuer = Issuer(reactor)
        self.addCleanup(self.issuer.server.stop)
        self.time = Timed()
        self.now = NOW

    async def begin(self, *, ready: bool = True, ca: bytes = b"", **flags: Any) -> None:
        """Start the method; with `ready` until it has keys."""
        file = Path(self.mktemp())
        file.write_bytes(ca or self.issuer.server.ca_pem)
        config = Config(
            **{"oidc_issuer_url": self.issuer.url, "oidc_client_id": "client", "oidc_ca_file": file, **flags}
        )
        host = a_host(clock=self.time, caller=self.caller, seconds=lambda: self.now)
        method = from_flags(host, config)
        assert method is not None
        self.method = method
        (self.keys,) = self.services = host.services
        host.services.startService()
        self.addCleanup(host.services.stopService)
        if ready:
            await self.settled(lambda: self.keys.keys)

    async def found(self, token: str) -> Any:
        """The user, None, or why not."""
        try:
            answer = self.method.find(token)
            return answer if answer is None or isinstance(answer, UserInfo) else await answer
        except Unauthorized as refusal:
            return refusal.why

    async def name(self, token: str) -> str:
        """The user's name without its prefix; empty for nobody."""
        found = await self.found(token)
        return found.name.removeprefix(f"{self.issuer.url}#") if isinstance(found, UserInfo) else ""


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
        """What is remembered of a token ends with it."""
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
        """Tokens of others and what is no token at all are no matter of this method."""
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
        """Expired, early, for others, signed by others, changed, cut: none gets in."""
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
        payload = _encoded(self.issuer.claims(sub="mallory"))
        public = key_of("one").public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        for algorithm in ("none", "None", "HS256", "HS512", "RS256", "ES256", "PS256", "", None, 5, ["RS256"]):
            head = _encoded({"alg": algorithm, "kid": "one"})
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
    """How keys are had (reference AUTHN-33)."""

    async def test_not_ready(self) -> None:
        """Nobody waits for an issuer that does not answer; its tokens are refused meanwhile, others not."""
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
        """A key that the issuer has taken back is gone when the keys get old."""
        self.issuer.max_age = "public, max-age=120"
        await self.begin()
        token = signed(self.issuer.claims())
        self.assertEqual(await self.name(token), "alice")
        self.issuer.keys = [jwk("two")]
        self.time.clock.advance(120)
        await self.settled(lambda: self.issuer.fetches == 2)
        await self.settled(lambda: self.keys.keys[0].kid == "two")
        self.assertEqual(await self.found(token), UNSIGNED)

    async def test_unreachable(self) -> None:
        """While the issuer is away its last keys hold."""
        await self.begin()
        self.issuer.jwks = HANG_UP
        self.time.clock.advance(300)
        await self.settled(lambda: self.issuer.fetches >= 2)
        await self.settled(lambda: self.time.clock.calls)
        self.assertEqual(await self.name(signed(self.issuer.claims())), "alice")

    async def test_lying(self) -> None:
        """Another's issuer, keys without TLS, no keys, too much, and no JSON leave the method without keys."""
        for name, answer in (
            ("discovery", {"issuer": "https://other", "jwks_uri": f"{self.issuer.url}/keys?v=1"}),
            ("discovery", {"issuer": self.issuer.url, "jwks_uri": "http://127.0.0.1/keys"}),
            ("discovery", {"issuer": self.issuer.url}),
            ("discovery", Reply(body=b"[]")),
            ("discovery", Reply(code=302, headers=(("Location", "/keys?v=1"),))),
            ("jwks", {"keys": []}),
            ("jwks", {"keys": "x"}),
            ("jwks", {"keys": [{"kty": "oct", "k": "AAAA", "kid": "one"}]}),
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
        """An issuer whose certificate is not of the flag's authorities is not believed."""
        stranger = WebhookServer(reactor, lambda asked: {})
        self.addCleanup(stranger.stop)
        await self.begin(ready=False, ca=stranger.ca_pem)
        await self.settled(lambda: self.time.clock.calls)
        self.assertEqual((self.keys.keys, self.issuer.server.asked), (None, []))


class DistributedTests(OIDCCase):
    """Groups that the issuer has somebody else tell, over TLS (reference AUTHN-57, AUTHN-58)."""

    def setUp(self) -> None:
        super().setUp()
        self.reply: Any = None
        self.teller = Issuer(reactor)
        self.addCleanup(self.teller.server.stop)
        self.teller.server.answer = self.tell
        self.told = {"groups": ["dev"]}

    def tell(self, asked: Asked) -> Any:
        """What stands elsewhere."""
        if asked.target != "/groups?of=alice":
            return self.teller.answer(asked)
        return self.reply or Reply(body=signed(self.teller.claims(**self.told), "two").encode())

    def token(self, **more: Any) -> str:
        """A token whose groups stand elsewhere; the teller signs with a key of its own."""
        self.teller.keys = [jwk("two")]
        source = {"endpoint": f"{self.teller.url}/groups?of=alice", "access_token": "open"}
        named = {"_claim_names": {"groups": "there"}, "_claim_sources": {"there": source}}
        return signed(self.issuer.claims(**{**named, **more}))

    async def begin(self, **flags: Any) -> None:  # type: ignore[override]
        """Both servers are believed."""
        ca = self.issuer.server.ca_pem + self.teller.server.ca_pem
        await super().begin(ca=ca, **{"oidc_groups_claim": "groups", "oidc_groups_prefix": "x:", **flags})

    @property
    def asked(self) -> list[Asked]:
        return [each for each in self.teller.server.asked if each.target.startswith("/groups")]

    async def test_good(self) -> None:
        """They are asked for with the token that is to be shown there, once, and get the prefix."""
        await self.begin()
        token = self.token()
        both = await gatherResults([ensureDeferred(self.found(token)) for _ in range(2)])
        for found in (*both, await self.found(token)):
            self.assertEqual(found.groups, ("x:dev", "system:authenticated"))
        (asked,) = self.asked
        self.assertEqual(asked.headers["authorization"], "Bearer open")

    async def test_same_issuer(self) -> None:
        """The issuer may be the one that tells; its keys are not read twice."""
        await self.begin()
        self.reply = Reply(body=signed(self.issuer.claims(groups="one")).encode())
        self.assertEqual((await self.found(self.token())).groups, ("x:one", "system:authenticated"))
        self.assertEqual((self.issuer.fetches, self.teller.fetches), (1, 0))

    async def test_nothing_to_ask(self) -> None:
        """Nobody is asked for groups that are there, that stand nowhere, or that nobody wants."""
        await self.begin()
        for more in (
            {"groups": []},
            {"_claim_names": {"other": "there"}},
            {"_claim_sources": {"there": {"JWT": "a.b.c"}}},
            {"_claim_names": None},
        ):
            self.assertEqual((await self.found(self.token(**more))).groups, ("system:authenticated",), more)
        await self.begin(oidc_groups_claim="")
        self.assertEqual((await self.found(self.token())).groups, ("system:authenticated",))
        self.assertEqual(self.asked, [])

    async def test_bad_source(self) -> None:
        """A place that is none ends the matter."""
        await self.begin()
        for more in (
            {"_claim_names": ["groups"]},
            {"_claim_names": {"groups": 5}},
            {"_claim_names": {"groups": "x"}},
            {"_claim_sources": None},
            {"_claim_sources": []},
            {"_claim_sources": {"there": "https://a"}},
            {"_claim_sources": {"there": {"endpoint": 5}}},
            {"_claim_sources": {"there": {"endpoint": "http://127.0.0.1/groups"}}},
            {"_claim_sources": {"there": {"endpoint": "https://a", "access_token": "a\r\nb: c"}}},
        ):
            self.assertIn("oidc: could not expand distributed claims: ", await self.found(self.token(**more)), more)
        self.assertEqual(self.asked, [])

    async def test_lying(self) -> None:
        """Who tells them is believed as little as anybody: each is a 401 and is not remembered."""
        await self.begin()
        good = self.teller.claims(groups=["dev"])
        for reply in (
            Reply(code=500),
            Reply(code=302, headers=(("Location", "/groups?of=alice"),)),
            HANG_UP,
            Reply(body=b"<html>"),
            Reply(body=b"x" * (1 << 20)),
            Reply(body=signed(good, "three").encode()),
            Reply(body=signed({**good, "exp": NOW - 1}, "two").encode()),
            Reply(body=signed({**good, "aud": "other"}, "two").encode()),
            Reply(body=signed({**good, "iss": "http://127.0.0.1"}, "two").encode()),
            Reply(body=signed({**good, "iss": "https://127.0.0.1:1"}, "two").encode()),
            Reply(body=signed({**good, "groups": 5}, "two").encode()),
            Reply(body=signed({**good, "x": "y", "groups": {"a": 1}}, "two").encode()),
            Reply(body=signed(self.teller.claims(), "two").encode()),
            Reply(body=jwt.encode(good, "", "none").encode()),
        ):
            self.reply = reply
            self.assertIsInstance(await self.found(self.token()), str, reply)
        self.reply = None
        self.assertEqual((await self.found(self.token())).groups, ("x:dev", "system:authenticated"))

    async def test_many_issuers(self) -> None:
        """The keys of so many issuers are kept up, of those that were asked last."""
        self.patch(oidc_distributed, "ISSUERS", 2)
        await self.begin()
        for port in (1, 2, 3):
            self.reply = Reply(body=signed({**self.teller.claims(), "iss": f"https://127.0.0.1:{port}"}).encode())
            await self.found(self.token(jti=port))
        self.assertEqual(len(list(self.services)), 3)


class DocumentTests(SynchronousTestCase):
    """Keys as issuers publish them."""

    def kids(self, *keys: Any) -> list[str]:
        return [key.kid for key in keys_of({"keys": [jwk("good"), *keys]})]

    def test_passed_over(self) -> None:
        """What cannot verify is passed over: other uses and kinds, short keys, wrong curves and texts
        (reference AUTHN-47).
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
        """A document without a key that can be used is no good."""
        self.assertRaises(NoKeys, keys_of, {"keys": [{"kty": "oct"}]})

    def test_algorithm_of_key(self) -> None:
        """A key that names its algorithm is for no other."""
        token = compact(signed({}, "good"))
        assert token is not None
        for algorithm, good in (("RS256", True), ("PS256", False), ("RSA-OAEP", False)):
            (key,) = keys_of({"keys": [jwk("good", alg=algorithm)]})
            self.assertEqual(key.verifies(token, "RS256"), good)

    @given(st.text(max_size=60))
    def test_any_text(self, text: str) -> None:
        """Whatever a token is, reading it raises nothing."""
        compact(text)
        compact(f"{_encoded({})}.{_encoded({})}.{text}")

    def test_deep(self) -> None:
        """Brackets within brackets are no token."""
        deep = base64.urlsafe_b64encode(b"[" * 100_000).decode()
        self.assertIsNone(compact(f"{deep}.{deep}.AA"))
        self.assertIsNone(compact(f"{_encoded({})}.{deep}.AA"))


class ServiceTests(SynchronousTestCase):
    """The keeping of keys."""

    def test_bug(self) -> None:
        """What nobody has thought of is logged, and fetching goes on."""
        clock, calls = Clock(), []

        async def fetch() -> Fetched:
            calls.append(clock.seconds())
            if len(calls) == 1:
                raise RuntimeError("x")
            return Fetched((Key(kid="a", algorithm="", public=key_of("one").public_key()),), 60)

        keys = IssuerKeys(fetch, clock)
        keys.startService()
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        clock.advance(10)
        self.assertEqual((calls, len(keys.keys or ())), ([0, 10], 1))
        keys.stopService()
        self.assertEqual(clock.getDelayedCalls(), [])

    def test_stops(self) -> None:
        """A stop ends what is being fetched and lets go who waits."""
        pending: Deferred[Fetched] = Deferred()

        async def fetch() -> Fetched:
            return await pending

        clock = Clock()
        keys = IssuerKeys(fetch, clock)
        keys.startService()
        waits = Deferred.fromCoroutine(keys.refreshed())
        keys.stopService()
        self.successResultOf(waits)
        self.assertEqual((clock.getDelayedCalls(), keys.keys), ([], None))
        self.successResultOf(Deferred.fromCoroutine(keys.refreshed()))


class FlagTests(SynchronousTestCase):
    def test_off(self) -> None:
        """Without an issuer there is no such method."""
        self.assertIsNone(from_flags(a_host(), Config()))

    def test_ca_file(self) -> None:
        """Authorities that cannot be read end the start."""
        path = Path(self.mktemp())
        config = Config(oidc_issuer_url="https://h", oidc_client_id="c", oidc_ca_file=path)
        self.assertRaises(ConfigError, from_flags, a_host(), config)
        path.write_text("no")
        self.assertRaises(ConfigError, from_flags, a_host(), config)


def _encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(value)).decode().rstrip("=")


