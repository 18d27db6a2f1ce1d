"""Node authorization: an agent may read the objects that its pods refer to, and nothing else."""
# covers: orchtw.authz.node_graph, orchtw.authz.node_references

from __future__ import annotations

from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.authz.decision import ALLOWED, NO_OPINION, Decision, UserRules
from orchtw.authz.node import NodeAuthorizer
from orchtw.authz.node_graph import SLICE_S, NodeGraph
from orchtw.authz.node_references import of_pod, of_volume
from orchtw.naming.naming import Naming
from orchtw.request import RequestInfo, UserInfo
from orchtw.watch.entry import Entry
from orchtw.watch.event_log import Event
from orchtw.wire.objects import Object

UNRELATED = "no relationship found between node 'n1' and this object"


class Cached:
    """A stored resource and its cache, in memory."""

    def __init__(self) -> None:
        self.cache = self
        self.field_names = ("spec.nodeName",)
        self.objects: dict[str, Object] = {}
        self.entries: dict[str, Entry] = {}
        self.followers: list[Any] = []
        self.loads = 0
        self.on_load: Callable[[], object] = lambda: None

    def put(self, key: str, obj: Object | None) -> None:
        """Create, change or delete."""
        old, new = self.entries.pop(key, None), None
        if obj is not None:
            namespace, _, name = key.rpartition("/")
            node = obj.get("spec", {}).get("nodeName", "")
            new = Entry(key, namespace, name, 1, {}, (node,), b"")
            self.entries[key], self.objects[key] = new, obj
        for follower in self.followers:
            follower.take(Event(1, key, old, new))

    def get(self, key: str) -> Entry | None:
        return self.entries.get(key)

    def snapshot(self) -> list[Entry]:
        return list(self.entries.values())

    def follow(self, follower: Any) -> None:
        self.followers.append(follower)

    def leave(self, follower: Any) -> None:
        self.followers.remove(follower)

    def load(self, entry: Entry) -> Object:
        self.loads += 1
        self.on_load()
        return self.objects[entry.key]


def pod(node: str = "n1", name: str = "p", **spec: Any) -> Object:
    """A pod on a node."""
    return {"metadata": {"namespace": "ns", "name": name}, "spec": {"nodeName": node, **spec}}


def secret(name: str) -> Object:
    """Return a pod's spec that refers to a secret."""
    return {"volumes": [{"name": "v", "secret": {"secretName": name}}]}


def node(name: str = "n1") -> UserInfo:
    """The user of a node's agent."""
    return UserInfo(name=f"system:node:{name}", groups=("system:nodes", "system:authenticated"))


def info(verb: str, resource: str, name: str = "", namespace: str = "ns", group: str = "") -> RequestInfo:
    """Return the information of a request; `resource` may have a subresource."""
    plural, _, subresource = resource.partition("/")
    return RequestInfo(
        is_resource=True, verb=verb, path="", group=group, version="v1", namespace=namespace, resource=plural,
        subresource=subresource, name=name,
    )  # fmt: skip


class NodeCase(SynchronousTestCase):
    naming = Naming.orch()

    def setUp(self) -> None:
        self.clock = Clock()
        self.stored = {plural: Cached() for plural in ("pods", "persistentvolumes", "volumeattachments")}
        self.pods, self.volumes = self.stored["pods"], self.stored["persistentvolumes"]

    def start(self) -> NodeAuthorizer:
        def stored_target(_group: str, _version: str, plural: str) -> Any:
            return SimpleNamespace(stored=self.stored[plural])

        targets: Any = SimpleNamespace(stored_target=stored_target)
        self.graph = NodeGraph(targets, self.naming, self.clock)
        self.graph.startService()
        self.addCleanup(self.graph.stopService)
        return NodeAuthorizer(self.graph, self.naming)

    def ask(self, authorizer: NodeAuthorizer, asked: RequestInfo, name: str = "n1") -> Decision:
        decision = authorizer.authorize(node(name), asked)
        assert isinstance(decision, Decision)
        return decision


