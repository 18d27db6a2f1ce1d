"""Identifiers by kind, from one vocabulary into the other and back."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.renaming.identifiers import Names
from orchtw.schema.catalogue import Catalogue

GROUPS = [group.name for group in Catalogue.load(Naming.orch()).groups]

BOTH_WAYS = [
    ("group", "networking.orch.io", "networking.k8s.io"),
    ("group", "apps", "apps"),
    ("api_version", "rbac.authorization.orch.io/v1", "rbac.authorization.k8s.io/v1"),
    ("api_version", "v1", "v1"),
    ("namespace", "orch-system", "kube-system"),
    ("namespace", "orch", "orch"),
    ("component", "orch-apiserver", "kube-apiserver"),
    ("component", "orchlet", "kubelet"),
    ("qualified", "orch.io/hostname", "kubernetes.io/hostname"),
    ("qualified", "node-role.orch.io/gpu", "node-role.kubernetes.io/gpu"),
    ("qualified", "rbac.authorization.orch.io/aggregate-to-edit", "rbac.authorization.k8s.io/aggregate-to-edit"),
    ("qualified", "orch.io/orch-apiserver-client-orchlet", "kubernetes.io/kube-apiserver-client-kubelet"),
    ("namespace_finalizer", "orch", "kubernetes"),
    ("system", "system:orch-scheduler", "system:kube-scheduler"),
    ("system", "system::leader-locking-orch-scheduler", "system::leader-locking-kube-scheduler"),
    ("system", "system:serviceaccount:orch-system:orch-dns", "system:serviceaccount:kube-system:orch-dns"),
    ("system", "system:serviceaccounts:orch-system", "system:serviceaccounts:kube-system"),
    ("config_map", "orch-root-ca.crt", "kube-root-ca.crt"),
    ("version_first", "v1.node.orch.io", "v1.node.k8s.io"),
    ("version_first", "v1.", "v1."),
    ("resource_last", "node.orch.io.runtimeclasses", "node.k8s.io.runtimeclasses"),
    ("resource_name", "count/ingresses.networking.orch.io", "count/ingresses.networking.k8s.io"),
    ("resource_name", "gold.storageclass.storage.orch.io/requests.storage",
     "gold.storageclass.storage.k8s.io/requests.storage"),
    ("object_of_rule", "orch-scheduler", "kube-scheduler"),
    ("object_of_rule", "orch.io/legacy-unknown", "kubernetes.io/legacy-unknown"),
    ("field_path", "metadata.labels['topology.orch.io/zone']", "metadata.labels['topology.kubernetes.io/zone']"),
    ("flow_schema", "orch-system-service-accounts", "kube-system-service-accounts"),
    ("token_volume", "orch-api-access-x2k9q", "kube-api-access-x2k9q"),
    ("token_path", "/var/run/secrets/orch.io/serviceaccount", "/var/run/secrets/kubernetes.io/serviceaccount"),
]  # fmt: skip
OF_OTHERS = [
    ("group", "gateway.networking.k8s.io"),
    ("group", "snapshot.storage.k8s.io"),
    ("api_version", "metrics.k8s.io/v1beta1"),
    ("qualified", "app.kubernetes.io/name"),
    ("qualified", "kubernetes"),
    ("qualified", "orch"),
    ("qualified", "kubectl.kubernetes.io/restartedAt"),
    ("component", "kubectl"),
    ("component", "orchctl"),
    ("token_volume", "kubernetes"),
    ("token_path", "/var/lib/kubelet"),
    ("system", "my-orch-scheduler"),
    ("system", "kube-scheduler"),
    ("system", "system:node:kubelet-1"),
    ("field_path", "spec.containers{kubelet}"),
]


class NamesTests(SynchronousTestCase):
    def setUp(self) -> None:
        orch, kubernetes = Naming.orch(), Naming.kubernetes()
        self.there, self.back = Names(orch, kubernetes, GROUPS), Names(kubernetes, orch, GROUPS)

    def test_both_ways(self) -> None:
        """Names of the product's go forth and come back."""
        for rule, orch, kubernetes in BOTH_WAYS:
            self.assertEqual(getattr(self.there, rule)(orch), kubernetes, rule)
            self.assertEqual(getattr(self.back, rule)(kubernetes), orch, rule)

    def test_names_of_others(self) -> None:
        """Names by users, clients and authors of custom resources stay the same in both directions."""
        for rule, name in OF_OTHERS:
            self.assertEqual(getattr(self.there, rule)(name), name, rule)
            self.assertEqual(getattr(self.back, rule)(name), name, rule)

    def test_services(self) -> None:
        """The API's own Service and the DNS Service are known by their namespaces."""
        self.assertEqual(self.there.service("default", "orch"), "kubernetes")
        self.assertEqual(self.back.service("default", "kubernetes"), "orch")
        self.assertEqual(self.there.service("shop", "orch"), "orch")
        self.assertEqual(self.back.service("kube-system", "kube-dns"), "orch-dns")

    def test_values_of_labels(self) -> None:
        """Only labels whose values are names by definition have theirs translated."""
        self.assertEqual(self.there.label_value("orch.io/metadata.name", "orch-system"), "kube-system")
        managed_by = ("endpointslice.orch.io/managed-by", "endpointslice-controller.orch.io")
        self.assertEqual(self.there.label_value(*managed_by), "endpointslice-controller.k8s.io")
        self.assertEqual(self.there.label_value("team", "orch-system"), "orch-system")
