"""NodeRestriction (reference PLUG-41 to PLUG-44)."""
# covers: orchtw.admission.plugins.node_restriction.nodes, orchtw.admission.plugins.node_restriction.pods

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Generic, TypeVar

from twisted.internet.defer import fail
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.attributes import Attributes
from orchtw.admission.chain import Chain
from orchtw.admission.plugins.node_restriction.plugin import NodeRestriction
from orchtw.admission.plugins.node_restriction.records import PodRecord
from orchtw.errors import Forbidden, NotFound, Timeout
from orchtw.naming.naming import Naming
from orchtw.request import UserInfo
from orchtw.wire.objects import Object
from tests.admission.asked import NAMING, attributes, pass_chain

T = TypeVar("T")

NODE = UserInfo(name="system:node:n", groups=("system:nodes", "system:authenticated"))
SPACE = {"namespace": "ns"}
COORDINATION, STORAGE, POLICY = "coordination.orch.io/v1", "storage.orch.io/v1", "policy/v1"
AUTHENTICATION = "authentication.orch.io/v1"
MIRROR = "orch.io/config.mirror"
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "n-uid", "controller": True}


class Known(Generic[T]):
    """Objects by name, in place of their cache."""

    def __init__(self, **values: T) -> None:
        self._values = values

    def get(self, namespace: str, name: str) -> T | None:
        return self._values.get(name)

    def due(self) -> Awaitable[None] | None:
        return None


def plugin(naming: Naming = NAMING) -> NodeRestriction:
    """Return the plugin where there are a node n, a pod `own` on it, and a pod `other` elsewhere."""
    pods = Known(own=PodRecord("own-uid", "n"), other=PodRecord("other-uid", "m"))
    return NodeRestriction(naming, pods, Known(n="n-uid"))


def pod(node: str = "n", owners: Any = (OWNER,), annotations: Any = (MIRROR,), **spec: Any) -> Object:
    """A pod as the agent mirrors it."""
    meta = {"name": "x", "annotations": dict.fromkeys(annotations, "1"), "ownerReferences": list(owners)}
    return {"metadata": meta, "spec": {"nodeName": node, "containers": [{"name": "c"}], **spec}}


def node(labels: Any = (), **more: Any) -> Object:
    """Return the Node of a name."""
    return {"metadata": {"name": "n", "labels": dict(labels)}, "spec": {}, **more}


def volume(**source: Any) -> Object:
    return {"volumes": [{"name": "v", **source}]}


def container(**more: Any) -> Object:
    return {"containers": [{"name": "c", **more}]}


