"""Stored keys and values in the other vocabulary: every position, and the way there and back."""

from __future__ import annotations

from random import Random
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import StatusError
from orchtw.naming.naming import Naming
from orchtw.registry.rewriting import StoredNames
from orchtw.registry.targets import storage_prefix
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.kind_codec import KindCodec
from tests.schema.arbitrary import Arbitrary
from tests.schema.codec.envelopes import opened

ORCH, KUBERNETES = Naming.orch(), Naming.kubernetes()
EXAMPLES_PER_KIND = 12
NEUTRAL_WORDS = (
    "", "a", "orch", "orch-system", "orch.io/os", "topology.orch.io/zone", "networking.orch.io", "apps/v1",
    "networking.orch.io/v1", "system:orch-scheduler", "system:serviceaccount:orch-public:x", "orch-apiserver",
    "orch-root-ca.crt", "orch.io/metadata.name", "count/leases.coordination.orch.io", "default", "Namespace",
    "Service", "v1.node.orch.io", "orch-api-access-1", "orch.io/pvc-protection", "x.storageclass.storage.orch.io/y",
    "metadata.labels['orch.io/arch']", "orchlet", "rbac.authorization.orch.io", "ClusterRole",
)  # fmt: skip
NEUTRAL_SETS: tuple[object, ...] = (
    {},
    {"f:metadata": {"f:finalizers": {".": {}, 'v:"orch.io/pvc-protection"': {}},
                    "f:labels": {"f:orch.io/arch": {}, "f:zone": {}}}},
    {"f:status": {"f:nodeInfo": {"f:orchProxyVersion": {}, "f:osImage": {}, "f:orchletVersion": {}}}},
)  # fmt: skip


def sorted_names(*names: str) -> dict[str, str]:
    """A map as canonical dicts have it."""
    return dict.fromkeys(sorted(names), "x")


