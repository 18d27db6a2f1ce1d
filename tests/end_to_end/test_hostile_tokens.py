"""Tokens that pretend, and a webhook that is slow, fails or lies, at a real server
(reference AUTHN-9, AUTHN-24, AUTHN-33, AUTHN-37, AUTHN-48).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from pathlib import Path
from typing import Any

import jwt
import orjson
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from twisted.internet.defer import ensureDeferred, gatherResults
from twisted.internet.task import deferLater

from orchtw.pki import certificates
from orchtw.testing.webhook import HANG_UP, Reply, WebhookRequest
from orchtw.wire.objects import Object
from tests.authn.issuer import key_of, signed
from tests.end_to_end.case import reactor
from tests.end_to_end.test_tokens import TokenCase

OWN = "https://orch.default.svc.cluster.local"
MIB = 1 << 20
TOO_LONG = 431


def part(value: Any) -> str:
    """A part of a token."""
    return base64.urlsafe_b64encode(orjson.dumps(value)).decode().rstrip("=")


def unsigned(header: Object, claims: Object) -> str:
    """Header and claims, as they are signed."""
    return f"{part(header)}.{part(claims)}"


def with_mac(header: Object, claims: Object, secret: bytes) -> str:
    """A token whose signature is a MAC."""
    text = unsigned({**header, "alg": "HS256"}, claims)
    mac = hmac.new(secret, text.encode(), hashlib.sha256).digest()
    return f"{text}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"


def pem_of(key: Any) -> bytes:
    """The public half, which anybody may know."""
    pem: bytes = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return pem


class HostileTokenTests(TokenCase):
    """A server with every source of tokens, whose webhook knows no token; anonymous requests are on."""

    def flags(self, folder: Path) -> tuple[str, ...]:
        """The key that signs tokens of service accounts is the test's own."""
        self.key = certificates.new_key()
        (folder / "sa.key").write_bytes(certificates.key_pem(self.key))
        return (f"--service-account-signing-key-file={folder / 'sa.key'}",)

    def answer(self, asked: WebhookRequest) -> Any:
        """Return no user for any token."""
        return {**asked.json, "spec": {}, "status": {}}

    async def ready(self) -> None:
        """Wait until the issuer's keys are there."""
        while "user" not in await self.review(self.id_token()) or await self.code(self.id_token()) == 401:
            await deferLater(reactor, 0.1)

    async def assertNobodys(self, what: str, token: str) -> None:
        """Neither a request nor a review takes the token."""
        codes = {401, TOO_LONG} if len(token) >= MIB else {401}
        self.assertIn(await self.code(token), codes, what)
        status = await self.review(token)
        self.assertEqual((status.keys(), status["user"]), ({"user", "error"}, {}), what)
        self.assertRegex(status["error"], r"\A(\[invalid bearer token, .+\]|invalid bearer token)\Z", what)
        self.assertNotIn(token, status["error"], what)

    async def test_accounts(self) -> None:
        """Tokens that look like those of an account that is there."""
        meta: Object = {"metadata": {"name": "app"}}
        made = (await self.admin.post("/api/v1/namespaces/default/serviceaccounts", meta)).json
        now = int(time.time())
        own = {"namespace": "default", "serviceaccount": {"name": "app", "uid": made["metadata"]["uid"]}}
        good: Object = {
            "iss": OWN, "sub": "system:serviceaccount:default:app", "aud": [OWN], "orch.io": own,
            "iat": now, "nbf": now, "exp": now + 600,
        }  # fmt: skip

        def token(key: Any = self.key, **changes: Any) -> str:
            return jwt.encode({**good, **changes}, key, "ES256")

        self.assertTrue((await self.review(token()))["authenticated"])
        head, claims, signature = token().split(".")
        changed = part({**good, "sub": "system:serviceaccount:orch-system:app"})
        for what, hostile in {
            "expired": token(exp=now - 1),
            "future": token(nbf=now + 600),
            "wrong audience": token(aud=["https://other"]),
            "no audience": token(aud=[]),
            "wrong issuer": token(iss="https://other"),
            "issuer of Secrets": token(iss="orch/serviceaccount"),
            "other key": token(certificates.new_key()),
            "none": unsigned({"alg": "none"}, good) + ".",
            "None": unsigned({"alg": "None"}, good) + "." + signature,
            "MAC": with_mac({}, good, pem_of(self.key)),
            "swapped": f"{part({'alg': 'ES384'})}.{claims}.{signature}",
            "claims": f"{head}.{changed}.{signature}",
            "truncated": token()[:-10],
            "no signature": f"{head}.{claims}.",
            "two parts": f"{head}.{claims}",
            "1 MiB": token(more="x" * MIB),
            "1 MiB more": token() + "x" * MIB,
        }.items():
            await self.assertNobodys(what, hostile)
        self.assertTrue((await self.review(token()))["authenticated"])
        foreign = {"spec": {"token": token(aud=["https://other"]), "audiences": ["https://other", "x"]}}
        status = (await self.admin.post("/apis/authentication.orch.io/v1/tokenreviews", foreign)).json["status"]
        self.assertEqual((status["authenticated"], status["audiences"]), (True, ["https://other"]))

    async def test_issuer_tokens(self) -> None:
        """Tokens that look like the issuer's."""
        await self.ready()
        now = time.time()
        good = self.issuer.claims(exp=now + 600)
        key = key_of("one")
        head, claims, signature = signed(good).split(".")
        for what, hostile in {
            "expired": self.id_token(exp=now - 1),
            "future": self.id_token(nbf=now + 600),
            "wrong audience": self.id_token(aud="other"),
            "wrong issuer": self.id_token(iss="https://other"),
            "other key": signed(good, "strange"),
            "other key's id": signed(good, "strange", kid="one"),
            "none": unsigned({"alg": "none"}, good) + ".",
            "None": unsigned({"alg": "None", "kid": "one"}, good) + "." + signature,
            "MAC": with_mac({"kid": "one"}, good, pem_of(key)),
            "swapped": f"{part({'alg': 'PS256', 'kid': 'one'})}.{claims}.{signature}",
            "not allowed": jwt.encode(good, key, "RS512", headers={"kid": "one"}),
            "claims": f"{head}.{part({**good, 'sub': 'mallory'})}.{signature}",
            "truncated": signed(good)[:-10],
            "no signature": f"{head}.{claims}.",
            "1 MiB": self.id_token(more="x" * MIB),
            "1 MiB more": signed(good) + "x" * MIB,
        }.items():
            await self.assertNobodys(what, hostile)
        self.assertTrue((await self.review(signed(good)))["authenticated"])


