"""The namespace controller and the garbage collector inside the real server (reference CTRL-10, CTRL-13)."""

from __future__ import annotations

from twisted.internet.defer import Deferred, gatherResults
from twisted.trial.unittest import TestCase

from orchtw.testing.process import ServerProcess
from orchtw.wire.objects import Object
from tests.end_to_end.case import ServerCase
from tests.end_to_end.client import Client, tls_context
from tests.end_to_end.kubectl_case import KubectlCase
from tests.forked import forking

WRITERS = 8
POD_SPEC: Object = {"containers": [{"name": "c", "image": "example.com/web:1"}]}
TEMPLATE: Object = {"metadata": {"labels": {"app": "web"}}, "spec": POD_SPEC}
WORKLOAD_SPEC: Object = {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}


def reference(owner: Object) -> Object:
    """An owner reference that blocks the owner's deletion in the foreground."""
    meta = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"],
        "controller": True, "blockOwnerDeletion": True,
    }


OWNERS = "/api/v1/namespaces/default/limitranges"


async def fill(client: Client, namespace: str, count: int, *owners: Object) -> None:
    """Create that many config maps, as fast as one client can."""
    pending = iter(range(count))
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    meta = {"ownerReferences": [reference(owner) for owner in owners]} if owners else {}

    async def work() -> None:
        for number in pending:
            answer = await client.post(path, {"metadata": {"name": f"c{number}", **meta}})
            if answer.code != 201:
                raise AssertionError(answer)

    await gatherResults([Deferred.fromCoroutine(work()) for _ in range(WRITERS)])


async def emptied(client: Client, path: str, *, but: tuple[str, ...] = ()) -> None:
    """Follow a collection by watch until it holds nothing but the named objects."""
    listing = (await client.get(path)).json
    left = {item["metadata"]["name"] for item in listing["items"]} - set(but)
    if left:
        watch = await client.watch(f"{path}?watch=1&resourceVersion={listing['metadata']['resourceVersion']}")
        while left:
            for event in await watch.events(1):
                if event["type"] == "DELETED":
                    left.discard(event["object"]["metadata"]["name"])


class CascadeCase(ServerCase):
    async def tree(self) -> Object:
        """A deployment with two replica sets of three pods each, made by hand."""
        deployments, sets = self.group("apps/v1", "deployments"), self.group("apps/v1", "replicasets")
        owner = await self.created(deployments, {"metadata": {"name": "web"}, "spec": WORKLOAD_SPEC})
        for number in range(2):
            meta: Object = {"name": f"web-{number}", "ownerReferences": [reference(owner)]}
            middle = await self.created(sets, {"metadata": meta, "spec": WORKLOAD_SPEC})
            for pod in range(3):
                meta = {"name": f"web-{number}-{pod}", "ownerReferences": [reference(middle)]}
                await self.created(self.core("pods"), {"metadata": meta, "spec": POD_SPEC})
        return owner

    async def counts(self) -> tuple[int, int, int]:
        """Return the numbers of deployments, replica sets and pods."""
        paths = (self.group("apps/v1", "deployments"), self.group("apps/v1", "replicasets"), self.core("pods"))
        deployments, sets, pods = [len((await self.client.get(path)).json["items"]) for path in paths]
        return deployments, sets, pods

    async def delete(self, policy: str) -> None:
        """Delete the deployment with a propagation policy; return once it is gone."""
        path = self.group("apps/v1", "deployments")
        answer = await self.client.delete(f"{path}/web", {"propagationPolicy": policy})
        self.assertEqual(answer.code, 200, answer)
        await emptied(self.client, path)


class CascadeTests(CascadeCase):
    async def test_background(self) -> None:
        """The deployment goes at once, its replica sets and their pods follow."""
        await self.tree()
        await self.delete("Background")
        await emptied(self.client, self.group("apps/v1", "replicasets"))
        await emptied(self.client, self.core("pods"))

    async def test_foreground(self) -> None:
        """When the deployment goes, its replica sets and their pods have gone before."""
        await self.tree()
        await self.delete("Foreground")
        self.assertEqual(await self.counts(), (0, 0, 0))

    async def test_orphan(self) -> None:
        """The replica sets and pods stay; the replica sets have no owner any more."""
        await self.tree()
        await self.delete("Orphan")
        self.assertEqual(await self.counts(), (0, 2, 6))
        for item in (await self.client.get(self.group("apps/v1", "replicasets"))).json["items"]:
            self.assertNotIn("ownerReferences", item["metadata"])

    async def test_health(self) -> None:
        """Each controller has a check of its own, on every health endpoint."""
        for name in ("namespace", "garbagecollector"):
            for endpoint in ("healthz", "livez", "readyz"):
                answer = await self.client.get(f"/{endpoint}/controller/{name}")
                self.assertEqual((answer.code, answer.body), (200, b"ok"))


