"""Service accounts as pods use them: from a Secret, by the public client's loader (reference AUTHN-23, AUTHN-26)."""

from __future__ import annotations

import base64
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import jwt
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from orchtw.testing import kubectl
from orchtw.wire.objects import Object
from tests.emulated import since
from tests.end_to_end.case import NO_KUBECTL, ServerCase, reactor
from tests.forked import forking

kubernetes: Any
try:
    import kubernetes
    from kubernetes.config.incluster_config import InClusterConfigLoader
except ImportError:
    kubernetes = None

ANNOTATION, TYPE = "kubernetes.io/service-account.name", "kubernetes.io/service-account-token"


class AccountCase(ServerCase):
    vocabulary = "kubernetes"
    flags: tuple[str, ...] = ()

    async def secret_of(self, account: str) -> Object:
        """The data of a Secret for an account, once its token is there."""
        meta = {"name": "token", "annotations": {ANNOTATION: account}}
        await self.created(self.core("secrets"), {"metadata": meta, "type": TYPE})
        while True:
            found: Object = (await self.client.get(self.core("secrets", "token"))).json
            if "token" in (found.get("data") or {}):
                return {key: base64.b64decode(value) for key, value in found["data"].items()}


class InClusterTests(AccountCase):
    """The client blocks, so its work runs in a thread."""

    if kubernetes is None:
        skip = "the kubernetes package is not installed (extra `test`): not run"

    async def test_from_secret(self) -> None:
        """A pod's files from a Secret are all that the client needs; with the Secret the right to ask ends."""
        await self.created(self.core("serviceaccounts"), {"metadata": {"name": "app"}})
        data = await self.secret_of("app")
        folder = Path(self.mktemp())
        folder.mkdir()
        for name, content in data.items():
            (folder / name).write_bytes(content)
        self.assertEqual(data["namespace"].decode(), self.namespace)
        api = await deferToThread(self.in_cluster, folder)
        self.addCleanup(api.close)
        core = kubernetes.client.CoreV1Api(api)
        names = [each.name for each in (await deferToThread(core.get_api_resources)).resources]
        self.assertIn("pods", names)
        refused = await self.assertFailure(
            deferToThread(core.read_namespaced_secret, "token", self.namespace), kubernetes.client.ApiException
        )
        user = f"system:serviceaccount:{self.namespace}:app"
        self.assertEqual(refused.status, 403)
        self.assertIn(f'User \\"{user}\\" cannot get resource', refused.body)
        counted = (await self.client.get("/metrics")).body.decode()
        self.assertIn("serviceaccount_legacy_tokens_total 2", counted)
        self.assertIn('apiserver_client_certificate_expiration_seconds_bucket{le="0"} 0', counted)
        await self.client.delete(self.core("secrets", "token"))
        refused = await self.assertFailure(deferToThread(core.get_api_resources), kubernetes.client.ApiException)
        self.assertEqual(refused.status, 401)

    async def test_issued(self) -> None:
        """The client asks for a token for a pod; it is the account's, until the pod is gone (AUTHN-28)."""
        await self.created(self.core("serviceaccounts"), {"metadata": {"name": "app"}})
        spec = {"serviceAccountName": "app", "containers": [{"name": "c", "image": "i"}]}
        pod = await self.created(self.core("pods"), {"metadata": {"name": "p"}, "spec": spec})
        models, made = kubernetes.client, await deferToThread(self.administrator)
        self.addCleanup(made.close)
        core = models.CoreV1Api(made)
        reference = models.V1BoundObjectReference(
            api_version="v1", kind="Pod", name="p", uid=pod["metadata"]["uid"]
        )
        asked = models.AuthenticationV1TokenRequest(
            spec=models.V1TokenRequestSpec(audiences=[], expiration_seconds=1200, bound_object_ref=reference)
        )
        issued = await deferToThread(core.create_namespaced_service_account_token, "app", self.namespace, asked)
        left = issued.status.expiration_timestamp - datetime.now(UTC)
        self.assertLessEqual(left, timedelta(seconds=1200))
        review = models.V1TokenReview(spec=models.V1TokenReviewSpec(token=issued.status.token))
        reviews = models.AuthenticationV1Api(made)
        user = (await deferToThread(reviews.create_token_review, review)).status.user
        self.assertEqual(user.username, f"system:serviceaccount:{self.namespace}:app")
        self.assertEqual(user.extra["authentication.kubernetes.io/pod-name"], ["p"])
        await self.client.delete(self.core("pods", "p?gracePeriodSeconds=0"))
        status = (await deferToThread(reviews.create_token_review, review)).status
        why = "[invalid bearer token, Token has been invalidated]"
        self.assertEqual((status.authenticated, status.error), (None, why))

    def administrator(self) -> Any:
        """Return the administrator's client."""
        return kubernetes.config.new_client_from_config(str(self.server.kubeconfig))

    def in_cluster(self, folder: Path) -> Any:
        """A client as a pod makes it."""
        port = str(self.server.port)
        environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}
        with mock.patch.dict(os.environ, environment):
            loader = InClusterConfigLoader(token_filename=str(folder / "token"), cert_filename=str(folder / "ca.crt"))
            configuration = kubernetes.client.Configuration()
            loader.load_and_set(configuration)
        return kubernetes.client.ApiClient(configuration)


