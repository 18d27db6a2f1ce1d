"""Service accounts as pods use them: from a Secret, by the public client's loader (reference AUTHN-23, AUTHN-26)."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any
from unittest import mock

from twisted.internet.threads import deferToThread

from orchtw.objects import Object
from orchtw.testing import kubectl
from tests.end_to_end.case import NO_KUBECTL, ServerCase, reactor

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
        self.assertIn("serviceaccount_legacy_tokens_total 2.0", counted)
        self.assertIn('apiserver_client_certificate_expiration_seconds_bucket{le="0"} 0.0', counted)
        await self.client.delete(self.core("secrets", "token"))
        refused = await self.assertFailure(deferToThread(core.get_api_resources), kubernetes.client.ApiException)
        self.assertEqual(refused.status, 401)

    def in_cluster(self, folder: Path) -> Any:
        """A client as a pod makes it."""
        port = str(self.server.port)
        environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}
        with mock.patch.dict(os.environ, environment):
            loader = InClusterConfigLoader(token_filename=str(folder / "token"), cert_filename=str(folder / "ca.crt"))
            configuration = kubernetes.client.Configuration()
            loader.load_and_set(configuration)
        return kubernetes.client.ApiClient(configuration)


class KubectlTests(AccountCase):
    if NO_KUBECTL:
        skip = NO_KUBECTL

    async def test_create_token(self) -> None:
        """`kubectl create token` gives a token that authenticates (AUTHN-28)."""
        await self.created(self.core("serviceaccounts"), {"metadata": {"name": "app"}})
        tool = kubectl.Kubectl(reactor, self.server.kubeconfig, self.mktemp())
        result = await tool.run("create", "token", "app", "-n", self.namespace, "--duration=20m")
        self.assertEqual(result.status, 0, result.errors)
        asked = {"spec": {"token": result.output.strip()}}
        answer = await self.client.post("/apis/authentication.k8s.io/v1/tokenreviews", asked)
        name = answer.json["status"]["user"]["username"]
        self.assertEqual(name, f"system:serviceaccount:{self.namespace}:app")


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