def token(**bound: Any) -> Attributes:
    obj = {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", **bound} if bound else None}}
    return attributes("CREATE", "serviceaccounts", subresource="token", obj=obj, **SPACE)


def claim(**status: Any) -> Object:
    return {"metadata": {"name": "x", "resourceVersion": "1"}, "spec": {"volumeName": "v"}, "status": status}


CREATE_POD: list[tuple[Object, str]] = [
    (pod(), ""),
    (pod(owners=[{**OWNER, "blockOwnerDeletion": False}]), ""),
    (
        pod(annotations=()),
        f'pod does not have "{MIRROR}" annotation, node "n" can only create mirror pods',
    ),
    (pod("m"), 'node "n" can only create pods with spec.nodeName set to itself'),
    (pod(""), 'node "n" can only create pods with spec.nodeName set to itself'),
    (pod(owners=()), 'node "n" can only create pods with an owner reference set to itself'),
    (
        pod(owners=(OWNER, OWNER)),
        'node "n" can only create pods with a single owner reference set to itself',
    ),
    (
        pod(owners=[{**OWNER, "kind": "Pod"}]),
        'node "n" can only create pods with an owner reference set to itself',
    ),
    (
        pod(owners=[{**OWNER, "name": "m"}]),
        'node "n" can only create pods with an owner reference set to itself',
    ),
    (
        pod(owners=[{**OWNER, "apiVersion": "v2"}]),
        'node "n" can only create pods with an owner reference set to itself',
    ),
    (
        pod(owners=[{**OWNER, "controller": False}]),
        'node "n" can only create pods with a controller owner reference set to itself',
    ),
    (
        pod(owners=[{**OWNER, "blockOwnerDeletion": True}]),
        'node "n" must not set blockOwnerDeletion on an owner reference',
    ),
    (pod(owners=[{**OWNER, "uid": "u"}]), "node n UID mismatch: expected u got n-uid"),
    (pod(serviceAccountName="a"), 'node "n" can not create pods that reference a service account'),
    (pod(imagePullSecrets=[{"name": "s"}]), 'node "n" can not create pods that reference secrets'),
    (pod(**volume(secret={"secretName": "s"})), 'node "n" can not create pods that reference secrets'),
    (
        pod(**volume(projected={"sources": [{"secret": {"name": "s"}}]})),
        'node "n" can not create pods that reference secrets',
    ),
    (
        pod(**container(envFrom=[{"secretRef": {"name": "s"}}])),
        'node "n" can not create pods that reference secrets',
    ),
    (
        pod(initContainers=[{"name": "i", "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}]}]),
        'node "n" can not create pods that reference secrets',
    ),
    (pod(**volume(configMap={"name": "m"})), 'node "n" can not create pods that reference configmaps'),
    (
        pod(**container(envFrom=[{"configMapRef": {"name": "m"}}])),
        'node "n" can not create pods that reference configmaps',
    ),
    (
        pod(**container(env=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "m"}}}])),
        'node "n" can not create pods that reference configmaps',
    ),
    (
        pod(**volume(persistentVolumeClaim={"claimName": "c"})),
        'node "n" can not create pods that reference persistentvolumeclaims',
    ),
    (pod(**volume(hostPath={"path": "/"}), hostNetwork=True), ""),
]

ON_OTHER: dict[str, Any] = {"old": pod("m")}
PODS: list[tuple[Attributes, str]] = [
    (attributes("DELETE", "pods", old=pod(), **SPACE), ""),
    (
        attributes("DELETE", "pods", **ON_OTHER, **SPACE),
        'node "n" can only delete pods with spec.nodeName set to itself',
    ),
    (
        attributes("UPDATE", "pods", old=pod(), obj=pod(), **SPACE),
        'unexpected operation "UPDATE", node "n" can only create and delete mirror pods',
    ),
    (attributes("UPDATE", "pods", subresource="status", old=pod(), obj=pod(), **SPACE), ""),
    (
        attributes("UPDATE", "pods", subresource="status", obj=pod(), **ON_OTHER, **SPACE),
        'node "n" can only update pod status for pods with spec.nodeName set to itself',
    ),
    (
        attributes(
            "UPDATE", "pods", subresource="status", old=pod(), obj={"metadata": {"labels": {"a": "b"}}}, **SPACE
        ),
        'node "n" cannot update labels through pod status',
    ),
    (
        attributes("CREATE", "pods", subresource="status", obj=pod(), **SPACE),
        'unexpected operation "CREATE"',
    ),
    (attributes("CREATE", "pods", subresource="eviction", obj={}, name="own", **SPACE), ""),
    (
        attributes("CREATE", "pods", subresource="eviction", obj={"metadata": {"name": "own"}}, name="", **SPACE),
        "",
    ),
    (
        attributes("CREATE", "pods", subresource="eviction", obj={}, name="", **SPACE),
        "could not determine pod from request data",
    ),
    (
        attributes("CREATE", "pods", subresource="eviction", obj={}, name="other", **SPACE),
        "node n can only evict pods with spec.nodeName set to itself",
    ),
    (
        attributes("UPDATE", "pods", subresource="eviction", obj={}, name="own", **SPACE),
        "unexpected operation UPDATE",
    ),
    (
        attributes("CREATE", "pods", subresource="binding", obj={}, name="own", **SPACE),
        "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed",
    ),
    (
        attributes("UPDATE", "pods", subresource="ephemeralcontainers", old=pod(), obj=pod(), name="own", **SPACE),
        "unexpected pod subresource \"ephemeralcontainers\", only 'status' and 'eviction' are allowed",
    ),
]