class HostileWebhookTests(TokenCase):
    """The webhook does what the token says, until `heals`."""

    healed = False

    def answer(self, asked: WebhookRequest) -> Any:
        """Return the webhook's faults."""
        token = asked.json["spec"]["token"]
        good = super().answer(asked) if token.startswith("web-") else {**asked.json, "spec": {}, "status": {}}
        if self.healed:
            return good
        body = json.dumps(good).encode()
        return {
            "web-slow": Reply(silent=True),
            "web-gone": HANG_UP,
            "web-failing": Reply(code=503, body=body),
            "web-forbidden": Reply(code=403, body=body),
            "web-html": Reply(body=b"<html>"),
            "web-long": Reply(body=body + b" " * (2 * MIB)),
            "web-cut": Reply(body=body, cut=20),
            "web-version": {**good, "apiVersion": "authentication.orch.io/v1beta1"},
            "web-kind": {**good, "kind": "Status"},
            "web-elsewhere": {**good, "status": {**good["status"], "audiences": ["https://other"]}},
            "web-types": {**good, "status": {"authenticated": "true", "user": {"username": "root"}}},
            "web-groups": {**good, "status": {"authenticated": True, "user": {"groups": "system:masters"}}},
        }.get(token, good)

    async def test_whims(self) -> None:
        """Each is a 401, for all of them at once, and what was not a verdict is forgotten."""
        whims = ("gone", "failing", "forbidden", "html", "long", "cut", "version", "kind", "types", "groups")
        codes = await gatherResults([ensureDeferred(self.code(f"web-{whim}")) for whim in whims])
        self.assertEqual(dict(zip(whims, codes, strict=True)), dict.fromkeys(whims, 401))
        self.assertEqual(await self.code("web-elsewhere"), 401)
        self.healed = True
        for whim in whims:
            self.assertEqual(await self.code(f"web-{whim}"), 200, whim)

    async def test_slow(self) -> None:
        """Requests that wait for the webhook do not hold up others, and pass when it answers."""
        slow = ensureDeferred(self.code("web-slow"))
        while not self.webhook.asked:
            await deferLater(reactor, 0.05)
        self.assertEqual(await self.code("web-alice"), 200)
        self.assertEqual((await self.admin.get("/api/v1/namespaces/default")).code, 200)
        self.assertEqual(await self.code("stranger"), 401)
        self.assertFalse(slow.called)
        self.healed = True
        self.webhook.hang_up()
        self.assertEqual(await slow, 200)

    async def test_large(self) -> None:
        """A token of 1 MiB is a question like any other, or too long for a header."""
        self.assertIn(await self.code("x" * MIB), (401, TOO_LONG))
        self.assertEqual(await self.review("x" * MIB), {"user": {}, "error": "invalid bearer token"})