class ReferenceTests(SynchronousTestCase):
    def test_pod(self) -> None:
        """A pod refers to its account, secrets, configmaps and claims wherever it names them (reference AUTHZ-31)."""
        container = {
            "envFrom": [{"secretRef": {"name": "s1"}}, {"configMapRef": {"name": "c1"}}],
            "env": [
                {"name": "A", "value": "x"},
                {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s2", "key": "k"}}},
                {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "c2", "key": "k"}}},
            ],
        }
        volumes = [
            {"name": "a", "secret": {"secretName": "s3"}},
            {"name": "b", "configMap": {"name": "c3"}},
            {"name": "c", "projected": {"sources": [{"secret": {"name": "s4"}}, {"configMap": {"name": "c4"}}]}},
            {"name": "d", "persistentVolumeClaim": {"claimName": "v1"}},
            {"name": "e", "ephemeral": {"volumeClaimTemplate": {}}},
            {"name": "f", "azureFile": {"secretName": "s5"}},
            {"name": "g", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "s6"}}},
            {"name": "h", "emptyDir": {}},
            *(
                {"name": kind, kind: {"secretRef": {"name": f"s-{kind}"}}}
                for kind in ("cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos")
            ),
        ]
        found = of_pod(
            pod(
                serviceAccountName="robot",
                imagePullSecrets=[{"name": "s7"}, {}],
                containers=[container],
                initContainers=[{"envFrom": [{"secretRef": {"name": "s8"}}]}],
                ephemeralContainers=[{"envFrom": [{"configMapRef": {"name": "c5"}}]}],
                volumes=volumes,
            )
        )
        kinds = ("cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos")
        names = {
            "secrets": {*(f"s{number}" for number in range(1, 9)), *(f"s-{kind}" for kind in kinds)},
            "configmaps": {f"c{number}" for number in range(1, 6)},
            "persistentvolumeclaims": {"v1", "p-e"},
            "serviceaccounts": {"robot"},
        }
        self.assertEqual(found, {(kind, "ns", name) for kind, every in names.items() for name in every})

    def test_volume(self) -> None:
        """A volume has secrets that agents use: with a claim, in its namespace or their own (reference AUTHZ-31)."""
        claim = {"namespace": "ns", "name": "c"}
        csi = {
            "nodeStageSecretRef": {"name": "s", "namespace": "x"},
            "controllerPublishSecretRef": {"name": "t", "namespace": "x"},
        }
        for spec, secrets in (
            ({"csi": csi}, {("secrets", "x", "s")}),
            ({"rbd": {"secretRef": {"name": "s"}}}, {("secrets", "ns", "s")}),
            ({"cinder": {"secretRef": {"name": "s"}}}, set()),
            ({"azureFile": {"secretName": "s"}}, {("secrets", "ns", "s")}),
            ({"azureFile": {"secretName": "s", "secretNamespace": "x"}}, {("secrets", "x", "s")}),
            ({"hostPath": {"path": "/x"}}, set()),
        ):
            found = of_volume({"spec": {"claimRef": claim, **spec}})
            self.assertEqual(found, (("persistentvolumeclaims", "ns", "c"), secrets))
            self.assertEqual(of_volume({"spec": spec}), (None, frozenset()))