TAINT = {"key": "k", "effect": "NoSchedule"}
FREE = (
    *("app", "example.com/a", "orch.io/hostname", "orch.io/arch", "orch.io/os", "beta.orch.io/arch"),
    *("beta.orch.io/os", "beta.orch.io/instance-type", "node.orch.io/instance-type", "node.orch.io/any"),
    *("a.node.orch.io/any", "orchlet.orch.io/any", "a.orchlet.orch.io/any", "notorch.io/a"),
    *("failure-domain.beta.orch.io/region", "failure-domain.beta.orch.io/zone"),
    *("topology.orch.io/region", "topology.orch.io/zone"),
)
RESERVED = (
    *("a.node-restriction.orch.io/x", "a.orch.io/b", "beta.orch.io/other", "node-restriction.orch.io/x"),
    *("node-role.orch.io/master", "orch.io/other", "topology.orch.io/other"),
)
NODES: list[tuple[Attributes, str]] = [
    *((attributes("CREATE", "nodes", name="n", obj=node({label: "v"})), "") for label in FREE),
    (
        attributes("CREATE", "nodes", name="n", obj=node(dict.fromkeys((*FREE, *RESERVED), "v"))),
        f'node "n" is not allowed to set the following labels: {", ".join(RESERVED)}',
    ),
    (attributes("CREATE", "nodes", name="n", obj=node(spec={"taints": [TAINT]})), ""),
    (
        attributes("CREATE", "nodes", name="n", obj=node(spec={"configSource": {}})),
        'node "n" is not allowed to create pods with a non-nil configSource',
    ),
    (
        attributes("CREATE", "nodes", name="n", obj={"metadata": {"name": "n", "ownerReferences": [OWNER]}}),
        'node "n" is not allowed to modify ownerReferences',
    ),
    (attributes("CREATE", "nodes", name="m", obj=node()), 'node "n" is not allowed to modify node "m"'),
    (
        attributes("UPDATE", "nodes", name="m", obj=node(), old=node()),
        'node "n" is not allowed to modify node "m"',
    ),
    (
        attributes("UPDATE", "nodes", name="m", subresource="status", obj=node(), old=node()),
        'node "n" is not allowed to modify node "m"',
    ),
    (attributes("DELETE", "nodes", name="m", old=node()), 'node "n" is not allowed to modify node "m"'),
    (attributes("DELETE", "nodes", name="n", old=node()), ""),
    (attributes("UPDATE", "nodes", name="n", obj=node({"app": "a"}), old=node({"app": "b"})), ""),
    (
        attributes("UPDATE", "nodes", name="n", obj=node({"orch.io/other": "a"}), old=node({"orch.io/other": "a"})),
        "",
    ),
    *(
        (
            attributes("UPDATE", "nodes", name="n", subresource=sub, obj=node(new), old=node(old)),
            "is not allowed to modify labels: orch.io/other",
        )
        for sub, new, old in (
            ("", {"orch.io/other": "a"}, {"orch.io/other": "b"}),
            ("", {"orch.io/other": "a"}, {}),
            ("status", {}, {"orch.io/other": "a"}),
        )
    ),
    (
        attributes("UPDATE", "nodes", name="n", obj=node(), old=node(spec={"taints": [TAINT]})),
        'node "n" is not allowed to modify taints',
    ),
    (
        attributes(
            "UPDATE", "nodes", name="n", obj=node(spec={"taints": [TAINT]}), old=node(spec={"taints": [TAINT]})
        ),
        "",
    ),
    (
        attributes("UPDATE", "nodes", name="n", obj=node(spec={"configSource": {}}), old=node()),
        'node "n" is not allowed to update configSource to a new non-nil configSource',
    ),
    (attributes("UPDATE", "nodes", name="n", obj=node(), old=node(spec={"configSource": {}})), ""),
    (
        attributes("UPDATE", "nodes", name="n", obj={"metadata": {"ownerReferences": [OWNER]}}, old=node()),
        'node "n" is not allowed to modify ownerReferences',
    ),
]

