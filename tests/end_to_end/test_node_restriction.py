"""A node's certificate against a server with Node,RBAC and NodeRestriction (reference PLUG-41 to PLUG-44)."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from twisted.internet.task import deferLater

from orchtw.pki.user_command import main
from orchtw.wire.objects import Object
from tests.end_to_end.case import ServerCase, reactor
from tests.end_to_end.client import Answer, Client, tls_context

NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.orch.io/v1/namespaces/orch-node-lease/leases"
CSI_NODES = "/apis/storage.orch.io/v1/csinodes"
MIRROR = "orch.io/config.mirror"


class NodeTests(ServerCase):
    """Each test has nodes of its own."""

    flags = ("--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction")

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        self.name = self.unique("node")
        self.agent = self.login(f"system:node:{self.name}", "system:nodes")

    def login(self, user: str, group: str) -> Client:
        """A client that shows a certificate of this user's."""
        path = Path(self.mktemp()).absolute()
        arguments = [user, "--group", group, "--data-dir", str(self.server.data_dir), "--output", str(path)]
        with redirect_stdout(StringIO()):
            self.assertEqual(main(arguments), 0)
        client = Client(self.server.port, tls_context(path))
        self.addCleanup(client.close)
        return client

    def node(self, labels: Object | None = None) -> Object:
        return {"metadata": {"name": self.name, "labels": {"orch.io/hostname": self.name, **(labels or {})}}}

    def forbidden(self, answer: Answer, resource: str, name: str, why: str) -> None:
        self.assertRefused(answer, 403, "Forbidden", f'{resource} "{name}" is forbidden: {why}')

    async def registered(self) -> Object:
        """The node, which has registered itself."""
        answer = await self.agent.post(NODES, self.node())
        self.assertEqual(answer.code, 201, answer)
        stored: Object = answer.json
        return stored

    async def running(self, name: str, node: str) -> Object:
        """A pod that runs on a node."""
        spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}
        return await self.created(self.core("pods"), {"metadata": {"name": name}, "spec": spec})

    async def test_own_node(self) -> None:
        """An agent registers, labels and reports its own node, and no other."""
        who = f'node "{self.name}"'
        reserved = {"orch.io/role": "x", "node-restriction.orch.io/a": "b", "example.com/free": "1"}
        names = "node-restriction.orch.io/a, orch.io/role"
        answer = await self.agent.post(NODES, self.node(reserved))
        why = f"{who} is not allowed to set the following labels: {names}"
        self.forbidden(answer, "nodes", self.name, why)
        await self.registered()
        path = f"{NODES}/{self.name}"
        answer = await self.agent.merge(path, {"metadata": {"labels": reserved}})
        self.forbidden(answer, "nodes", self.name, f"is not allowed to modify labels: {names}")
        answer = await self.agent.merge(path, {"metadata": {"labels": {"node.orch.io/a": "b", "c": "d"}}})
        self.assertEqual((answer.code, answer.json["metadata"]["labels"]["c"]), (200, "d"))
        taints = {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}
        answer = await self.agent.merge(path, taints)
        self.forbidden(answer, "nodes", self.name, f"{who} is not allowed to modify taints")
        answer = await self.agent.merge(f"{path}/status", {"status": {"capacity": {"cpu": "4"}}})
        self.assertEqual(answer.code, 200, answer)
        answer = await self.agent.merge(f"{path}/status", {"metadata": {"labels": {"orch.io/role": "x"}}})
        self.forbidden(answer, "nodes", self.name, "is not allowed to modify labels: orch.io/role")
        await self.check_other_node(who)
        self.assertEqual((await self.client.merge(path, taints)).code, 200)

    async def check_other_node(self, who: str) -> None:
        """A node may not write other Nodes, and deletes nothing."""
        other = self.unique("other")
        await self.created(NODES, {"metadata": {"name": other}})
        for path in (f"{NODES}/{other}", f"{NODES}/{other}/status"):
            answer = await self.agent.merge(path, {"metadata": {"labels": {"a": "b"}}})
            self.forbidden(answer, "nodes", other, f'{who} is not allowed to modify node "{other}"')
        answer = await self.agent.delete(f"{NODES}/{self.name}")
        self.assertEqual(answer.code, 403, answer)
        self.assertIn("cannot delete resource", answer.json["message"])

    async def test_pods(self) -> None:
        """It mirrors what it runs, reports, evicts and deletes its own pods, and no others."""
        node, who = await self.registered(), f'node "{self.name}"'
        pods = self.core("pods")
        owner = {"apiVersion": "v1", "kind": "Node", "name": self.name, "uid": node["metadata"]["uid"]}
        spec = {"nodeName": self.name, "containers": [{"name": "c", "image": "i"}]}
        meta = {"name": "static", "annotations": {MIRROR: "x"}, "ownerReferences": [{**owner, "controller": True}]}
        plain = {"metadata": {"name": "plain"}, "spec": spec}
        why = f'pod does not have "{MIRROR}" annotation, {who} can only create mirror pods'
        self.forbidden(await self.agent.post(pods, plain), "pods", "plain", why)
        made = await self.agent.post(pods, {"metadata": meta, "spec": spec})
        self.assertEqual(made.code, 201, made)
        secret = {**spec, "volumes": [{"name": "v", "secret": {"secretName": "s"}}]}
        for more, why in (
            ({"spec": {**spec, "nodeName": "m"}}, "can only create pods with spec.nodeName set to itself"),
            ({"spec": {**spec, "serviceAccountName": "default"}}, "a mirror pod may not reference service accounts"),
            ({"spec": secret}, "a mirror pod may not reference secrets"),
        ):
            answer = await self.agent.post(pods, {"metadata": {**meta, "name": "other"}, "spec": spec, **more})
            self.assertEqual(answer.code, 403, answer)
            self.assertTrue(answer.json["message"].endswith(why), answer)
        await self.check_status_and_end(who)

    async def check_status_and_end(self, who: str) -> None:
        """A node may write pods that run on it, not others."""
        for name, node in (("own", self.name), ("other", "elsewhere"), ("evicted", self.name)):
            await self.running(name, node)
        status = {"status": {"phase": "Running"}}
        self.assertEqual((await self.agent.merge(self.core("pods", "own", "status"), status)).code, 200)
        answer = await self.agent.merge(self.core("pods", "other", "status"), status)
        why = f"{who} can only update pod status for pods with spec.nodeName set to itself"
        self.forbidden(answer, "pods", "other", why)
        answer = await self.agent.merge(self.core("pods", "own", "status"), {"metadata": {"labels": {"a": "b"}}})
        self.forbidden(answer, "pods", "own", f"{who} cannot update labels through pod status")
        for name, code in (("evicted", 201), ("other", 403)):
            eviction = {"metadata": {"name": name}, "kind": "Eviction", "apiVersion": "policy/v1"}
            answer = await self.agent.post(self.core("pods", name, "eviction"), eviction)
            self.assertEqual(answer.code, code, answer)
        for name, code in (("own", 200), ("other", 403)):
            answer = await self.agent.delete(self.core("pods", name), {"gracePeriodSeconds": 0})
            self.assertEqual(answer.code, code, answer)

    async def test_tokens(self) -> None:
        """It asks for tokens of the accounts of its pods, bound to them."""
        await self.registered()
        pod = await self.running("own", self.name)
        path = self.core("serviceaccounts", "default", "token")
        bound = {"apiVersion": "v1", "kind": "Pod", "name": "own", "uid": pod["metadata"]["uid"]}
        await self.seen(self.core("serviceaccounts", "default", "token"))
        for reference, code, why in (
            (bound, 201, ""),
            (None, 403, "node requested token not bound to a pod"),
            ({**bound, "uid": ""}, 403, "node requested token with a pod binding without a uid"),
            ({**bound, "uid": "u"}, 403, "the UID in the bound object reference (u) does not match"),
            ({**bound, "name": "away"}, 404, 'pods "away" not found'),
        ):
            answer = await self.agent.post(path, {"spec": {"boundObjectRef": reference}})
            self.assertEqual(answer.code, code, answer)
            self.assertIn(why, answer.json.get("message", ""))

    async def seen(self, path: str) -> None:
        """Wait until the authorizer knows that the pod is there."""
        for _ in range(100):
            answer = await self.agent.post(path, {"spec": {}})
            if "no relationship found" not in answer.json.get("message", ""):
                return
            await deferLater(reactor, 0.05)
        self.fail("the node is never allowed to ask")

    async def test_leases(self) -> None:
        """It holds its own lease and describes its own drivers."""
        for path in (LEASES, CSI_NODES):
            spec: Object = {"drivers": []} if path == CSI_NODES else {"holderIdentity": self.name}
            own = {"metadata": {"name": self.name}, "spec": spec}
            self.assertEqual((await self.agent.post(path, own)).code, 201)
            answer = await self.agent.post(path, {"metadata": {"name": self.unique("other")}, "spec": spec})
            self.assertEqual(answer.code, 403, answer)
            self.assertIn("with the same name as the requesting node", answer.json["message"])
            self.assertEqual((await self.agent.delete(f"{path}/{self.name}")).code, 200)

    async def test_nameless(self) -> None:
        """A user in the group who is not a node writes nothing, whatever else they may."""
        user = self.unique("someone")
        binding = {
            "metadata": {"name": user},
            "roleRef": {"apiGroup": "rbac.authorization.orch.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": "rbac.authorization.orch.io", "kind": "User", "name": user}],
        }
        await self.created("/apis/rbac.authorization.orch.io/v1/clusterrolebindings", binding)
        answer = await self.login(user, "system:nodes").post(self.core("configmaps"), {"metadata": {"name": "m"}})
        self.forbidden(answer, "configmaps", "m", f'could not determine node from user "{user}"')
        answer = await self.login(user, "people").post(self.core("configmaps"), {"metadata": {"name": "m"}})
        self.assertEqual(answer.code, 201, answer)