class RuleTests(NodeCase):
    def test_others(self) -> None:
        """A non-node user gets no opinion; a node without a name gets the reason (reference AUTHZ-30, AUTHZ-33)."""
        authorizer = self.start()
        for user in (
            UserInfo(name="bob", groups=("system:nodes",)),
            UserInfo(name="system:node:n1", groups=("system:authenticated",)),
        ):
            self.assertEqual(authorizer.authorize(user, info("get", "nodes")), NO_OPINION)
            self.assertEqual(authorizer.rules_for(user, "ns"), UserRules())
        self.assertEqual(
            authorizer.authorize(node(""), info("get", "nodes")),
            Decision(None, 'unknown node for user "system:node:"'),
        )
        rules = authorizer.rules_for(node(), "ns")
        expected = (True, "node authorizer does not support user rule resolution")
        self.assertEqual((rules.incomplete, rules.error), expected)

    def test_common_rules(self) -> None:
        """The permissions common to all nodes are those of role system:node (reference ROLE-6, AUTHZ-32)."""
        authorizer = self.start()
        for asked in (
            info("list", "nodes", namespace=""), info("patch", "nodes/status", "n2", ""),
            info("watch", "pods", namespace=""), info("update", "pods/status", "p"),
            info("create", "pods/eviction", "p"), info("create", "events"), info("get", "endpoints", "e"),
            info("create", "tokenreviews", namespace="", group="authentication.orch.io"),
            info("list", "runtimeclasses", namespace="", group="node.orch.io"),
        ):  # fmt: skip
            self.assertEqual(self.ask(authorizer, asked), ALLOWED, asked)
        for asked in (
            info("delete", "nodes", "n1", ""), info("update", "pods", "p"), info("list", "endpoints"),
            info("get", "pods/log", "p"), info("list", "deployments", group="apps"),
            info("get", "pods", group="apps"),
            RequestInfo(is_resource=False, verb="get", path="/metrics"),
        ):  # fmt: skip
            self.assertEqual(self.ask(authorizer, asked), NO_OPINION, asked)

    def test_reasons(self) -> None:
        """A refusal gives its reason, word for word (reference AUTHZ-33)."""
        storage, leases = "storage.orch.io", "coordination.orch.io"
        authorizer = self.start()
        for asked, why in (
            (info("create", "secrets", "s"), "can only read resources of this type"),
            (info("get", "configmaps/x", "c"), "cannot read subresource"),
            (info("list", "secrets", "s", ""), "can only read namespaced object of this type"),
            (info("list", "secrets"), "No Object name found"),
            (info("get", "secrets", "s"), UNRELATED),
            (info("list", "persistentvolumeclaims", "c"), "can only get individual resources of this type"),
            (info("get", "persistentvolumes/status", "v", ""), "cannot get subresource"),
            (info("get", "persistentvolumeclaims/status", "c"), "can only get/update/patch this type"),
            (info("get", "volumeattachments", "a", "", storage), UNRELATED),
            (info("get", "serviceaccounts", "a"), "can only create tokens for individual service accounts"),
            (info("create", "serviceaccounts", "a"), "can only create token subresource of serviceaccount"),
            (info("create", "serviceaccounts/token", "a"), UNRELATED),
            (
                info("list", "leases", group=leases),
                "can only get, create, update, patch, or delete a node lease",
            ),
            (
                info("get", "leases", "n1", group=leases),
                'can only access leases in the "orch-node-lease" system namespace',
            ),
            (
                info("get", "leases", "n2", "orch-node-lease", leases),
                "can only access node lease with the same name as the requesting node",
            ),
            (
                info("list", "csinodes", "", "", storage),
                "can only get, create, update, patch, or delete a CSINode",
            ),
            (info("get", "csinodes/x", "n1", "", storage), "cannot authorize CSINode subresources"),
            (
                info("update", "csinodes", "n2", "", storage),
                "can only access CSINode with the same name as the requesting node",
            ),
        ):
            self.assertEqual(self.ask(authorizer, asked), Decision(None, why), asked)

    def test_own_objects(self) -> None:
        """A node has its own Lease and CSINode (reference AUTHZ-32)."""
        authorizer = self.start()
        for verb in ("get", "create", "update", "patch", "delete"):
            name = "" if verb == "create" else "n1"
            lease = info(verb, "leases", name, "orch-node-lease", "coordination.orch.io")
            own = info(verb, "csinodes", name, "", "storage.orch.io")
            self.assertEqual((self.ask(authorizer, lease), self.ask(authorizer, own)), (ALLOWED, ALLOWED))