@since((1, 26))
class TrackingTests(AccountCase):
    flags = ("--feature-gates=LegacyServiceAccountTokenTracking=true", "--controllers=*,-root-ca-cert-publisher")

    async def test_uses(self) -> None:
        """A use is written to its Secret; generated ones are warned of, invalid ones refused (AUTHN-65)."""
        await self.created(self.core("serviceaccounts"), {"metadata": {"name": "app"}})
        token = (await self.secret_of("app"))["token"].decode()
        client = self.anonymous(authorization=f"Bearer {token}")
        answer = await client.get("/api")
        self.assertEqual((answer.code, answer.headers.get("warning")), (200, None))
        today = f"{datetime.now(UTC):%Y-%m-%d}"
        labels: Object = {}
        while not labels:
            meta = (await self.client.get(self.core("secrets", "token"))).json["metadata"]
            labels = meta.get("labels") or {}
        self.assertEqual(labels, {"kubernetes.io/legacy-token-last-used": today})
        name = "kube-apiserver-legacy-service-account-token-tracking"
        found = (await self.client.get(f"/api/v1/namespaces/kube-system/configmaps/{name}")).json
        self.assertEqual(found["data"], {"since": today})
        listed = {"secrets": [{"name": "token"}]}
        await self.client.merge(self.core("serviceaccounts", "app"), listed)
        self.assertIn("Use tokens from the TokenRequest API", str((await client.get("/api")).headers["warning"]))
        marked = {"metadata": {"labels": {"kubernetes.io/legacy-token-invalid-since": "2024-01-01"}}}
        await self.client.merge(self.core("secrets", "token"), marked)
        self.assertEqual((await client.get("/api")).code, 401)
        counted = (await self.client.get("/metrics")).body.decode()
        self.assertIn("serviceaccount_invalid_legacy_auto_token_uses_total 1", counted)


class KubectlTests(AccountCase):
    if NO_KUBECTL:
        skip = NO_KUBECTL

    async def test_create_token(self) -> None:
        """`kubectl create token` gives a token that authenticates (AUTHN-28)."""
        await self.created(self.core("serviceaccounts"), {"metadata": {"name": "app"}})
        tool = kubectl.Kubectl(forking, self.server.kubeconfig, self.mktemp())
        result = await tool.run("create", "token", "app", "-n", self.namespace, "--duration=20m")
        self.assertEqual(result.status, 0, result.errors)
        asked = {"spec": {"token": result.output.strip()}}
        answer = await self.client.post("/apis/authentication.k8s.io/v1/tokenreviews", asked)
        name = answer.json["status"]["user"]["username"]
        self.assertEqual(name, f"system:serviceaccount:{self.namespace}:app")


    async def test_bound_token(self) -> None:
        """`--audience`, `--bound-object-kind` and the others of `kubectl create token` (AUTHN-28, AUTHN-29)."""
        await self.created(self.core("serviceaccounts"), {"metadata": {"name": "app"}})
        secret = await self.created(self.core("secrets"), {"metadata": {"name": "s"}})
        tool = kubectl.Kubectl(forking, self.server.kubeconfig, self.mktemp())
        bound = ("--bound-object-kind=Secret", "--bound-object-name=s")
        command = ("create", "token", "app", "-n", self.namespace, "--audience=vault", *bound)
        result = await tool.run(*command, f"--bound-object-uid={secret['metadata']['uid']}")
        self.assertEqual(result.status, 0, result.errors)
        claims = jwt.decode(result.output.strip(), options={"verify_signature": False})
        self.assertEqual((claims["aud"], claims["kubernetes.io"]["secret"]["name"]), (["vault"], "s"))
        refused = await tool.run(*command, "--bound-object-uid=other")
        self.assertEqual(refused.status, 1)
        said = "the UID in the bound object reference (other) does not match the UID in record"
        self.assertIn(said, refused.errors)


