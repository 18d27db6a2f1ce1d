"""Service account tokens, good and hostile ones (reference AUTHN-23 to AUTHN-26)."""
# covers: orchtw.authn.service_accounts.claims, orchtw.authn.service_accounts.issuer

from __future__ import annotations

import base64
from collections.abc import Awaitable
from typing import Any

import jwt
import msgspec
import orjson
from cryptography.hazmat.primitives import serialization
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authn.bearer_token import BearerTokens
from orchtw.authn.method import ShownToken
from orchtw.authn.metrics import AuthenticationMetrics
from orchtw.authn.service_accounts import authenticator
from orchtw.authn.service_accounts.authenticator import ServiceAccountTokens
from orchtw.authn.service_accounts.issuer import AccountTokens
from orchtw.authn.service_accounts.keys import TokenKeys
from orchtw.authn.service_accounts.lifetime import EXTENDED_S
from orchtw.authn.service_accounts.token_objects import Bearer, TokenObjects
from orchtw.authn.websocket_tokens import WebSocketTokens
from orchtw.errors import Unauthorized
from orchtw.naming.naming import Naming
from orchtw.request import Peer, Request, UserInfo
from orchtw.wire.objects import Object
from tests.properties import examples

NAMING = Naming.orch()
NOW = 1_700_000_000
ACCOUNT = {"metadata": {"namespace": "ns", "name": "sa", "uid": "u1"}}
POD = {"kind": "Pod", "metadata": {"namespace": "ns", "name": "p", "uid": "u2"}}
SECRET = {"kind": "Secret", "metadata": {"namespace": "ns", "name": "s", "uid": "u3"}}
GROUPS = ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated")


def payload(data: bytes) -> str:
    """A JWT's form around any bytes."""
    return f"e30.{base64.urlsafe_b64encode(data).decode()}.a"


class Bearers:
    """Objects of one resource in place of their cache; `late` ones come up when somebody has waited."""

    def __init__(self) -> None:
        self.there: dict[tuple[str, str], Bearer] = {}
        self.late: dict[tuple[str, str], Bearer] = {}
        self.shared = False

    def get(self, namespace: str, name: str) -> Bearer | None:
        return self.there.get((namespace, name))

    def due(self) -> Awaitable[None] | None:
        if not self.shared:
            return None
        self.there |= self.late
        return succeed(None)


class SecretTokens:
    """Tokens that Secrets hold, by the names of the Secrets."""

    def __init__(self) -> None:
        self.there: dict[tuple[str, str], bytes] = {}

    def get(self, namespace: str, name: str) -> bytes | None:
        return self.there.get((namespace, name))

    def due(self) -> None:
        return None


class Objects:
    """The objects that tokens refer to, in place of the caches."""

    def __init__(self) -> None:
        self.bearers = {plural: Bearers() for plural in ("serviceaccounts", "secrets", "pods", "nodes")}
        self.in_secrets = SecretTokens()

    def put(self, plural: str, obj: Object, ends: float = 0.0, *, late: bool = False) -> None:
        meta, bearers = obj["metadata"], self.bearers[plural]
        place = meta["namespace"], meta["name"]
        (bearers.late if late else bearers.there)[place] = Bearer(meta["uid"], ends)
        if plural == "secrets":
            self.in_secrets.there[place] = obj.get("data", "").encode()

    def drop(self, plural: str, name: str) -> None:
        del self.bearers[plural].there["ns", name]

    def share(self) -> None:
        for bearers in self.bearers.values():
            bearers.shared = True


class TokenCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.now = float(NOW)
        self.objects = Objects()
        self.objects.put("serviceaccounts", ACCOUNT)
        self.settings = AccountTokens(
            naming=NAMING, keys=TokenKeys.fresh(), issuers=("https://a.b", "https://old"), audiences=("api", "other")
        )
        self.method = self.made(self.settings)

    def find(self, token: str, *audiences: str) -> UserInfo | None | Awaitable[UserInfo | None]:
        """Return the user of a token for these audiences, or else this API's; `shown` records further findings."""
        self.shown = ShownToken(token=token, audiences=audiences or self.settings.audiences)
        return self.method.find(self.shown)

    def made(self, settings: AccountTokens) -> ServiceAccountTokens:
        self.metrics = AuthenticationMetrics()
        objects = TokenObjects(self.objects.bearers, self.objects.in_secrets)
        return ServiceAccountTokens(settings, objects, lambda: self.now, b"k" * 32, self.metrics)

    def bound(self, to: Object | None = None, audiences: tuple[str, ...] = ("api",), seconds: int = 600) -> str:
        return self.settings.bound(ACCOUNT, audiences, NOW, (seconds, 0), to)

    def signed(self, claims: Object, **headers: Any) -> str:
        signing = self.settings.keys.signing
        return jwt.encode(claims, signing.key, "ES256", headers={"kid": signing.public.kid, **headers})

    def claims(self, **changes: Any) -> Object:
        own: Object = {"namespace": "ns", "serviceaccount": {"name": "sa", "uid": "u1"}}
        claims: Object = {"iss": "https://a.b", "sub": "system:serviceaccount:ns:sa", "aud": ["api"], "orch.io": own}
        claims |= {"nbf": NOW, "iat": NOW, "exp": NOW + 600, **changes}
        return {key: value for key, value in claims.items() if value is not None}

    def assertRefused(self, token: str) -> None:
        self.assertRaises(Unauthorized, self.find, token)

    def user(self, token: str) -> UserInfo:
        found = self.find(token)
        assert isinstance(found, UserInfo)
        return found


