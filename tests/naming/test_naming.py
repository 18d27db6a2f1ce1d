"""Both vocabularies, by rows of the pair list and by rule."""
# covers: orchtw.naming.vocabulary

from __future__ import annotations

import msgspec
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import ConfigError
from orchtw.naming import naming as module
from orchtw.naming.naming import Naming
from orchtw.naming.vocabulary import PAIRS

# Neutral spelling, Kubernetes spelling; the first rows are pairs, the others follow from prefixes and rules.
TRANSLATIONS = [
    ("orch", "kubernetes"),
    ("orch-system", "kube-system"),
    ("orch.io/metadata.name", "kubernetes.io/metadata.name"),
    ("orch.io/deprecated", "k8s.io/deprecated"),
    ("orch.io/orch-apiserver-client-orchlet", "kubernetes.io/kube-apiserver-client-kubelet"),
    ("application/vnd.orch.protobuf", "application/vnd.kubernetes.protobuf"),
    ("orchletVersion", "kubeletVersion"),
    ("orchProxyVersion", "kubeProxyVersion"),
    ("orchletEndpoint", "kubeletEndpoint"),
    ("orchletConfigKey", "kubeletConfigKey"),
    ("node.orch.io/not-ready", "node.kubernetes.io/not-ready"),
    ("rbac.authorization.orch.io/autoupdate", "rbac.authorization.kubernetes.io/autoupdate"),
    ("rbac.authorization.orch.io/aggregate-to-edit", "rbac.authorization.k8s.io/aggregate-to-edit"),
    ("abac.authorization.orch.io", "abac.authorization.kubernetes.io"),
    ("x-orch-list-type", "x-kubernetes-list-type"),
    ("X-Orch-PF-FlowSchema-UID", "X-Kubernetes-PF-FlowSchema-UID"),
    ("io.orch.api.core.v1.Pod", "io.k8s.api.core.v1.Pod"),
    ("io.orch.apimachinery.pkg.apis.meta.v1.ObjectMeta", "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"),
    ("orch.io/anything", "kubernetes.io/anything"),
    ("topology.orch.io/rack", "topology.kubernetes.io/rack"),
    ("pod-security.orch.io/audit-violations", "pod-security.kubernetes.io/audit-violations"),
    ("authorization.orch.io/more", "authorization.k8s.io/more"),
    ("mutation.webhook.admission.orch.io/round_0_index_1", "mutation.webhook.admission.k8s.io/round_0_index_1"),
    ("events.orch.io/v1", "events.k8s.io/v1"),
    ("node.orch.io/v1beta1", "node.k8s.io/v1beta1"),
    ("custom.metrics.orch.io", "custom.metrics.k8s.io"),
    ("system:certificates.orch.io:legacy-unknown-approver", "system:certificates.k8s.io:legacy-unknown-approver"),
    ("system::leader-locking-orch-scheduler", "system::leader-locking-kube-scheduler"),
    ("system:serviceaccount:orch-system:x", "system:serviceaccount:kube-system:x"),
    ("start-orch-aggregator-informers", "start-kube-aggregator-informers"),
    ("orchlet-client", "kubelet-client"),
    ("OrchAPIApprovalPolicyConformant", "KubernetesAPIApprovalPolicyConformant"),
]
TEXTS = [
    ("The key topology.orch.io/zone.", "The key topology.kubernetes.io/zone."),
    ("Such as orch.io/tls, by orch-apiserver.", "Such as kubernetes.io/tls, by kube-apiserver."),
    ("Set x-orch-list-type; the API group is rbac.authorization.orch.io.",
     "Set x-kubernetes-list-type; the API group is rbac.authorization.k8s.io."),
    ("Names <class>.storageclass.storage.orch.io/requests.storage and (orch.io/ingress.class).",
     "Names <class>.storageclass.storage.k8s.io/requests.storage and (kubernetes.io/ingress.class)."),
    ("A torch for an orchestra.", "A torch for an orchestra."),
]  # fmt: skip
UNCHANGED = ["", "apps", "default", "system:masters", "metadata.name", "orchestra", "torch-scheduler", "ex.io/x"]
GROUPS = [
    ("", ""),
    ("apps", "apps"),
    ("node.orch.io", "node.k8s.io"),
    ("meta.orch.io", "meta.k8s.io"),
    ("flowcontrol.apiserver.orch.io", "flowcontrol.apiserver.k8s.io"),
    ("rbac.authorization.orch.io", "rbac.authorization.k8s.io"),
    ("abac.authorization.orch.io", "abac.authorization.kubernetes.io"),
]


class NamingTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.kubernetes = Naming.kubernetes()

    def test_translations(self) -> None:
        """Pairs, prefixes and rules give Kubernetes' own names."""
        for neutral, expected in TRANSLATIONS:
            self.assertEqual(self.kubernetes.translate(neutral), expected)

    def test_every_pair(self) -> None:
        """Each pair holds, but the label reading of the two identifiers that mean two things."""
        differing = {(a, b) for a, b in PAIRS if self.kubernetes.translate(a) != b}
        self.assertEqual(differing, {("orch.io", "kubernetes.io"), ("node.orch.io", "node.kubernetes.io")})
        self.assertEqual(len(PAIRS), 290)

    def test_every_pair_back(self) -> None:
        """Each Kubernetes name leads back to its neutral one, and from there to itself again."""
        for neutral, kubernetes in PAIRS:
            self.assertEqual(self.kubernetes.untranslated(kubernetes), neutral)
        for neutral, kubernetes in TRANSLATIONS:
            if neutral not in ("custom.metrics.orch.io", "X-Orch-PF-FlowSchema-UID"):
                self.assertEqual(self.kubernetes.untranslated(kubernetes), neutral)
            self.assertEqual(Naming.orch().untranslated(kubernetes), kubernetes)

    def test_names_of_others_stay_on_the_way_back(self) -> None:
        """Domains without a listed member and groups of custom resources belong to their authors (reference VOC-4).
        """
        for name in ("app.kubernetes.io/name", "gateway.networking.k8s.io/v1", "metrics.k8s.io", "example.com/x",
                     "kubernetes-dashboard", "my-kubernetes", *UNCHANGED):  # fmt: skip
            self.assertEqual(self.kubernetes.untranslated(name), name)

    def test_long_names_are_not_kept(self) -> None:
        """Names chosen by clients take bounded memory: a long name is translated each time, both ways (reference
        LIMIT-12).
        """
        short, long = "node.orch.io/a", f"node.orch.io/{'a' * 128}"
        for way, cached in (
            (self.kubernetes.translate, module._kubernetes),
            (self.kubernetes.untranslated, module._neutral),
        ):
            way(short)
            kept = cached.cache_info().currsize
            self.assertEqual(way(long), way(short) + "a" * 127)
            self.assertEqual(cached.cache_info().currsize, kept)

    def test_what_bears_no_product_name_stays(self) -> None:
        """Texts of other makers are left alone (reference VOC-4, VOC-3)."""
        for text in UNCHANGED:
            self.assertEqual(self.kubernetes.translate(text), text)

    def test_same_in_both(self) -> None:
        """Groups without a domain, users of the system, metrics and headers have one name (VOC-2, VOC-3)."""
        for group in ("", "apps", "batch", "policy", "autoscaling", "extensions"):
            self.assertEqual((self.kubernetes.group(group), self.kubernetes.neutral(group)), (group, group))
        for name in (
            "system:masters", "system:anonymous", "system:serviceaccount:default:x", "apiserver_request_total",
            "etcd_object_counts", "Audit-Id", "Impersonate-User", "X-Remote-User", "FieldsV1",
        ):  # fmt: skip
            self.assertEqual(self.kubernetes.translate(name), name)
        self.assertEqual(self.kubernetes.translate("system:orch-scheduler"), "system:kube-scheduler")

    def test_texts(self) -> None:
        """Identifiers inside a sentence are translated one by one, without the marks around them."""
        for neutral, expected in TEXTS:
            self.assertEqual(self.kubernetes.translate_text(neutral), expected)
            self.assertEqual(Naming.orch().translate_text(neutral), neutral)

    def test_neutral_vocabulary_translates_nothing(self) -> None:
        """The specification's vocabulary is the neutral spelling."""
        naming = Naming.orch()
        for neutral, _ in TRANSLATIONS:
            self.assertEqual(naming.translate(neutral), neutral)
        self.assertEqual((naming.group("node.orch.io"), naming.neutral("node.orch.io")), ("node.orch.io",) * 2)

    def test_groups_both_ways(self) -> None:
        """A group goes into the vocabulary and back."""
        for neutral, expected in GROUPS:
            self.assertEqual(self.kubernetes.group(neutral), expected)
            self.assertEqual(self.kubernetes.neutral(expected), neutral)

    def test_api_versions(self) -> None:
        """Only the group of an apiVersion is translated."""
        self.assertEqual(self.kubernetes.api_version("v1"), "v1")
        self.assertEqual(self.kubernetes.api_version("apps/v1"), "apps/v1")
        self.assertEqual(self.kubernetes.api_version("node.orch.io/v1"), "node.k8s.io/v1")

    def test_attributes(self) -> None:
        """The named identifiers follow the vocabulary; none of the second bears the neutral name."""
        self.assertEqual(Naming.orch().system_namespace, "orch-system")
        self.assertEqual((self.kubernetes.api_domain, self.kubernetes.label_domain), ("k8s.io", "kubernetes.io"))
        self.assertEqual(self.kubernetes.namespace_finalizer, "kubernetes")
        self.assertEqual(self.kubernetes.component_prefix + "apiserver", self.kubernetes.api_server)
        self.assertEqual(self.kubernetes.removed_release_annotation, "k8s.io/removed-release")
        self.assertEqual(self.kubernetes.default_namespace, "default")
        self.assertFalse(
            [name for name, value in msgspec.structs.asdict(self.kubernetes).items() if "orch" in value.lower()]
        )

    def test_foreign_groups(self) -> None:
        """A built-in group under its other name yields advice on the vocabulary; other groups yield none."""
        neutral = Naming.orch()
        text = "authorization.k8s.io is authorization.orch.io here: this server speaks the orch vocabulary; "
        self.assertEqual(neutral.foreign("authorization.k8s.io"), text + "start it with --vocabulary kubernetes")
        self.assertIn("--vocabulary orch", self.kubernetes.foreign("authorization.orch.io"))
        for naming in (neutral, self.kubernetes):
            for group in ("", "apps", "example.com", "gateway.networking.k8s.io", naming.group("node.orch.io")):
                self.assertEqual(naming.foreign(group), "", group)
            self.assertEqual(naming.counterpart.counterpart, naming)

    def test_signing_key(self) -> None:
        """The whole bootstrap token signs, but its secret half for Kubernetes' clients (reference AUTHN-45)."""
        self.assertEqual(Naming.orch().signing_key("id", "secret"), "id.secret")
        self.assertEqual(Naming.kubernetes().signing_key("id", "secret"), "secret")

    def test_vocabulary_by_name(self) -> None:
        """`--vocabulary` takes two names; any other is a ConfigError."""
        self.assertEqual(Naming.of("orch"), Naming.orch())
        self.assertEqual(Naming.of("kubernetes"), self.kubernetes)
        self.assertRaises(ConfigError, Naming.of, "Kubernetes")