FIELDS = "status.capacity and status.conditions"
OTHERS: list[tuple[Attributes, str]] = [
    (attributes("UPDATE", "persistentvolumeclaims", old=claim(), obj=claim()), "may only update PVC status"),
    (attributes("CREATE", "persistentvolumeclaims", obj=claim()), "may only update PVC status"),
    (attributes("DELETE", "persistentvolumeclaims", old=claim()), "may only update PVC status"),
    (
        attributes(
            "UPDATE",
            "persistentvolumeclaims",
            subresource="status",
            old={**claim(phase="Bound"), "metadata": {"name": "x", "resourceVersion": "2", "managedFields": []}},
            obj=claim(phase="Bound", capacity={"storage": "1Gi"}, conditions=[{"type": "Resizing"}]),
        ),
        "",
    ),
    (
        attributes(
            "UPDATE",
            "persistentvolumeclaims",
            subresource="status",
            old=claim(phase="Bound"),
            obj={**claim(phase="Lost"), "metadata": {"name": "x", "labels": {"a": "b"}}},
        ),
        f'node "n" is not allowed to update fields other than {FIELDS}: metadata.labels, status.phase',
    ),
    (
        attributes("CREATE", "persistentvolumeclaims", subresource="status", obj=claim()),
        'unexpected operation "CREATE"',
    ),
    (token(name="own", uid="own-uid"), ""),
    (token(), "node requested token not bound to a pod"),
    (token(name=""), "node requested token not bound to a pod"),
    (token(name="own", kind="Secret"), "node requested token not bound to a pod"),
    (token(name="own", apiVersion="v2"), "node requested token not bound to a pod"),
    (token(name="own"), "node requested token with a pod binding without a uid"),
    (
        token(name="own", uid="u"),
        "the UID in the bound object reference (u) does not match the UID in record (own-uid). "
        "The object might have been deleted and then recreated",
    ),
    (token(name="other", uid="other-uid"), "node requested token bound to a pod scheduled on a different node"),
    (attributes("UPDATE", "serviceaccounts", obj={}, old={}), ""),
    (
        attributes("CREATE", "leases", COORDINATION, namespace="default", name="n", obj={}),
        'can only access leases in the "orch-node-lease" system namespace',
    ),
    *(
        (attributes("UPDATE", "leases", COORDINATION, namespace="orch-node-lease", name=name, obj={}, old={}), why)
        for name, why in (
            ("n", ""),
            ("m", "can only access node lease with the same name as the requesting node"),
        )
    ),
    (
        attributes("CREATE", "leases", COORDINATION, namespace="orch-node-lease", name="", obj={"metadata": {}}),
        "can only access node lease with the same name as the requesting node",
    ),
    (attributes("DELETE", "leases", COORDINATION, namespace="orch-node-lease", name="n", old={}), ""),
    (attributes("CREATE", "csinodes", STORAGE, name="n", obj={}), ""),
    (
        attributes("CREATE", "csinodes", STORAGE, name="m", obj={}),
        "can only access CSINode with the same name as the requesting node",
    ),
    (
        attributes("DELETE", "csinodes", STORAGE, name="m", old={}),
        "can only access CSINode with the same name as the requesting node",
    ),
    (attributes("CREATE", "configmaps", obj={}, **SPACE), ""),
    (attributes("CREATE", "events", obj={}, **SPACE), ""),
]


