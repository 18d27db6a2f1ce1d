"""The drop-ins for envtest, used as releases of controller-runtime use the originals (reference CLIENT-16)."""
# covers: orchtw.commands.envtest.apiserver, orchtw.commands.envtest.etcd

from __future__ import annotations

import atexit
import base64
import json
import socket
import subprocess
from pathlib import Path
from typing import ClassVar

from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import TestCase

from orchtw.testing.admission_webhook import AdmissionWebhook
from orchtw.testing.process import environment
from orchtw.wire.objects import Object
from tests.end_to_end.case import TRACEBACKS, reactor
from tests.end_to_end.client import Client
from tests.end_to_end.envtest import ControlPlane, StartFailed

NAMESPACES = "/api/v1/namespaces"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
ADMIN = ("default", "system:masters")


class SuiteCase(TestCase):
    """One control plane for all tests of a class, as a suite has it."""

    release: ClassVar[str] = ""
    timeout = 240
    _planes: ClassVar[dict[str, ControlPlane]] = {}

    async def setUp(self) -> None:  # type: ignore[override]
        if self.release not in self._planes:
            while self._planes:  # that of the class before, which nobody needs any more
                _, former = self._planes.popitem()
                atexit.unregister(former.stop)
                await deferToThread(former.stop)
            plane = ControlPlane(self.release, Path(self.mktemp()).absolute())
            await deferToThread(plane.start)
            self._planes[self.release] = plane
            atexit.register(plane.stop)  # the workers of `trial -j` shut their reactor down after each test
        self.plane = self._planes[self.release]
        self.client = self.user(*ADMIN)

    def user(self, *user: str, **headers: str) -> Client:
        """Return a user's client, closed at the end of the test."""
        client = self.plane.client(*user, **headers)
        self.addCleanup(client.close)
        return client

    async def made(self, path: str, obj: Object) -> Object:
        answer = await self.client.post(path, obj)
        self.assertEqual(answer.code, 201, answer)
        found: Object = answer.json
        return found

    async def until(self, path: str, code: int) -> None:
        while (await self.client.get(path)).code != code:
            await deferLater(reactor, 0.05)