class KubernetesCascadeTests(CascadeTests):
    vocabulary = "kubernetes"


class NamespaceTests(ServerCase):
    async def test_namespace_with_contents(self) -> None:
        """A namespace with 500 objects ends, and takes them with it."""
        await fill(self.client, self.namespace, 500)
        version = (await self.client.get("/api/v1/namespaces")).version
        watch = await self.client.watch(f"/api/v1/namespaces?watch=1&resourceVersion={version}")
        answer = await self.client.delete(f"/api/v1/namespaces/{self.namespace}")
        self.assertEqual((answer.code, answer.json["status"]["phase"]), (200, "Terminating"))
        while True:
            (event,) = await watch.events(1)
            if (event["type"], event["object"]["metadata"]["name"]) == ("DELETED", self.namespace):
                break
        self.assertEqual((await self.client.get(self.core("configmaps"))).json["items"], [])

    async def test_finalizers_are_reported(self) -> None:
        """Conditions, owned by the controller manager, tell what keeps a namespace; once that is gone it ends."""
        meta = {"name": "held", "finalizers": ["example.com/f"]}
        await self.created(self.core("configmaps"), {"metadata": meta})
        path = f"/api/v1/namespaces?fieldSelector=metadata.name={self.namespace}"
        version = (await self.client.get(path)).version
        watch = await self.client.watch(f"{path}&watch=1&resourceVersion={version}")
        await self.client.delete(f"/api/v1/namespaces/{self.namespace}")
        _, reported = await watch.events(2)
        conditions = {each["type"]: each for each in reported["object"]["status"]["conditions"]}
        remaining = conditions["NamespaceContentRemaining"]
        self.assertEqual((remaining["status"], remaining["reason"]), ("True", "SomeResourcesRemain"))
        managed = reported["object"]["metadata"]["managedFields"]
        owners = {(each["manager"], each.get("subresource")) for each in managed}
        self.assertIn((self.naming.controller_manager, "status"), owners)
        await self.client.merge(self.core("configmaps", "held"), {"metadata": {"finalizers": None}})
        events = await watch.events(1)
        while events[-1]["type"] != "DELETED":
            events = await watch.events(1)


class KubernetesNamespaceTests(NamespaceTests):
    vocabulary = "kubernetes"


class KubectlTests(KubectlCase, CascadeCase):
    vocabulary = "kubernetes"

    async def test_delete_namespace(self) -> None:
        """`kubectl delete ns`, with 5,000 objects in it, ends (reference CTRL-10)."""
        await fill(self.client, self.namespace, 5000)
        output = await self.run_ok("delete", "ns", self.namespace)
        self.assertEqual(output, f'namespace "{self.namespace}" deleted\n')
        self.assertEqual((await self.client.get(self.core("configmaps"))).json["items"], [])
        self.assertEqual((await self.client.get(f"/api/v1/namespaces/{self.namespace}")).code, 404)

    async def test_cascades(self) -> None:
        """`kubectl delete deployment --cascade=…` does what it says (reference CTRL-16)."""
        await self.tree()
        await self.run_ok("delete", "deployment", "web", "--cascade=foreground")
        self.assertEqual(await self.counts(), (0, 0, 0))
        await self.tree()
        await self.run_ok("delete", "deployment", "web", "--cascade=background")
        await emptied(self.client, self.group("apps/v1", "replicasets"))
        await emptied(self.client, self.core("pods"))
        await self.tree()
        await self.run_ok("delete", "deployment", "web", "--cascade=orphan")
        self.assertEqual(await self.counts(), (0, 2, 6))