class BoundTokenTests(TokenCase):
    """Tokens issued through TokenRequest."""

    def test_user(self) -> None:
        """Name, uid and groups are the account's (AUTHN-23)."""
        expected = UserInfo(name="system:serviceaccount:ns:sa", uid="u1", groups=GROUPS)
        for _ in range(2):
            self.assertEqual(self.user(self.bound()), expected)

    def test_claims(self) -> None:
        """An issued token has the claims of the reference, and no ID of its own (AUTHN-25)."""
        token = self.settings.bound(ACCOUNT, ["api"], NOW, (EXTENDED_S, 3607), POD)
        own: Object = {"namespace": "ns", "serviceaccount": {"name": "sa", "uid": "u1"}}
        own["pod"] = {"name": "p", "uid": "u2"}
        expected = self.claims(exp=NOW + EXTENDED_S)
        expected["orch.io"] = {**own, "warnafter": NOW + 3607}
        self.assertEqual(jwt.decode(token, options={"verify_signature": False}), expected)
        header = jwt.get_unverified_header(token)
        self.assertEqual(header, {"alg": "ES256", "kid": self.settings.keys.signing.public.kid})

    def test_pod(self) -> None:
        """A token bound to a pod names it in the extra values, and ends with it (AUTHN-25)."""
        token = self.bound(POD)
        self.assertRefused(token)
        self.objects.put("pods", POD)
        extra = {"authentication.orch.io/pod-name": ("p",), "authentication.orch.io/pod-uid": ("u2",)}
        self.assertEqual(self.user(token).extra, extra)
        self.objects.put("pods", {"metadata": {"namespace": "ns", "name": "p", "uid": "other"}})
        self.assertRefused(token)
        self.objects.put("pods", POD)
        self.user(token)
        self.objects.drop("pods", "p")
        self.assertRefused(token)

    def test_secret(self) -> None:
        """A token bound to a Secret ends with it (AUTHN-25)."""
        token = self.bound(SECRET)
        self.objects.put("secrets", SECRET)
        self.assertEqual(self.user(token).extra, {})
        self.objects.drop("secrets", "s")
        self.assertRefused(token)

    def test_account_is_gone(self) -> None:
        """Without its account, or with another of its name, a token is nothing at the next request (AUTHN-25)."""
        token = self.bound()
        self.user(token)
        self.objects.put("serviceaccounts", {"metadata": {**ACCOUNT["metadata"], "uid": "u9"}})
        self.assertRefused(token)
        self.objects.drop("serviceaccounts", "sa")
        self.assertRefused(token)

    def test_terminating(self) -> None:
        """A terminating ServiceAccount's tokens stay valid for another 60 s (AUTHN-25)."""
        token = self.bound()
        self.objects.put("serviceaccounts", ACCOUNT, ends=NOW + 60.0)
        self.user(token)
        self.now += 60.5
        self.assertRefused(token)

    def test_validity(self) -> None:
        """nbf and exp count without leeway, on each request (AUTHN-25)."""
        token = self.bound()
        self.now = NOW + 600.0
        self.user(token)
        self.now += 0.5
        self.assertRefused(token)
        self.now = NOW - 0.5
        self.assertRefused(token)

    def test_audiences(self) -> None:
        """One audience must be this API's (AUTHN-7)."""
        self.user(self.bound(audiences=("x", "other")))
        self.user(self.signed(self.claims(aud="api")))
        for audiences in ((), ("x",)):
            self.assertRefused(self.bound(audiences=audiences))
        for wrong in (None, 5, [5], {"api": 1}):
            self.assertRefused(self.signed(self.claims(aud=wrong)))

    def test_asked_audiences(self) -> None:
        """Requested audiences are answered with those that the token shares, in its order (AUTHN-51, AUTHN-52)."""
        token = self.bound(audiences=("x", "api", "y"))
        for asked, accepted in (((), ("api",)), (("y", "z", "x"), ("x", "y")), (("api",), ("api",))):
            self.find(token, *asked)
            self.assertEqual(tuple(self.shown.accepted), accepted)
        self.assertRaises(Unauthorized, self.find, token, "other")
        foreign = self.bound(audiences=("x",))
        self.assertRefused(foreign)
        self.find(foreign, "x")
        self.assertRefused(foreign)

    def test_stale(self) -> None:
        """Used after the time at which it should have been renewed, a token is noted for audit (AUTHN-27)."""
        self.objects.put("pods", POD)
        token = self.settings.bound(ACCOUNT, ["api"], NOW, (EXTENDED_S, 3607), POD)
        self.now = NOW + 3607.0
        self.user(token)
        self.assertEqual(self.shown.annotations, {})
        for _ in range(2):
            self.now += 5.5
            self.user(token)
            late = int(self.now) - NOW - 3607
            text = f"subject: system:serviceaccount:ns:sa, seconds after warning threshold: {late}"
            self.assertEqual(self.shown.annotations, {"authentication.orch.io/stale-token": text})
        self.assertEqual((self.metrics.valid_tokens.value, self.metrics.stale_tokens.value), (1, 2))

    def test_issuers(self) -> None:
        """Each issuer is accepted; a token of another one is left to other methods (AUTHN-24)."""
        self.user(self.signed(self.claims(iss="https://old")))
        for issuer in ("https://else", None):
            self.assertIsNone(self.find(self.signed(self.claims(iss=issuer))))

    def test_other_process(self) -> None:
        """An account that another process has just made is waited for (AUTHN-25)."""
        token = self.bound(POD)
        self.objects.put("pods", POD, late=True)
        self.objects.share()
        waited = self.find(token)
        assert waited is not None and not isinstance(waited, UserInfo)
        self.assertEqual(self.successResultOf(Deferred.fromCoroutine(waited)).uid, "u1")  # type: ignore[arg-type]

    def test_bounded(self) -> None:
        """As many tokens as there may be do not fill the memory (AUTHN-6)."""
        self.patch(authenticator, "KEPT", 3)
        for seconds in range(600, 610):
            self.user(self.bound(seconds=seconds))
        self.assertEqual(len(self.method._known), 3)


