"""One data folder under one vocabulary, then under the other, and back (reference VOC-7)."""

from __future__ import annotations

import json
from typing import Any

from orchtw.naming.naming import Naming
from orchtw.testing.kubectl import Kubectl
from orchtw.testing.process import ServerProcess
from orchtw.testing.start_failed import StartFailed
from orchtw.wire.objects import Object
from tests.end_to_end.case import NO_KUBECTL
from tests.end_to_end.client import Client
from tests.end_to_end.minimal import signing_request
from tests.end_to_end.test_start import ProcessCase
from tests.forked import forking

APPLY = {"Content-Type": "application/apply-patch+yaml"}
DEPLOYMENT = "/apis/apps/v1/namespaces/shop/deployments/web"
UNSTABLE = ("resourceVersion", "managedFields")


def deployment(naming: Naming) -> Object:
    """Return an applied object in the names of one vocabulary."""
    pod = {
        "nodeSelector": {naming.translate("orch.io/os"): "linux"},
        "tolerations": [{"key": naming.translate("node.orch.io/not-ready"), "operator": "Exists"}],
        "containers": [{"name": "c", "image": "example.com/web:1", "env": [{"name": "A", "value": "orch.io/os"}]}],
    }
    labels = {"app": "web", naming.translate("topology.orch.io/zone"): "z"}
    meta = {"name": "web", "labels": labels, "annotations": {naming.translate("orch.io/change-cause"): "orch-system"}}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


def manifests(naming: Naming) -> dict[str, Object]:
    """Objects of many kinds by the path of their collection."""
    group = naming.group
    rbac, hooks = group("rbac.authorization.orch.io"), group("admissionregistration.orch.io")
    certificates, system = group("certificates.orch.io"), naming.system_namespace
    subject = {"kind": "User", "apiGroup": rbac, "name": naming.scheduler_user}
    rule = {"verbs": ["get"], "apiGroups": [group("networking.orch.io")], "resources": ["ingresses"]}
    hook = {
        "name": "hook.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "failurePolicy": "Ignore", "clientConfig": {"service": {"namespace": system, "name": "hook"}},
        "namespaceSelector": {"matchLabels": {naming.namespace_name_label: system}},
        "rules": [{"operations": ["CREATE"], "apiGroups": [group("networking.orch.io")], "apiVersions": ["v1"],
                   "resources": ["ingresses"]}],
    }  # fmt: skip
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    metric = {"type": "Object", "object": {
        "metric": {"name": "m"}, "target": {"type": "Value", "value": "1"},
        "describedObject": {"apiVersion": f"{group('networking.orch.io')}/v1", "kind": "Ingress", "name": "i"},
    }}  # fmt: skip
    return {
        "/api/v1/namespaces/shop/configmaps": {"metadata": {"name": "c"}, "data": {"orch.io": "orch-system"}},
        "/api/v1/namespaces/shop/serviceaccounts": {"metadata": {"name": "robot"}},
        "/api/v1/namespaces/shop/secrets": {
            "metadata": {"name": "token", "annotations": {naming.service_account_name_annotation: "robot"}},
            "type": naming.service_account_token_type,
        },
        f"/api/v1/namespaces/{system}/pods": {
            "metadata": {"name": "p", "finalizers": [naming.translate("orch.io/pvc-protection")]},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
        f"/apis/{rbac}/v1/namespaces/shop/roles": {"metadata": {"name": "r"}, "rules": [rule]},
        f"/apis/{rbac}/v1/namespaces/shop/rolebindings": {
            "metadata": {"name": "b"}, "subjects": [subject],
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "r"},
        },
        f"/apis/{hooks}/v1/validatingwebhookconfigurations": {"metadata": {"name": "h"}, "webhooks": [hook]},
        "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers": {
            "metadata": {"name": "a"}, "spec": {"maxReplicas": 2, "scaleTargetRef": target, "metrics": [metric]},
        },
        f"/apis/{certificates}/v1/certificatesigningrequests": {
            "metadata": {"name": "q"},
            "spec": {"signerName": naming.translate("orch.io/orch-apiserver-client"), "usages": ["client auth"],
                     "request": signing_request()},
        },
    }  # fmt: skip


def settled(obj: Any) -> Any:
    """An object without what every rewriting changes."""
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key not in UNSTABLE}}


