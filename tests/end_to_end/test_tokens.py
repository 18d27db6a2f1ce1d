"""Bearer tokens of all kinds at a server: webhook, OpenID Connect, bootstrap (reference AUTHN-3)."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import jwt
from twisted.internet.defer import DeferredList, ensureDeferred
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from orchtw.naming.naming import Naming
from orchtw.testing.webhook import WebhookRequest, WebhookServer
from orchtw.wire.objects import Object
from tests.authn.issuer import Issuer, signed
from tests.end_to_end.case import TRACEBACKS, reactor
from tests.end_to_end.client import Client, tls_context
from tests.forked import forking
from tests.hurried import HurriedServer
from tests.rules.test_bootstrap_tokens import token_secret

BOOTSTRAP = "abcdef.0123456789abcdef"
CONTENT = "apiVersion: v1\nkind: Config\n"


class TokenCase(TestCase):
    """A server with an issuer and a webhook that lets in tokens that begin with "web-"."""

    vocabulary = "orch"
    timeout = 120
    periods: ClassVar[Mapping[str, float]] = {"orchtw.outbound.retries.FIRST_S": 0.1}

    async def setUp(self) -> None:  # type: ignore[override]
        self.naming = Naming.of(self.vocabulary)
        self.issuer = Issuer(reactor)
        self.addCleanup(self.issuer.server.stop)
        self.webhook = WebhookServer(reactor, self.answer)
        self.addCleanup(self.webhook.stop)
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        (folder / "issuer.pem").write_bytes(self.issuer.server.ca_pem)
        (folder / "webhook.yaml").write_text(json.dumps(self.webhook_config()))
        self.server = HurriedServer(
            forking,
            folder / "data",
            f"--vocabulary={self.vocabulary}",
            "--enable-bootstrap-token-auth",
            "--controllers=*,bootstrapsigner,tokencleaner",
            f"--oidc-issuer-url={self.issuer.url}",
            "--oidc-client-id=client",
            "--oidc-groups-claim=groups",
            f"--oidc-ca-file={folder / 'issuer.pem'}",
            f"--authentication-token-webhook-config-file={folder / 'webhook.yaml'}",
            "--authentication-token-webhook-version=v1",
            *self.flags(folder),
            periods=self.periods,
        )
        await self.server.start()
        self.addCleanup(self.end)
        self.admin = self.client(certificate=True)

    async def end(self) -> None:
        await self.server.terminate()
        self.assertFalse([word for word in TRACEBACKS if word in self.server.log], self.server.log)

    def flags(self, folder: Path) -> tuple[str, ...]:
        """Further flags of the server, whose files are in the folder."""
        return ()

    def webhook_config(self) -> Object:
        """The file of the flag."""
        cluster = {"server": f"{self.webhook.url}/authn", "certificate-authority-data": self.webhook.ca_bundle}
        return {"kind": "Config", "clusters": [{"name": "c", "cluster": cluster}]}

    def answer(self, asked: WebhookRequest) -> Any:
        """Return the webhook's response."""
        token = asked.json["spec"]["token"]
        status: Object = {"authenticated": token.startswith("web-")}
        if status["authenticated"]:
            status["user"] = {"username": token.removeprefix("web-"), "groups": ["system:masters"], "uid": "7"}
        return {**asked.json, "status": status}

    def client(self, token: str = "", *, certificate: bool = False) -> Client:
        """A client with a token, or with the administrator's certificate."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        made = Client(self.server.port, tls_context(self.server.kubeconfig, certificate=certificate), headers)
        self.addCleanup(made.close)
        return made

    async def review(self, token: str) -> Object:
        """Return the server's review of a token."""
        group = self.naming.api_version("authentication.orch.io/v1")
        answer = await self.admin.post(f"/apis/{group}/tokenreviews", {"spec": {"token": token}})
        self.assertEqual(answer.code, 201, answer)
        status: Object = answer.json["status"]
        return status

    async def code(self, token: str) -> int:
        """The status of a request with a token."""
        return (await self.client(token).get("/api/v1/namespaces/default")).code

    def id_token(self, **more: Any) -> str:
        """A token of the issuer that holds now."""
        return signed(self.issuer.claims(**{"exp": time.time() + 600, **more}))