class LegacyTokenTests(TokenCase):
    """Tokens that are kept in Secrets."""

    def keep(self, token: str, name: str = "s") -> None:
        self.objects.put("secrets", {"metadata": {"namespace": "ns", "name": name, "uid": "u3"}, "data": token})

    def test_secret(self) -> None:
        """The token counts as long as its Secret is there and holds it, and its use is noted (AUTHN-26, AUTHN-27)."""
        token = self.settings.legacy(ACCOUNT, "s")
        self.assertRefused(token)
        self.assertEqual(self.shown.annotations, {})
        self.keep(token)
        self.assertEqual(self.user(token).groups, GROUPS)
        noted = {"authentication.orch.io/legacy-token": "system:serviceaccount:ns:sa"}
        self.assertEqual(self.shown.annotations, noted)
        self.assertEqual(self.metrics.legacy_tokens.value, 1)
        self.keep("else")
        self.assertRefused(token)
        self.keep(token)
        self.user(token)
        self.objects.drop("secrets", "s")
        self.assertRefused(token)

    def test_audiences(self) -> None:
        """A token without an audience is valid for all of this API's, and for no other (AUTHN-51)."""
        token = self.settings.legacy(ACCOUNT, "s")
        self.keep(token)
        self.find(token, "other", "x")
        self.assertEqual(tuple(self.shown.accepted), ("other",))
        self.assertRaises(Unauthorized, self.find, token, "x")

    def test_without_lookup(self) -> None:
        """With --service-account-lookup=false nothing needs to be there (AUTHN-26)."""
        self.method = self.made(msgspec.structs.replace(self.settings, lookup=False))
        self.objects.drop("serviceaccounts", "sa")
        self.assertEqual(self.user(self.settings.legacy(ACCOUNT, "s")).uid, "u1")

    def test_noted_of_request(self) -> None:
        """Findings about a token are recorded on the request, whichever way its token came (AUTHN-11, AUTHN-27)."""
        token = self.settings.legacy(ACCOUNT, "s")
        self.keep(token)
        bearer = BearerTokens([self.method], self.settings.audiences)
        encoded = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
        protocols = f"base64url.bearer.authorization.orch.io.{encoded}, a"
        upgrade = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-protocol": protocols}
        ways: list[tuple[Any, dict[str, str]]] = [
            (bearer, {"authorization": f"Bearer {token}"}),
            (WebSocketTokens(bearer, ["orch.io"]), upgrade),
        ]
        for method, headers in ways:
            asked = Request(method="GET", path="/", headers=headers, peer=Peer(address="", port=0))
            self.assertEqual(method.authenticate(asked).uid, "u1")
            noted = {"authentication.orch.io/legacy-token": "system:serviceaccount:ns:sa"}
            self.assertEqual(asked.annotations, noted)

    def test_claims_disagree(self) -> None:
        """Subject and claims must say the same, and all of them be there (AUTHN-25)."""
        prefix = "orch.io/serviceaccount/"
        good = jwt.decode(self.settings.legacy(ACCOUNT, "s"), options={"verify_signature": False})
        self.assertEqual(good["iss"], "orch/serviceaccount")
        wrong: list[Object] = [{"sub": "system:serviceaccount:ns:x"}, {f"{prefix}secret.name": ""}]
        for changes in (*wrong, {f"{prefix}namespace": 5}):
            token = self.signed({**good, **changes})
            self.keep(token)
            self.assertRefused(token)