class OtherVocabularyTests(ProcessCase):
    """A server that is started under the vocabulary that its store was not made with."""

    timeout = 180

    def under(self, vocabulary: str, folder: str) -> ServerProcess:
        """A server that is yet to be started."""
        return self.server(f"--vocabulary={vocabulary}", folder=folder)

    async def made(self, client: Client, naming: Naming) -> None:
        """Make the objects of this module."""
        self.assertEqual((await client.post("/api/v1/namespaces", {"metadata": {"name": "shop"}})).code, 201)
        for path, obj in manifests(naming).items():
            answer = await client.post(path, obj)
            self.assertEqual(answer.code, 201, answer)
        answer = await self.apply(client, deployment(naming))
        self.assertEqual(answer.code, 201, answer)

    async def apply(self, client: Client, obj: Object, manager: str = "helper") -> Any:
        """Apply the Deployment, without force."""
        body = json.dumps(obj).encode()
        return await client.send("PATCH", f"{DEPLOYMENT}?fieldManager={manager}", body, APPLY)

    async def contents(self, client: Client, naming: Naming) -> dict[str, Any]:
        """Return the module's objects by name in the neutral vocabulary."""
        paths = dict(zip(manifests(naming), manifests(Naming.orch()), strict=True))
        found = {}
        for path, neutral in paths.items():
            name = manifests(naming)[path]["metadata"]["name"]
            answer = await client.get(f"{path}/{name}")
            self.assertEqual(answer.code, 200, answer)
            found[neutral] = settled(answer.json)
        found[DEPLOYMENT] = (await client.get(DEPLOYMENT)).json
        found[DEPLOYMENT] = settled(found[DEPLOYMENT])
        return found

    async def test_there_and_back(self) -> None:
        """Everything is readable under its other names, keeps its owners, and comes back as it was."""
        folder, orch, kubernetes = self.mktemp(), Naming.orch(), Naming.kubernetes()
        server = self.under("orch", folder)
        await server.start()
        client = self.client(server)
        await self.made(client, orch)
        before = await self.contents(client, orch)
        version = (await client.get("/api/v1/namespaces")).json["metadata"]["resourceVersion"]
        self.assertEqual(await server.terminate(), 0)

        server = self.under("kubernetes", folder)
        await server.start()
        client = self.client(server)
        said = r"the store was made with --vocabulary orch: \d+ objects have been rewritten for kubernetes"
        self.assertRegex(server.log, said)
        self.assertEqual(
            server.errors, "The store was made with --vocabulary orch: it is being rewritten for kubernetes\n"
        )
        await self.check_translated(client, kubernetes)
        watch = await client.watch(f"/api/v1/namespaces?watch=1&resourceVersion={version}")
        event = await watch.event()
        self.assertEqual((event["type"], event["object"]["code"]), ("ERROR", 410))
        await self.check_kubectl(server)
        self.assertEqual((await self.apply(client, deployment(kubernetes))).code, 200)
        self.assertEqual(await server.terminate(), 0)

        server = self.under("orch", folder)
        await server.start()
        client = self.client(server)
        self.assertEqual(await self.contents(client, orch), before)
        self.assertEqual((await self.apply(client, deployment(orch))).code, 200)
        await self.check_deletion(client)

    async def check_translated(self, client: Client, naming: Naming) -> None:
        """Names in positions that clients look at, and those of the API's own objects."""
        found = await self.contents(client, naming)
        live = found[DEPLOYMENT]
        wanted = deployment(naming)
        self.assertEqual(live["spec"]["selector"], wanted["spec"]["selector"])
        pod = live["spec"]["template"]["spec"]
        self.assertEqual(pod["nodeSelector"], {"kubernetes.io/os": "linux"})
        self.assertEqual(pod["containers"][0]["env"], [{"name": "A", "value": "orch.io/os"}])
        self.assertEqual(live["metadata"]["annotations"]["kubernetes.io/change-cause"], "orch-system")
        for path, obj in manifests(naming).items():
            name = obj["metadata"]["name"]
            there = (await client.get(f"{path}/{name}")).json
            for part in ("data", "type", "subjects", "roleRef", "rules"):
                self.assertEqual(there.get(part) if part in obj else None, obj.get(part), (path, part))
        hook = (await client.get("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/h")).json
        selector = hook["webhooks"][0]["namespaceSelector"]
        self.assertEqual(selector, {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}})
        scaler = (await client.get("/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/a")).json
        described = scaler["spec"]["metrics"][0]["object"]["describedObject"]
        self.assertEqual(described["apiVersion"], "networking.k8s.io/v1")
        names = [each["metadata"]["name"] for each in (await client.get("/api/v1/namespaces")).json["items"]]
        self.assertEqual(names, ["default", "kube-node-lease", "kube-public", "kube-system", "shop"])
        services = (await client.get("/api/v1/services")).json["items"]
        self.assertEqual([each["metadata"]["name"] for each in services], ["kubernetes"])

    async def check_kubectl(self, server: ServerProcess) -> None:
        """`kubectl` reads every kind."""
        if NO_KUBECTL:
            return
        kubectl = Kubectl(forking, server.kubeconfig, self.mktemp())
        kinds = "deploy,cm,sa,secret,po,role,rolebinding,hpa,svc,endpointslices"
        shown = await kubectl.run("get", kinds, "--all-namespaces", "-o", "name")
        self.assertEqual(shown.status, 0, shown)
        for name in ("deployment.apps/web", "pod/p", "service/kubernetes", "rolebinding.rbac.authorization.k8s.io/b"):
            self.assertIn(name, shown.output)
        described = await kubectl.run("describe", "deployment", "web", "--namespace=shop")
        self.assertIn("topology.kubernetes.io/zone=z", described.output)

    async def check_deletion(self, client: Client) -> None:
        """The namespace controller knows its finalizer, so a namespace goes away with what is in it."""
        watch = await client.watch("/api/v1/namespaces?watch=1&fieldSelector=metadata.name%3Dshop")
        self.assertEqual((await client.delete("/api/v1/namespaces/shop")).code, 200)
        while (await watch.event())["type"] != "DELETED":
            pass
        self.assertEqual((await client.get(DEPLOYMENT)).code, 404)

    async def test_names_that_meet(self) -> None:
        """A namespace of the user's that has the other vocabulary's name ends the start, and nothing is changed."""
        server = self.under("orch", self.mktemp())
        await server.start()
        client = self.client(server)
        self.assertEqual((await client.post("/api/v1/namespaces", {"metadata": {"name": "kube-system"}})).code, 201)
        await server.terminate()
        other = self.under("kubernetes", str(server.data_dir))
        with self.assertRaises(StartFailed) as refused:
            await other.start()
        _, line = refused.exception.errors.splitlines()
        self.assertIn("/registry/namespaces/orch-system and /registry/namespaces/kube-system would both become", line)
        self.assertIn("opens with --vocabulary orch", line)
        await server.start()
        self.assertEqual((await self.client(server).get("/api/v1/namespaces/kube-system")).code, 200)