class GraphTests(NodeCase):
    def sees(self, authorizer: NodeAuthorizer, name: str = "s", node: str = "n1") -> bool | None:
        """Return the decision on a node's read of a secret: True, or None for no opinion."""
        return self.ask(authorizer, info("get", "secrets", name), node).allowed

    def test_pods(self) -> None:
        """A node may read what its pods refer to, from their arrival until they are gone (reference AUTHZ-31)."""
        self.pods.put("ns/old", pod(**secret("old")))
        authorizer = self.start()
        self.assertTrue(self.sees(authorizer, "old"))
        self.pods.put("ns/p", pod("", **secret("s")))
        self.assertIs(self.sees(authorizer), None)
        self.pods.put("ns/p", pod(**secret("s")))
        self.pods.put("ns/q", pod(name="q", **secret("s")))
        self.assertTrue(self.sees(authorizer))
        self.assertIs(self.sees(authorizer, node="n2"), None)
        for key, seen in (("ns/p", True), ("ns/q", None)):
            self.pods.put(key, None)
            self.assertIs(self.sees(authorizer), seen)

    def test_verbs_and_kinds(self) -> None:
        """Secrets and configmaps may be got, listed and watched one by one, tokens made for accounts, claims got and
        their status written (reference AUTHZ-31, AUTHZ-32).
        """
        claim = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
        volumes = [claim, {"name": "m", "configMap": {"name": "c"}}]
        self.pods.put("ns/p", pod(serviceAccountName="robot", imagePullSecrets=[{"name": "s"}], volumes=volumes))
        authorizer = self.start()
        for asked in (
            *(info(verb, "secrets", "s") for verb in ("get", "list", "watch")), info("watch", "configmaps", "c"),
            info("get", "persistentvolumeclaims", "c"), info("patch", "persistentvolumeclaims/status", "c"),
            info("create", "serviceaccounts/token", "robot"),
        ):  # fmt: skip
            self.assertEqual(self.ask(authorizer, asked), ALLOWED, asked)
            self.assertEqual(self.ask(authorizer, asked, "n2").allowed, None)

    def test_mirror_pods(self) -> None:
        """The mirror of a pod that the node made itself lets it see nothing (reference AUTHZ-31)."""
        mirror = pod(**secret("s"))
        mirror["metadata"]["annotations"] = {"orch.io/config.mirror": "x"}
        self.pods.put("ns/p", mirror)
        self.assertIs(self.sees(self.start()), None)

    def test_volumes(self) -> None:
        """By way of its claims a node sees volumes and their secrets, as they are now (reference AUTHZ-31)."""
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
        self.pods.put("ns/p", pod(volumes=volumes))
        authorizer = self.start()
        asked = info("get", "persistentvolumes", "v", "")
        claim = {"namespace": "ns", "name": "c"}
        for spec, seen in (
            ({}, None),
            ({"claimRef": claim, "rbd": {"secretRef": {"name": "s"}}}, True),
            ({"claimRef": {**claim, "name": "d"}, "rbd": {"secretRef": {"name": "s"}}}, None),
        ):
            self.volumes.put("v", {"spec": spec})
            self.assertIs(self.sees(authorizer), seen)
            self.assertIs(self.ask(authorizer, asked).allowed, seen)
        self.volumes.put("v", None)
        self.assertIs(self.ask(authorizer, asked).allowed, None)

    def test_attachments(self) -> None:
        """A node sees the attachments that are for it (reference AUTHZ-32)."""
        self.stored["volumeattachments"].put("a", {"spec": {"nodeName": "n1"}})
        authorizer = self.start()
        asked = info("get", "volumeattachments", "a", "", "storage.orch.io")
        self.assertEqual([self.ask(authorizer, asked, name).allowed for name in ("n1", "n2")], [True, None])

    def test_reads_once(self) -> None:
        """A pod is read when its node is asked about, once, whatever is written of it (reference AUTHZ-38)."""
        authorizer = self.start()
        for number in range(10):
            self.pods.put("ns/p", pod(**secret("s"), number=number))
        self.assertEqual(self.pods.loads, 0)
        for _ in range(3):
            self.sees(authorizer)
            self.sees(authorizer, "other")
        self.assertEqual(self.pods.loads, 1)

    def test_slices(self) -> None:
        """Many pods are indexed in slices: the first question waits, no other request does (reference AUTHZ-38)."""
        for number in range(10):
            self.pods.put(f"ns/p{number}", pod(name=f"p{number}", **secret(f"s{number}")))
        authorizer = self.start()
        self.pods.on_load = lambda: self.clock.advance(SLICE_S / 2)
        waiting: list[Deferred[Decision]] = [
            Deferred.fromCoroutine(authorizer.authorize(node(), info("get", "secrets", name)))  # type: ignore[arg-type]
            for name in ("s9", "no")
        ]
        self.assertEqual(self.pods.loads, 2)
        self.pods.on_load = lambda: None
        self.clock.pump([SLICE_S] * 3)
        self.assertEqual(self.successResultOf(waiting[0]), ALLOWED)
        self.assertEqual(self.successResultOf(waiting[1]), Decision(None, UNRELATED))

    def test_unreadable(self) -> None:
        """A pod that cannot be read is not the end of the others."""

        def fail() -> None:
            raise ValueError("damaged")

        self.pods.put("ns/p", pod(**secret("s")))
        authorizer = self.start()
        self.pods.on_load = fail
        self.assertIs(self.sees(authorizer), None)
        self.flushLoggedErrors(ValueError)
        self.pods.on_load = lambda: None
        self.pods.put("ns/q", pod(name="q", **secret("s")))
        self.assertTrue(self.sees(authorizer))

    def test_against_all_pods(self) -> None:
        """After any changes the answer is the one that a look at all pods gives (reference AUTHZ-38)."""
        random, authorizer = Random(12), self.start()
        for _ in range(400):
            name, on = f"p{random.randrange(6)}", random.choice(("", "n1", "n2"))
            old = self.pods.objects.get(f"ns/{name}") if f"ns/{name}" in self.pods.entries else None
            if old is not None and (random.random() < 0.5 or old["spec"]["nodeName"]):
                self.pods.put(f"ns/{name}", None)
            else:
                self.pods.put(f"ns/{name}", pod(on, name, **secret(f"s{random.randrange(3)}")))
            for wanted, where in ((f"s{random.randrange(3)}", random.choice(("n1", "n2"))),):
                expected = any(
                    self.pods.objects[key]["spec"]["nodeName"] == where
                    and self.pods.objects[key]["spec"]["volumes"][0]["secret"]["secretName"] == wanted
                    for key in self.pods.entries
                )
                self.assertIs(self.sees(authorizer, wanted, where), True if expected else None)