class HostileTokenTests(TokenCase):
    """Forged and malformed tokens of ServiceAccounts."""

    def forged(self, header: Object, claims: Object, signature: bytes = b"") -> str:
        parts = (orjson.dumps(header), orjson.dumps(claims), signature)
        return ".".join(base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in parts)

    def test_no_algorithm(self) -> None:
        """A token without signature is refused, whatever it calls its algorithm (AUTHN-24)."""
        for algorithm in ("none", "None", "NONE", "", None):
            self.assertRefused(self.forged({"alg": algorithm}, self.claims()))

    def test_public_key_as_secret(self) -> None:
        """A token signed by HMAC with the public key is refused (AUTHN-24)."""
        public = self.settings.keys.signing.public
        pem = public.key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        for algorithm in ("HS256", "ES256"):
            header = {"alg": algorithm, "kid": public.kid}
            unsigned = self.forged(header, self.claims()).rpartition(".")[0]
            mac = jwt.get_algorithm_by_name("HS256")
            signature = mac.sign(unsigned.encode(), base64.b64encode(pem))
            self.assertRefused(f"{unsigned}.{base64.urlsafe_b64encode(signature).decode()}")

    def test_other_key(self) -> None:
        """A token of a stranger's key is refused, also under the id of one of ours (AUTHN-24)."""
        other = msgspec.structs.replace(self.settings, keys=TokenKeys.fresh())
        self.assertRefused(other.bound(ACCOUNT, ["api"], NOW, (600, 0), None))
        kid = self.settings.keys.signing.public.kid
        self.assertRefused(jwt.encode(self.claims(), other.keys.signing.key, "ES256", headers={"kid": kid}))

    def test_previous_key(self) -> None:
        """A token of a key that no longer signs and is still believed counts, with or without its id (AUTHN-24)."""
        old = TokenKeys.fresh().signing
        self.method = self.made(
            msgspec.structs.replace(self.settings, keys=TokenKeys(self.settings.keys.signing, [old.public]))
        )
        self.user(jwt.encode(self.claims(), old.key, "ES256", headers={"kid": old.public.kid}))
        self.user(jwt.encode(self.claims(), old.key, "ES256"))

    def test_truncated(self) -> None:
        """No part of a token is as good as the whole (AUTHN-24)."""
        token = self.bound()
        for length in range(len(token)):
            try:
                self.assertIsNone(self.find(token[:length]))
            except Unauthorized:
                continue

    def test_large(self) -> None:
        """A token of 1 MiB is not parsed and identifies no user (AUTHN-24)."""
        self.assertIsNone(self.find(self.signed(self.claims(more="x" * (1 << 20)))))

    def test_nested(self) -> None:
        """Nesting without end is refused, in the claims and in the header (AUTHN-24)."""
        nested = b"[" * 10_000
        claims = base64.urlsafe_b64encode(b'{"iss":"https://a.b","x":' + nested).decode()
        self.assertIsNone(self.find(f"e30.{claims}.AA"))
        good = self.bound().split(".")
        header = base64.urlsafe_b64encode(b'{"alg":"ES256","x":' + nested).decode()
        self.assertRefused(f"{header}.{good[1]}.{good[2]}")

    def test_wrong_claims(self) -> None:
        """Signed claims of another form than ours are refused (AUTHN-25)."""
        own: Object = {"namespace": "ns", "serviceaccount": {"name": "sa", "uid": "u1"}}
        wrong: list[Any] = [
            {"orch.io": None},
            {"orch.io": []},
            {"sub": "admin"},
            {"exp": "never"},
            {"exp": None},
            {"nbf": True},
            {"orch.io": {**own, "pod": "p"}},
            {"orch.io": {**own, "serviceaccount": {"name": "sa"}}},
            {"orch.io": {**own, "namespace": ""}},
        ]
        for changes in wrong:
            self.assertRefused(self.signed(self.claims(**changes)))

    @examples(200)
    @given(st.text(max_size=80) | st.binary(max_size=80).map(payload))
    def test_anything(self, text: str) -> None:
        """Any other text is not a token of ours (AUTHN-24)."""
        self.assertIsNone(self.find(text))