class NewReleaseTests(SuiteCase):
    """The present way: certificates with elliptic curves."""

    release = "v0.20.4"

    async def test_first_requests(self) -> None:
        """A healthy server is whole: roles, namespaces, and the rights of users are there at the first request."""
        roles = await self.client.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/view")
        self.assertEqual(roles.code, 200, roles)
        self.assertEqual((await self.client.get(f"{NAMESPACES}/default")).code, 200)
        someone = await self.user("someone", "system:authenticated").get(f"{NAMESPACES}/default/secrets")
        self.assertEqual(someone.code, 403)
        self.assertIn('User "someone" cannot list resource "secrets"', someone.json["message"])
        self.assertEqual((await self.user().get(f"{NAMESPACES}/default/secrets")).code, 403)
        self.assertEqual((await self.user().get("/readyz")).code, 200)

    async def test_flags(self) -> None:
        """Flags mean what they say: privileged pods, no ServiceAccount of pods, the range of Services."""
        container = {"name": "c", "image": "i", "securityContext": {"privileged": True}}
        meta: Object = {"generateName": "a-"}
        pod = await self.made(f"{NAMESPACES}/default/pods", {"metadata": meta, "spec": {"containers": [container]}})
        self.assertEqual((pod["spec"].get("serviceAccountName"), pod["spec"].get("volumes")), (None, None))
        service = await self.made(
            f"{NAMESPACES}/default/services", {"metadata": meta, "spec": {"ports": [{"port": 80}]}}
        )
        self.assertTrue(service["spec"]["clusterIP"].startswith("10.0.0."))

    async def test_tokens(self) -> None:
        """Tokens of ServiceAccounts have the issuer and the key of the flags, and are believed."""
        accounts = f"{NAMESPACES}/default/serviceaccounts"
        account = await self.made(accounts, {"metadata": {"generateName": "a-"}})
        name = account["metadata"]["name"]
        token = (await self.made(f"{accounts}/{name}/token", {"spec": {}}))["status"]["token"]
        claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
        self.assertEqual(claims["iss"], f"{self.plane.variables['api']}/")
        bearer = self.user(Authorization=f"Bearer {token}")
        refused = await bearer.get(f"{NAMESPACES}/default/secrets")
        self.assertIn(f'User "system:serviceaccount:default:{name}"', refused.json["message"])

    async def test_definitions(self) -> None:
        """Definitions are installed, served, and gone when the suite removes them."""
        names = {"plural": "things", "kind": "Thing"}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": ANYTHING}}
        spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
        await self.made(DEFINITIONS, {"metadata": {"name": "things.example.com"}, "spec": spec})
        things = "/apis/example.com/v1/namespaces/default/things"
        await self.until(things, 200)
        await self.made(things, {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}})
        self.assertEqual((await self.client.delete(f"{DEFINITIONS}/things.example.com")).code, 200)
        await self.until(f"{DEFINITIONS}/things.example.com", 404)

    async def test_webhooks(self) -> None:
        """Webhooks are called by the URL that envtest writes in place of their Service."""
        webhook = AdmissionWebhook(
            reactor, "configmaps", mutating=True, vocabulary="kubernetes",
            namespaceSelector={"matchLabels": {"hooked": "yes"}},
        )  # fmt: skip
        self.addCleanup(webhook.stop)
        self.addCleanup(self.client.delete, f"{webhook.path}/{webhook.name}")
        await self.made(webhook.path, webhook.configuration)
        webhook.patch({"op": "add", "path": "/data", "value": {"seen": "yes"}})
        space = await self.made(NAMESPACES, {"metadata": {"generateName": "a-", "labels": {"hooked": "yes"}}})
        maps = f"{NAMESPACES}/{space['metadata']['name']}/configmaps"
        while not (await self.made(maps, {"metadata": {"generateName": "a-"}})).get("data"):
            await deferLater(reactor, 0.05)  # the configuration is not in force yet
        self.assertTrue(webhook.reviews)

    async def test_deletion(self) -> None:
        """Namespaces go, with what is in them; dependents go with their owner. Nothing else is added to either."""
        name = (await self.made(NAMESPACES, {"metadata": {"generateName": "a-"}}))["metadata"]["name"]
        maps = f"{NAMESPACES}/{name}/configmaps"
        for plural in ("configmaps", "serviceaccounts", "secrets"):
            found = (await self.client.get(f"{NAMESPACES}/{name}/{plural}")).json
            self.assertEqual(found["items"], [])
        owner = await self.made(maps, {"metadata": {"name": "owner"}})
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        await self.made(maps, {"metadata": {"name": "owned", "ownerReferences": [reference]}})
        await self.client.delete(f"{maps}/owner")
        await self.until(f"{maps}/owned", 404)
        await self.made(f"{NAMESPACES}/{name}/persistentvolumeclaims", {
            "metadata": {"name": "claim"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        })  # fmt: skip
        self.assertEqual((await self.client.delete(f"{NAMESPACES}/{name}")).code, 200)
        await self.until(f"{NAMESPACES}/{name}", 404)

    async def test_finalized_by_the_suite(self) -> None:
        """A suite that finalizes a namespace itself, as they did without controllers, is not disturbed."""
        name = (await self.made(NAMESPACES, {"metadata": {"generateName": "a-"}}))["metadata"]["name"]
        await self.client.delete(f"{NAMESPACES}/{name}")
        found = (await self.client.get(f"{NAMESPACES}/{name}")).json
        found["spec"]["finalizers"] = []
        answer = await self.client.put(f"{NAMESPACES}/{name}/finalize", found)
        self.assertEqual(answer.code, 200, answer)
        self.assertEqual((await self.client.get(f"{NAMESPACES}/{name}")).code, 404)

    def test_no_tracebacks(self) -> None:
        """The log of the server has no failure of its own."""
        for word in TRACEBACKS:
            self.assertNotIn(word, self.plane.apiserver.log.read_text())


class OldReleaseTests(NewReleaseTests):
    """The way of 2021: RSA keys, and flags that are gone since."""

    release = "v0.9.0"


class LifeTests(TestCase):
    """Starts and stops of both programs."""

    timeout = 240

    def plane(self, release: str = "v0.20.4") -> ControlPlane:
        plane = ControlPlane(release, Path(self.mktemp()).absolute())
        self.addCleanup(deferToThread, plane.stop)
        return plane

    async def test_restart(self) -> None:
        """A restarted server finds its objects as long as etcd runs; both end orderly, and leave nothing running."""
        plane = self.plane()
        await deferToThread(plane.start)
        client = plane.client(*ADMIN)
        await client.post(f"{NAMESPACES}/default/configmaps", {"metadata": {"name": "a"}})
        client.close()
        self.assertEqual(await deferToThread(plane.apiserver.stop), 0)
        await deferToThread(plane.apiserver.start)
        client = plane.client(*ADMIN)
        self.addCleanup(client.close)
        self.assertEqual((await client.get(f"{NAMESPACES}/default/configmaps/a")).code, 200)
        watch = await client.watch(f"{NAMESPACES}/default/configmaps?watch=1")
        self.assertEqual((await watch.event())["type"], "ADDED")
        self.assertEqual(await deferToThread(plane.stop), [0, 0])
        with self.assertRaises(OSError):
            socket.create_connection(("127.0.0.1", plane.port)).close()

    async def test_one_server(self) -> None:
        """A second server on the same etcd is refused with a reason: the embedded store has one."""
        plane = self.plane()
        await deferToThread(plane.start)
        told = await self.run_apiserver(plane, f"--etcd-servers={plane.variables['etcd']}", "--secure-port=0")
        self.assertEqual(told.returncode, 1)
        self.assertIn("store.sqlite: in use by another process", told.stderr)

    async def run_apiserver(self, plane: ControlPlane, *flags: str) -> subprocess.CompletedProcess[str]:
        """Run a further server to its end."""

        def run() -> subprocess.CompletedProcess[str]:
            command = [str(plane.assets / "kube-apiserver"), *flags]
            return subprocess.run(command, capture_output=True, text=True, env=environment(()), timeout=60)

        return await deferToThread(run)

    async def test_insecure_serving(self) -> None:
        """Releases up to 0.8 come as far as the server, which says why they cannot go on."""
        plane = self.plane("v0.8.3")
        with self.assertRaises(StartFailed) as raised:
            await deferToThread(plane.start)
        port = plane.variables["insecure"]
        self.assertEqual(
            str(raised.exception),
            f"kube-apiserver: --insecure-port={port}: plain HTTP is not served, as Kubernetes 1.24 no longer does: "
            "use controller-runtime 0.9 or newer, whose envtest talks to the secure port\n",
        )
        self.assertIn("serving insecure client requests on 127.0.0.1:", plane.etcd.log.read_text())

    async def test_without_etcd(self) -> None:
        """Without an etcd there is no server."""
        told = await self.run_apiserver(self.plane())
        self.assertEqual((told.returncode, told.stderr), (1, "kube-apiserver: --etcd-servers must be specified\n"))