class NodeRestrictionTests(SynchronousTestCase):
    """The plugin in a chain."""

    def setUp(self) -> None:
        self.chain = Chain([plugin()])

    def check(self, asked: Attributes, why: str, user: UserInfo = NODE) -> None:
        """Check that the user is refused for this reason, or not at all."""
        asked.user = user
        done = pass_chain(self.chain, asked)
        if not why:
            self.assertIsNone(self.successResultOf(done))
            return
        message = self.failureResultOf(done, Forbidden).value.message
        self.assertEqual(message.split(" is forbidden: ", 1)[1], why)

    def test_created_pods(self) -> None:
        """A node makes mirror pods of what it runs; they refer to nothing but the node (reference PLUG-42)."""
        for obj, why in CREATE_POD:
            self.check(attributes("CREATE", "pods", obj=obj, **SPACE), why)

    def test_pods(self) -> None:
        """It deletes and evicts its own, and says how they are (reference PLUG-42)."""
        for asked, why in PODS:
            self.check(asked, why)

    def test_nodes(self) -> None:
        """It describes itself, without what draws work to it (reference PLUG-43)."""
        for asked, why in NODES:
            self.check(asked, why)

    def test_others(self) -> None:
        """Claims' status, tokens of its pods, its lease and its CSINode (reference PLUG-44)."""
        for asked, why in OTHERS:
            self.check(asked, why)

    def test_missing(self) -> None:
        """A pod or node that the rule is about and that is not there is a 404 of its own."""
        alone = Chain([plugin()])
        user = UserInfo(name="system:node:away", groups=("system:nodes",))
        mirror = pod("away", owners=[{**OWNER, "name": "away"}])
        for asked, message in (
            (attributes("CREATE", "pods", subresource="eviction", obj={}, name="p", **SPACE), 'pods "p" not found'),
            (token(name="p", uid="u"), 'pods "p" not found'),
            (attributes("CREATE", "pods", obj=mirror, **SPACE), 'nodes "away" not found'),
        ):
            asked.user = user
            failure = self.failureResultOf(pass_chain(alone, asked), NotFound)
            self.assertEqual(failure.value.message, message)

    def test_not_ready(self) -> None:
        """While the caches lag, the plugin is not ready, which is a 403 (reference ADM-7)."""

        class Lagging(Known[Any]):
            def due(self) -> Awaitable[None]:
                return fail(Timeout.future_version(5, 3))

        chain = Chain([NodeRestriction(NAMING, Lagging(), Lagging())])
        for asked in (
            attributes("CREATE", "pods", subresource="eviction", obj={}, name="own", **SPACE),
            token(name="own", uid="own-uid"),
            attributes("CREATE", "pods", obj=pod(), **SPACE),
        ):
            asked.user = NODE
            failure = self.failureResultOf(pass_chain(chain, asked), Forbidden)
            self.assertIn("not yet ready to handle request", failure.value.message)

    def test_who(self) -> None:
        """Only the group counts; a member that is not a node may write nothing (reference PLUG-41)."""
        for name in ("bob", "system:node:", "system:node"):
            user = UserInfo(name=name, groups=("system:nodes",))
            for asked in (
                attributes("UPDATE", "nodes", name="n", obj={}, old={}),
                attributes("CREATE", "configmaps", obj={}, **SPACE),
                attributes("DELETE", "secrets", old={}, **SPACE),
            ):
                self.check(asked, f'could not determine node from user "{name}"', user)
        for user in (UserInfo(name="system:node:n"), UserInfo(name="bob", groups=("system:masters",))):
            self.check(attributes("UPDATE", "nodes", name="m", obj={}, old={}), "", user)
        self.check(attributes("CONNECT", "pods", subresource="exec", obj={}, **SPACE), "")

    def test_other_vocabulary(self) -> None:
        """Both domains of the other vocabulary are reserved."""
        chain = Chain([plugin(Naming.kubernetes())])
        labels = {
            "kubernetes.io/hostname": "n",
            "node.kubernetes.io/x": "",
            "kubelet.kubernetes.io/x": "",
            "node-restriction.kubernetes.io/x": "",
            "a.k8s.io/x": "",
            "orch.io/other": "",
        }
        asked = attributes("CREATE", "nodes", name="n", obj=node(labels), user=NODE)
        message = self.failureResultOf(pass_chain(chain, asked), Forbidden).value.message
        self.assertTrue(message.endswith(": a.k8s.io/x, node-restriction.kubernetes.io/x"), message)