class RestartTests(TestCase):
    """kill -9 while controllers work: after the next start they finish."""

    timeout = 120

    async def setUp(self) -> None:  # type: ignore[override]
        self.server = ServerProcess(forking, self.mktemp(), "--controllers=*,-root-ca-cert-publisher")
        self.addCleanup(self.server.kill9)
        await self.start()

    async def start(self) -> None:
        await self.server.start()
        self.client = Client(self.server.port, tls_context(self.server.kubeconfig))
        self.addCleanup(self.client.close)

    async def kill(self) -> None:
        self.client.close()
        await self.server.kill9()
        await self.start()
        self.assertNotIn("Traceback", self.server.log)

    async def owner(self) -> Object:
        answer = await self.client.post(OWNERS, {"metadata": {"name": "owner"}, "spec": {"limits": []}})
        owner: Object = answer.json
        await fill(self.client, "default", 2000, owner)
        return owner

    async def test_collecting(self) -> None:
        """Dependents whose owner was deleted are all deleted, in spite of a kill in the middle."""
        await self.owner()
        await self.client.delete(f"{OWNERS}/owner", {"propagationPolicy": "Background"})
        await self.kill()
        await emptied(self.client, "/api/v1/namespaces/default/configmaps")

    async def test_foreground(self) -> None:
        """An owner that waits for its dependents goes after the last of them, in spite of a kill in the middle."""
        await self.owner()
        await self.client.delete(f"{OWNERS}/owner", {"propagationPolicy": "Foreground"})
        await self.kill()
        await emptied(self.client, OWNERS)
        self.assertEqual((await self.client.get("/api/v1/namespaces/default/configmaps")).json["items"], [])

    async def test_namespace(self) -> None:
        """A namespace that is being emptied ends, in spite of a kill in the middle."""
        await self.client.post("/api/v1/namespaces", {"metadata": {"name": "a"}})
        await fill(self.client, "a", 2000)
        await self.client.delete("/api/v1/namespaces/a")
        await self.kill()
        immortal = ("default", "orch-node-lease", "orch-public", "orch-system")
        await emptied(self.client, "/api/v1/namespaces", but=immortal)
        self.assertEqual((await self.client.get("/api/v1/namespaces/a/configmaps")).json["items"], [])


class FlagTests(TestCase):
    timeout = 180

    async def test_switched_off(self) -> None:
        """A controller that is switched off does nothing, and has no health check."""
        server = ServerProcess(forking, self.mktemp(), "--controllers=*,-garbagecollector")
        self.addCleanup(server.kill9)
        await server.start()
        client = Client(server.port, tls_context(server.kubeconfig))
        self.addCleanup(client.close)
        self.assertEqual((await client.get("/healthz/controller/namespace")).code, 200)
        self.assertEqual((await client.get("/healthz/controller/garbagecollector")).code, 404)
        path = "/api/v1/namespaces/default/configmaps"
        await client.post(path, {"metadata": {"name": "x"}})
        answer = await client.delete(f"{path}/x", {"propagationPolicy": "Foreground"})
        self.assertEqual(answer.json["metadata"]["finalizers"], ["foregroundDeletion"])
        self.assertEqual(await server.terminate(), 0)

    async def test_elected(self) -> None:
        """With --leader-elect the controllers work once the Lease is held, and let it go at the end."""
        server = ServerProcess(forking, self.mktemp(), "--leader-elect")
        self.addCleanup(server.kill9)
        await server.start()
        client = Client(server.port, tls_context(server.kubeconfig))
        self.addCleanup(client.close)
        await self.led(client, 0)
        await client.post("/api/v1/namespaces", {"metadata": {"name": "a"}})
        await client.delete("/api/v1/namespaces/a")
        await emptied(client, "/api/v1/namespaces", but=("default", "orch-node-lease", "orch-public", "orch-system"))
        client.close()
        await server.terminate()
        await server.start()
        client = Client(server.port, tls_context(server.kubeconfig))
        self.addCleanup(client.close)
        await self.led(client, 1)
        client.close()
        await server.terminate()

    async def led(self, client: Client, transitions: int) -> None:
        """Wait until a server holds the Lease after that many transitions."""
        watch = await client.watch("/apis/coordination.orch.io/v1/namespaces/orch-system/leases?watch=1")
        while True:
            (event,) = await watch.events(1)
            spec = event["object"]["spec"]
            if spec["holderIdentity"] and spec["leaseTransitions"] == transitions:
                break