class TokenTests(TokenCase):
    async def test_webhook(self) -> None:
        """Users of the webhook get in and are asked about once; nobody else does (reference AUTHN-37)."""
        self.assertEqual([await self.code("web-alice") for _ in range(3)], [200, 200, 200])
        self.assertEqual(len(self.webhook.asked), 1)
        version = self.naming.api_version("authentication.orch.io/v1")
        self.assertEqual(self.webhook.asked[0].json["apiVersion"], version)
        user = {"username": "alice", "uid": "7", "groups": ["system:masters", "system:authenticated"]}
        self.assertEqual((await self.review("web-alice"))["user"], user)
        self.assertEqual(await self.code("stranger"), 401)
        self.assertEqual(await self.review("stranger"), {"user": {}, "error": "invalid bearer token"})
        self.webhook.answer = lambda asked: {"lie": True}
        self.assertEqual((await self.code("web-alice"), await self.code("web-bob")), (200, 401))
        self.assertNotIn("web-bob", self.server.log)

    async def test_at_once(self) -> None:
        """Many requests with one new token are one question."""
        answers = await DeferredList([ensureDeferred(self.code("web-alice")) for _ in range(10)])
        self.assertEqual([code for _, code in answers], [200] * 10)
        self.assertLessEqual(len(self.webhook.asked), 2)

    async def test_issuer(self) -> None:
        """A user of the issuer gets in, expired and unsigned tokens do not (reference AUTHN-33)."""
        token = self.id_token(groups=["system:masters"])
        for _ in range(100):
            if await self.code(token) == 200:
                break
            await deferLater(reactor, 0.1)
        self.assertEqual((await self.review(token))["user"]["username"], f"{self.issuer.url}#alice")
        self.assertEqual(await self.code(self.id_token(exp=time.time() - 5)), 401)
        self.assertEqual(await self.code(token[:-8]), 401)
        self.assertEqual(await self.code(token + "x" * 500_000), 401)

    async def test_bootstrap(self) -> None:
        """A token's Secret lets in, signs, and is deleted when it has expired (AUTHN-21, AUTHN-45, AUTHN-46)."""
        system, public = self.naming.system_namespace, self.naming.public_namespace
        secret = {**token_secret(), "type": self.naming.translate("bootstrap.orch.io/token")}
        self.assertEqual(await self.code(BOOTSTRAP), 401)
        answer = await self.admin.post(f"/api/v1/namespaces/{system}/secrets", secret)
        self.assertEqual(answer.code, 201, answer)
        self.assertEqual((await self.review(BOOTSTRAP))["user"]["username"], "system:bootstrap:abcdef")
        info = {"metadata": {"name": "cluster-info"}, "data": {"kubeconfig": CONTENT}}
        await self.admin.post(f"/api/v1/namespaces/{public}/configmaps", info)
        path = f"/api/v1/namespaces/{public}/configmaps/cluster-info"
        data = await self.until(path, lambda obj: "jws-kubeconfig-abcdef" in obj.get("data", {}))
        self.verify(data["data"])
        path = f"/api/v1/namespaces/{system}/secrets/bootstrap-token-abcdef"
        await self.admin.merge(path, {"stringData": {"expiration": "2020-01-01T00:00:00Z"}})
        self.assertEqual(await self.code(BOOTSTRAP), 401)
        await self.until(path, lambda obj: obj.get("code") == 404)

    def verify(self, data: dict[str, str]) -> None:
        """The signature matches for holders of the token."""
        payload = jwt.utils.base64url_encode(data["kubeconfig"].encode()).decode()
        token = data["jws-kubeconfig-abcdef"].replace("..", f".{payload}.")
        key = self.naming.signing_key(*BOOTSTRAP.split("."))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the keys are shorter than is advised
            jwt.PyJWS().decode(token, key, ["HS256"])

    async def until(self, path: str, good: Any) -> Object:
        """Return the object once it is complete."""
        for _ in range(100):
            obj: Object = (await self.admin.get(path)).json
            if good(obj):
                return obj
            await deferLater(reactor, 0.1)
        raise AssertionError(obj)


class KubernetesTokenTests(TokenTests):
    """The same under Kubernetes' names."""

    vocabulary = "kubernetes"