class IssuerTests(AccountCase):
    async def test_discovery(self) -> None:
        """Accounts read the issuer's documents, strangers do not; what they say verifies tokens (AUTHN-31)."""
        await self.created(self.core("serviceaccounts"), {"metadata": {"name": "app"}})
        answer = await self.client.post(self.core("serviceaccounts", "app", "token"), {"spec": {}})
        token = answer.json["status"]["token"]
        account = self.anonymous(authorization=f"Bearer {token}")
        found = await account.get("/.well-known/openid-configuration")
        self.assertEqual((found.code, found.headers["cache-control"]), (200, "public, max-age=3600"))
        keys = await account.get("/" + found.json["jwks_uri"].split("/", 3)[3])
        self.assertEqual((keys.code, keys.headers["content-type"]), (200, "application/jwk-set+json"))
        key = jwt.PyJWKSet.from_dict(keys.json)[jwt.get_unverified_header(token)["kid"]]
        claims = jwt.decode(token, key, audience=found.json["issuer"], issuer=found.json["issuer"])
        self.assertEqual(claims["sub"], f"system:serviceaccount:{self.namespace}:app")
        for path in ("/.well-known/openid-configuration", "/openid/v1/jwks"):
            self.assertEqual((await self.anonymous().get(path)).code, 403)


class GeneratedSecretTests(AccountCase):
    """Under Kubernetes' names, where the gate is on by default."""

    flags: tuple[str, ...] = ("--feature-gates=LegacyServiceAccountTokenNoAutoGeneration=false",)
    reviews = "authentication.k8s.io"

    async def test_generated(self) -> None:
        """With the gate off each account has a Secret whose token is its own (CTRL-22)."""
        path = self.core("serviceaccounts", "default")
        while not (secrets := (await self.client.get(path)).json.get("secrets")):
            await deferLater(reactor, 0.05, lambda: None)
        found = (await self.client.get(self.core("secrets", secrets[0]["name"]))).json
        token = base64.b64decode(found["data"]["token"]).decode()
        review = await self.client.post(f"/apis/{self.reviews}/v1/tokenreviews", {"spec": {"token": token}})
        name = review.json["status"]["user"]["username"]
        self.assertEqual(name, f"system:serviceaccount:{self.namespace}:default")


class GeneratedByDefaultTests(GeneratedSecretTests):
    """Under the vocabulary `orch`, where it is off by default (CTRL-22)."""

    vocabulary = "orch"
    flags = ()
    reviews = "authentication.orch.io"


class NotGeneratedTests(AccountCase):
    async def test_none(self) -> None:
        """Under Kubernetes' names an account gets no Secret by itself (CTRL-22): the one that is asked for is the
        only one.
        """
        await self.created(self.core("serviceaccounts"), {"metadata": {"name": "app"}})
        await self.secret_of("app")
        names = [each["metadata"]["name"] for each in (await self.client.get(self.core("secrets"))).json["items"]]
        self.assertEqual(names, ["token"])
        self.assertNotIn("secrets", (await self.client.get(self.core("serviceaccounts", "app"))).json)


class PodTests(AccountCase):
    async def test_new_namespace(self) -> None:
        """Pods in a namespace that has just been made run as its account, and the authorities are there (PLUG-45)."""
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        for _ in range(5):
            namespace = await self.new_namespace()
            made = await self.created(self.core("pods", namespace=namespace), pod)
            self.assertEqual(made["spec"]["serviceAccountName"], "default")
        while (found := await self.client.get(self.core("configmaps", "kube-root-ca.crt"))).code != 200:
            pass
        self.assertIn("BEGIN CERTIFICATE", found.json["data"]["ca.crt"])

    async def test_authorities_restored(self) -> None:
        """Changed or deleted root certificates of a namespace are restored (CTRL-24)."""
        path = self.core("configmaps", "kube-root-ca.crt")
        while (found := await self.client.get(path)).code != 200:
            await deferLater(reactor, 0.05, lambda: None)
        data = found.json["data"]
        self.assertEqual((await self.client.merge(path, {"data": {"ca.crt": "forged", "more": "x"}})).code, 200)
        while (await self.client.get(path)).json["data"] != data:
            await deferLater(reactor, 0.05, lambda: None)
        self.assertEqual((await self.client.delete(path)).code, 200)
        while (found := await self.client.get(path)).code != 200:
            await deferLater(reactor, 0.05, lambda: None)
        self.assertEqual(found.json["data"], data)