class RewritingTests(SynchronousTestCase):
    """From orch to kubernetes, and back."""

    def setUp(self) -> None:
        self.there, self.back = StoredNames(ORCH, KUBERNETES), StoredNames(KUBERNETES, ORCH)
        self.orch, self.kubernetes = Codecs(Catalogue.load(ORCH)), Codecs(Catalogue.load(KUBERNETES))

    def translated(self, key: str, obj: dict[str, Any]) -> dict[str, Any]:
        """An object of the orch vocabulary as the other store has it; checks that it comes back as it was."""
        codec = self.orch.kind(obj["apiVersion"], obj["kind"])
        value = codec.encode_envelope(codec.normalise(obj))
        moved = self.there.value(key, value)
        self.assertEqual(self.back.value(self.there.key(key), moved), value)
        self.assertEqual(self.back.key(self.there.key(key)), key)
        return opened(self.kubernetes_codec(codec), moved)

    def kubernetes_codec(self, codec: KindCodec) -> KindCodec:
        """The same kind in the other vocabulary."""
        return self.kubernetes.kind(KUBERNETES.api_version(codec.api_version), codec.kind)

    def test_there_and_back(self) -> None:
        """Any object of any stored kind made of known names comes back byte for byte, and is readable between."""
        for resource in self.orch.catalogue.resources:
            if (resource.group, resource.version) != (resource.storage_group, resource.storage_version):
                continue
            codec, random = self.orch.kind(resource.api_version, resource.kind), Random(resource.qualified)
            key = storage_prefix(resource, ORCH) + ("ns/a" if resource.namespaced else "a")
            for _ in range(EXAMPLES_PER_KIND):
                obj = codec.normalise(Arbitrary(random, NEUTRAL_WORDS, NEUTRAL_SETS).struct(codec.schema))
                value = codec.encode_envelope(obj)
                moved = self.there.value(key, value)
                opened(self.kubernetes_codec(codec), moved)
                self.assertEqual(self.back.value(key, moved), value, resource.qualified)

    def test_keys(self) -> None:
        """Names of namespaces and of the API's own objects are parts of keys; groups in them are neutral."""
        pairs = [
            ("/registry/namespaces/orch-system", "/registry/namespaces/kube-system"),
            ("/registry/pods/orch-system/orch", "/registry/pods/kube-system/orch"),
            ("/registry/services/default/orch", "/registry/services/default/kubernetes"),
            ("/registry/discovery.orch.io/endpointslices/default/orch",
             "/registry/discovery.orch.io/endpointslices/default/kubernetes"),
            ("/registry/configmaps/shop/orch-root-ca.crt", "/registry/configmaps/shop/kube-root-ca.crt"),
            ("/registry/rbac.authorization.orch.io/clusterroles/system:orch-dns",
             "/registry/rbac.authorization.orch.io/clusterroles/system:kube-dns"),
            ("/registry/apiregistration.orch.io/apiservices/v1.node.orch.io",
             "/registry/apiregistration.orch.io/apiservices/v1.node.k8s.io"),
            ("/registry/coordination.orch.io/leases/orch-system/orch-scheduler",
             "/registry/coordination.orch.io/leases/kube-system/kube-scheduler"),
            ("/elsewhere/orch-system", "/elsewhere/orch-system"),
        ]  # fmt: skip
        for orch, kubernetes in pairs:
            self.assertEqual(self.there.key(orch), kubernetes)
            self.assertEqual(self.back.key(kubernetes), orch)

    def test_pod(self) -> None:
        """Labels, selectors, tolerations, volumes and references; not environment, arguments or descriptions."""
        container = {
            "name": "orch", "image": "orch.io/image", "args": ["orch.io/os"],
            "env": [{"name": "ORCH_SERVICE_HOST", "value": "orch-system"},
                    {"name": "Z", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['orch.io/os']"}}}],
            "volumeMounts": [{"name": "orch-api-access-1", "mountPath": "/var/run/secrets/orch.io/serviceaccount"}],
        }  # fmt: skip
        sources = [{"configMap": {"name": "orch-root-ca.crt"}}]
        volume = {"name": "orch-api-access-1", "projected": {"sources": sources}}
        selector = {"key": "orch.io/metadata.name", "operator": "In", "values": ["orch-public", "shop"]}
        term = {"topologyKey": "orch.io/hostname", "namespaces": ["orch-system"],
                "namespaceSelector": {"matchExpressions": [selector]}}  # fmt: skip
        spec = {
            "containers": [container], "volumes": [volume], "nodeSelector": {"orch.io/os": "linux"},
            "tolerations": [{"key": "node.orch.io/not-ready"}],
            "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "topology.orch.io/zone", "whenUnsatisfiable": "DoNotSchedule"}],
        }  # fmt: skip
        labels = {"app.orch.io/x": "orch.io/os", "orch.io/arch": "a"}
        annotations = {"orch.io/psp": "orch-system"}
        meta = {"name": "p", "namespace": "orch-system", "labels": labels, "annotations": annotations}
        obj = self.translated(
            "/registry/pods/orch-system/p", {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        )
        self.assertEqual(obj["metadata"]["namespace"], "kube-system")
        self.assertEqual(obj["metadata"]["labels"], {"app.orch.io/x": "orch.io/os", "kubernetes.io/arch": "a"})
        self.assertEqual(obj["metadata"]["annotations"], {"kubernetes.io/psp": "orch-system"})
        new = obj["spec"]
        self.assertEqual(new["nodeSelector"], {"kubernetes.io/os": "linux"})
        self.assertEqual(new["tolerations"][0]["key"], "node.kubernetes.io/not-ready")
        self.assertEqual(new["topologySpreadConstraints"][0]["topologyKey"], "topology.kubernetes.io/zone")
        self.assertEqual(new["volumes"][0]["projected"]["sources"][0]["configMap"]["name"], "kube-root-ca.crt")
        (affinity,) = new["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        self.assertEqual(affinity["topologyKey"], "kubernetes.io/hostname")
        self.assertEqual(affinity["namespaces"], ["kube-system"])
        expression = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["kube-public", "shop"]}
        self.assertEqual(affinity["namespaceSelector"]["matchExpressions"], [expression])
        found = new["containers"][0]
        self.assertEqual((found["image"], found["args"]), (container["image"], container["args"]))
        self.assertEqual(found["env"][0], container["env"][0])
        self.assertEqual(found["env"][1]["valueFrom"]["fieldRef"]["fieldPath"], "metadata.labels['kubernetes.io/os']")
        self.assertEqual(found["volumeMounts"][0]["name"], "kube-api-access-1")

    def test_access(self) -> None:
        """Rules, subjects and references of RBAC."""
        api_version = "rbac.authorization.orch.io/v1"
        subjects = [
            {"kind": "User", "apiGroup": "rbac.authorization.orch.io", "name": "system:orch-scheduler"},
            {"kind": "ServiceAccount", "namespace": "orch-system", "name": "orch-dns"},
        ]
        ref = {"apiGroup": "rbac.authorization.orch.io", "kind": "ClusterRole", "name": "system:orch-scheduler"}
        binding = self.translated(
            "/registry/rbac.authorization.orch.io/clusterrolebindings/b",
            {"apiVersion": api_version, "kind": "ClusterRoleBinding", "metadata": {"name": "b"},
             "subjects": subjects, "roleRef": ref},
        )  # fmt: skip
        group = "rbac.authorization.k8s.io"
        self.assertEqual(binding["apiVersion"], f"{group}/v1")
        self.assertEqual(binding["roleRef"]["apiGroup"], group)
        self.assertEqual(binding["roleRef"]["name"], "system:kube-scheduler")
        self.assertEqual(binding["subjects"], [
            {"kind": "User", "apiGroup": group, "name": "system:kube-scheduler"},
            {"kind": "ServiceAccount", "name": "orch-dns", "namespace": "kube-system"},
        ])  # fmt: skip
        rules = [{"verbs": ["get"], "apiGroups": ["", "networking.orch.io", "networking.k8s.io.example"],
                  "resources": ["orch"], "resourceNames": ["orch-system", "orch"]}]  # fmt: skip
        role = self.translated(
            "/registry/rbac.authorization.orch.io/clusterroles/r",
            {"apiVersion": api_version, "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": rules},
        )
        self.assertEqual(role["rules"][0]["apiGroups"], ["", "networking.k8s.io", "networking.k8s.io.example"])
        self.assertEqual(role["rules"][0]["resourceNames"], ["kube-system", "orch"])

    def test_ownership(self) -> None:
        """Managers that are components, apiVersions, and the steps of field sets, in order."""
        fields = {"f:metadata": {"f:labels": {"f:beta.orch.io/os": {}, "f:mine": {}, "f:orch.io/os": {}}},
                  "f:spec": {"f:taints": {}}, "f:status": {"f:nodeInfo": {"f:orchletVersion": {}}}}  # fmt: skip
        entries = [
            {"manager": name, "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
            for name in ("orchlet", "kubectl")
        ]
        info = {"orchletVersion": "v1"}
        node = self.translated(
            "/registry/nodes/n",
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "managedFields": entries},
             "status": {"nodeInfo": info}},
        )  # fmt: skip
        self.assertEqual(node["status"]["nodeInfo"]["kubeletVersion"], "v1")
        first, second = node["metadata"]["managedFields"]
        self.assertEqual((first["manager"], second["manager"]), ("kubelet", "kubectl"))
        steps = first["fieldsV1"]["f:metadata"]["f:labels"]
        self.assertEqual(list(steps), ["f:beta.kubernetes.io/os", "f:kubernetes.io/os", "f:mine"])
        self.assertEqual(first["fieldsV1"]["f:status"], {"f:nodeInfo": {"f:kubeletVersion": {}}})

    def test_owners_of_foreign_kinds(self) -> None:
        """An owner is known by its exact kind: one of the same kind in another group keeps its name."""
        name = "orch-scheduler"
        for group, kind, expected in [
            ("coordination.orch.io", "Lease", "kube-scheduler"),
            ("coordination.example.com", "Lease", name),
            ("coordination.k8s.io.example", "Lease", name),
        ]:
            owner = {"apiVersion": f"{group}/v1", "kind": kind, "name": name, "uid": "u"}
            meta = {"name": "a", "namespace": "orch-system", "ownerReferences": [owner]}
            obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
            moved = self.translated("/registry/configmaps/orch-system/a", obj)
            self.assertEqual(moved["metadata"]["ownerReferences"][0]["name"], expected, group)

    def test_own_service(self) -> None:
        """The API's own Service and the namespace's finalizer and label have their other names."""
        meta = {"name": "orch", "namespace": "default", "labels": {"component": "apiserver", "provider": "orch"}}
        service = self.translated(
            "/registry/services/default/orch", {"apiVersion": "v1", "kind": "Service", "metadata": meta}
        )
        self.assertEqual(service["metadata"]["name"], "kubernetes")
        self.assertEqual(service["metadata"]["labels"]["provider"], "kubernetes")
        namespace = self.translated(
            "/registry/namespaces/orch-system",
            {"apiVersion": "v1", "kind": "Namespace", "spec": {"finalizers": ["orch", "example.com/x"]},
             "metadata": {"name": "orch-system", "labels": {"orch.io/metadata.name": "orch-system"}}},
        )  # fmt: skip
        self.assertEqual(namespace["metadata"]["name"], "kube-system")
        self.assertEqual(namespace["metadata"]["labels"], {"kubernetes.io/metadata.name": "kube-system"})
        self.assertEqual(namespace["spec"]["finalizers"], ["kubernetes", "example.com/x"])

    def test_services_of_users(self) -> None:
        """Objects of a Service with the API's own name keep their owner, which is renamed in `default` only."""
        for namespace, expected in (("shop", "orch"), ("default", "kubernetes")):
            owner = {"apiVersion": "v1", "kind": "Service", "name": "orch", "uid": "u"}
            meta = {"name": "s", "namespace": namespace, "labels": {"orch.io/service-name": "orch"},
                    "ownerReferences": [owner]}  # fmt: skip
            found = self.translated(
                f"/registry/discovery.orch.io/endpointslices/{namespace}/s",
                {"apiVersion": "discovery.orch.io/v1", "kind": "EndpointSlice", "metadata": meta, "endpoints": [],
                 "addressType": "IPv4"},
            )["metadata"]  # fmt: skip
            self.assertEqual(found["ownerReferences"][0]["name"], expected)
            self.assertEqual(found["labels"], {"kubernetes.io/service-name": expected})

    def test_user_data(self) -> None:
        """Data of ConfigMaps and Secrets is the user's; a Secret's type is the API's."""
        names = ("orch.io", "orch-system")
        data = self.translated(
            "/registry/configmaps/a/b",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "a"},
             "data": sorted_names(*names)},
        )  # fmt: skip
        self.assertEqual(data["data"], sorted_names(*names))
        secret = self.translated(
            "/registry/secrets/a/b",
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b", "namespace": "a"},
             "type": "orch.io/service-account-token"},
        )  # fmt: skip
        self.assertEqual(secret["type"], "kubernetes.io/service-account-token")

    def test_metrics_of_an_autoscaler(self) -> None:
        """The annotations that are fields of other versions name objects by their groups."""
        text = '[{"type":"Object","object":{"target":{"apiVersion":"networking.%s/v1","kind":"Ingress","name":"i"}}}]'
        meta = {"name": "h", "namespace": "a", "annotations": {"autoscaling.alpha.orch.io/metrics": text % "orch.io"}}
        spec = {"maxReplicas": 1, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}
        autoscaler = self.translated(
            "/registry/autoscaling/horizontalpodautoscalers/a/h",
            {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": meta, "spec": spec},
        )
        expected = {"autoscaling.alpha.kubernetes.io/metrics": text % "k8s.io"}
        self.assertEqual(autoscaler["metadata"]["annotations"], expected)

    def test_revision_of_a_workload(self) -> None:
        """The template in a ControllerRevision is translated like a workload's."""
        def data(key: str) -> object:
            return {"spec": {"template": {"spec": {"nodeSelector": {key: "linux"}}, "$patch": "replace"}}}

        revision = self.translated(
            "/registry/apps/controllerrevisions/a/r",
            {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {"name": "r", "namespace": "a"},
             "data": data("orch.io/os"), "revision": 1},
        )  # fmt: skip
        self.assertEqual(revision["data"], data("kubernetes.io/os"))

    def test_names_that_meet(self) -> None:
        """A label whose new name is taken keeps the old one: nothing is lost."""
        labels = {"kubernetes.io/os": "a", "orch.io/os": "b"}
        codec = self.orch.kind("v1", "Node")
        value = codec.encode_envelope(codec.normalise({"metadata": {"name": "n", "labels": labels}}))
        moved = opened(self.kubernetes_codec(codec), self.there.value("/registry/nodes/n", value))
        self.assertEqual(moved["metadata"]["labels"], labels)

    def test_undecodable(self) -> None:
        """A value that is not an object is an error; unknown keys keep their values."""
        self.assertRaises(StatusError, self.there.value, "/registry/pods/a/b", b"nonsense")
        self.assertEqual(self.there.value("/elsewhere/x", b"nonsense"), b"nonsense")
