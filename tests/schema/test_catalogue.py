"""The catalogue against rows of the release's own discovery."""

from __future__ import annotations

from collections import Counter

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.additions import RELEASE_1_24
from orchtw.schema.catalogue import Catalogue, ResourceType
from orchtw.schema.declarations import GroupVersionKind
from orchtw.schema.versions import maturity

META = "orch.io.apimachinery.pkg.apis.meta.v1"
ALL = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

# Resources of each group version that the release has (Reference KIND-1).
RESOURCES = {
    "v1": 17, "apiregistration.orch.io/v1": 1, "apps/v1": 5, "events.orch.io/v1": 1, "events.orch.io/v1beta1": 1,
    "authentication.orch.io/v1": 1, "authorization.orch.io/v1": 4, "autoscaling/v2": 1, "autoscaling/v1": 1,
    "autoscaling/v2beta1": 1, "autoscaling/v2beta2": 1, "batch/v1": 2, "batch/v1beta1": 1,
    "certificates.orch.io/v1": 1, "networking.orch.io/v1": 3, "policy/v1": 1, "policy/v1beta1": 2,
    "rbac.authorization.orch.io/v1": 4, "storage.orch.io/v1": 5, "storage.orch.io/v1beta1": 1,
    "admissionregistration.orch.io/v1": 2,
    "apiextensions.orch.io/v1": 1, "scheduling.orch.io/v1": 1, "coordination.orch.io/v1": 1, "node.orch.io/v1": 1,
    "node.orch.io/v1beta1": 1, "discovery.orch.io/v1": 1, "discovery.orch.io/v1beta1": 1,
    "flowcontrol.apiserver.orch.io/v1beta2": 2, "flowcontrol.apiserver.orch.io/v1beta1": 2,
    "internal.apiserver.orch.io/v1alpha1": 1,
}  # fmt: skip


class CatalogueTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.catalogue = Catalogue.load(Naming.orch(), RELEASE_1_24)

    def resource(self, group: str, version: str, plural: str) -> ResourceType:
        found = self.catalogue.find(group, version, plural)
        assert found is not None
        return found

    def test_every_resource_is_there(self) -> None:
        """68 resources in 31 group versions (Reference KIND-1)."""
        counts = Counter(each.api_version for each in self.catalogue.resources)
        self.assertEqual(dict(counts), RESOURCES)
        self.assertEqual(len(self.catalogue.resources), 68)

    def test_pods(self) -> None:
        """The row of pods says what discovery says of them (reference DISC-5)."""
        pods = self.resource("", "v1", "pods")
        self.assertEqual((pods.kind, pods.list_kind, pods.singular), ("Pod", "PodList", "pod"))
        self.assertEqual((pods.api_version, pods.qualified), ("v1", "pods"))
        self.assertEqual((pods.verbs, pods.short_names, pods.categories), (ALL, ("po",), ("all",)))
        self.assertEqual((pods.namespaced, pods.default_on, pods.delete_returns_object), (True, True, True))
        self.assertEqual((pods.storage_group, pods.storage_version), ("", "v1"))
        self.assertEqual(pods.storage_version_hash, "xPOwRZ+Yhw8=")
        self.assertIn("spec.nodeName", pods.field_selectors)
        self.assertEqual(pods.message, "orch.io.api.core.v1.Pod")
        self.assertEqual(pods.columns[1].name, "Ready")

    def test_categories(self) -> None:
        """Workloads and what goes with them are in `all`, extensions of the API in their own (reference KIND-2)."""
        found: dict[str, set[str]] = {}
        for each in self.catalogue.resources:
            for category in each.categories:
                found.setdefault(category, set()).add(each.plural)
        workloads = {"daemonsets", "deployments", "replicasets", "statefulsets", "jobs", "cronjobs"}
        everything = {"pods", "services", "replicationcontrollers", "horizontalpodautoscalers"} | workloads
        webhooks = {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
        extensions = {"customresourcedefinitions", "apiservices"} | webhooks
        self.assertEqual(found, {"all": everything, "api-extensions": extensions})

    def test_subresources(self) -> None:
        """Each resource has the sub-resources and their verbs that the release gives it (reference KIND-3)."""
        found: dict[tuple[str, tuple[str, ...]], set[str]] = {}
        for each in self.catalogue.resources:
            for sub in each.subresources:
                found.setdefault((sub.name, sub.verbs), set()).add(each.plural)
        changed = ("get", "patch", "update")
        proxied = ("create", "delete", "get", "patch", "update")
        connected = {(name, ("create", "get")): {"pods"} for name in ("attach", "exec", "portforward")}
        scaled = {"deployments", "replicasets", "replicationcontrollers", "statefulsets"}
        self.assertEqual(found.pop(("status", changed)), scaled | {
            "namespaces", "nodes", "pods", "persistentvolumes", "persistentvolumeclaims", "resourcequotas",
            "services", "daemonsets", "jobs", "cronjobs", "horizontalpodautoscalers", "poddisruptionbudgets",
            "ingresses", "networkpolicies", "certificatesigningrequests", "customresourcedefinitions", "apiservices",
            "flowschemas", "prioritylevelconfigurations", "volumeattachments", "storageversions",
        })  # fmt: skip
        self.assertEqual(found, {
            ("scale", changed): scaled, ("finalize", ("update",)): {"namespaces"},
            ("binding", ("create",)): {"pods"}, ("eviction", ("create",)): {"pods"},
            ("token", ("create",)): {"serviceaccounts"}, ("ephemeralcontainers", changed): {"pods"},
            ("approval", changed): {"certificatesigningrequests"}, ("log", ("get",)): {"pods"}, **connected,
            ("proxy", proxied): {"nodes", "pods", "services"},
        })  # fmt: skip

    def test_columns(self) -> None:
        """A column has one of five types; the name's has a format; priority tells wide ones (reference TABLE-2)."""
        for each in self.catalogue.resources:
            for column in each.columns:
                self.assertIn(column.type, ("integer", "number", "string", "boolean", "date"), each.qualified)
                named = column.name == "Name" or (each.plural, column.name) == ("volumeattachments", "Attacher")
                self.assertEqual(column.format, "name" if named else "", each.qualified)
                self.assertGreaterEqual(column.priority, 0)
        columns = {column.name: column.priority for column in self.resource("", "v1", "pods").columns}
        self.assertEqual((columns["Ready"], columns["Age"], columns["IP"], columns["Node"]), (0, 0, 1, 1))

    def test_storage_versions(self) -> None:
        """Every kind is stored in one version, the newest stable one but for these (reference VER-6, VER-10)."""
        stored: dict[tuple[str, str], set[tuple[str | None, str | None]]] = {}
        versions: dict[tuple[str, str], set[str]] = {}
        for each in self.catalogue.resources:
            stored.setdefault((each.group, each.kind), set()).add((each.storage_group, each.storage_version))
            versions.setdefault((each.group, each.kind), set()).add(each.version)
        flow = "flowcontrol.apiserver.orch.io"
        expected: dict[tuple[str, str], tuple[str, str]] = {
            ("events.orch.io", "Event"): ("", "v1"), (flow, "FlowSchema"): (flow, "v1beta2"),
            (flow, "PriorityLevelConfiguration"): (flow, "v1beta2"),
            ("policy", "PodSecurityPolicy"): ("policy", "v1beta1"),
            ("storage.orch.io", "CSIStorageCapacity"): ("storage.orch.io", "v1beta1"),
            ("internal.apiserver.orch.io", "StorageVersion"): ("internal.apiserver.orch.io", "v1alpha1"),
        }  # fmt: skip
        for (group, kind), forms in stored.items():
            (form,) = forms
            if form == (None, None):
                continue
            if kind == "HorizontalPodAutoscaler":
                self.assertIn(form, ((group, "v2"), (group, "v1")))
            else:
                self.assertEqual(form, expected.get((group, kind), (group, "v1")), kind)
                self.assertLessEqual({form[1]} if form[0] == group else set(), versions[group, kind])

    def test_replacements(self) -> None:
        """No version is deprecated in favour of a less stable one, or of one that is not served (reference VER-5)."""
        for each in self.catalogue.resources:
            if each.replacement is not None:
                by = self.catalogue.find(each.replacement.group, each.replacement.version, each.plural)
                assert by is not None
                self.assertLessEqual(maturity(by.version)[0], maturity(each.version)[0], each.qualified)

    def test_subresource_of_another_group(self) -> None:
        """Deployments scale by autoscaling/v1; their status is of their own kind."""
        scale, status = self.resource("apps", "v1", "deployments").subresources
        self.assertEqual((scale.name, scale.kind), ("scale", "Scale"))
        self.assertEqual((scale.group, scale.version), ("autoscaling", "v1"))
        self.assertEqual((status.name, status.kind, status.group), ("status", "Deployment", "apps"))
        self.assertEqual(status.verbs, ("get", "patch", "update"))

    def test_every_subresource_kind_is_known(self) -> None:
        """Bodies and responses of sub-resources have a message."""
        for resource in self.catalogue.resources:
            for each in resource.subresources:
                api_version = f"{each.group}/{each.version}" if each.group else each.version
                self.assertIsNotNone(self.catalogue.message_of(api_version, each.kind), (resource.plural, each.name))

    def test_events_are_stored_in_the_core_group(self) -> None:
        """Only events have a storage group that is not their own (Reference VER-14)."""
        events = self.resource("events.orch.io", "v1beta1", "events")
        self.assertEqual((events.storage_group, events.storage_version, events.preferred), ("", "v1", False))
        stored = [each for each in self.catalogue.resources if each.storage_group is not None]
        foreign = {each.qualified for each in stored if each.storage_group != each.group}
        self.assertEqual(foreign, {"events.events.orch.io"})

    def test_reviews_are_never_stored(self) -> None:
        """A create-only resource has no storage version, no hash and no list."""
        review = self.resource("authentication.orch.io", "v1", "tokenreviews")
        self.assertEqual((review.verbs, review.list_kind), (("create",), None))
        self.assertEqual((review.storage_version, review.storage_group), (None, None))
        self.assertEqual(review.storage_version_hash, "")

    def test_only_storage_versions_are_off(self) -> None:
        """All but internal.apiserver is on unless switched off (Reference VER-1, KIND-1)."""
        off = [each.qualified for each in self.catalogue.resources if not each.default_on]
        self.assertEqual(off, ["storageversions.internal.apiserver.orch.io"])

    def test_deprecation(self) -> None:
        """batch/v1beta1 CronJob goes in 1.25 in favour of batch/v1 (reference VER-9)."""
        cron = self.resource("batch", "v1beta1", "cronjobs")
        self.assertEqual((cron.introduced, cron.deprecated, cron.removed), ("1.8", "1.21", "1.25"))
        self.assertEqual(cron.replacement, GroupVersionKind(group="batch", version="v1", kind="CronJob"))
        self.assertIsNone(self.resource("batch", "v1", "cronjobs").deprecated)

    def test_unknown_resource(self) -> None:
        """A version that is not served has no resources."""
        self.assertIsNone(self.catalogue.find("extensions", "v1beta1", "deployments"))

    def test_groups_are_in_discovery_order(self) -> None:
        """Core, the aggregator's, then by priority, equal ones by name (reference DISC-2)."""
        names = [group.name for group in self.catalogue.groups]
        self.assertEqual(names[:4], ["", "apiregistration.orch.io", "apps", "events.orch.io"])
        self.assertEqual(names[13:15], ["admissionregistration.orch.io", "apiextensions.orch.io"])
        self.assertEqual((len(names), names[-1]), (21, "internal.apiserver.orch.io"))

    def test_versions_are_in_order_of_priority(self) -> None:
        """In 1.24 autoscaling prefers v2 (reference DISC-11)."""
        scaling = next(group for group in self.catalogue.groups if group.name == "autoscaling")
        self.assertEqual((scaling.versions, scaling.preferred), (("v2", "v1", "v2beta1", "v2beta2"), "v2"))
        self.assertEqual((scaling.group_priority_minimum, scaling.version_priority["v2"]), (17500, 30))


class KindTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.catalogue = Catalogue.load(Naming.orch(), RELEASE_1_24)

    def test_objects_lists_and_removed_kinds(self) -> None:
        """Kinds that are no longer served still have messages."""
        known = {("v1", "PodList"), ("apps/v1beta1", "Scale"), ("extensions/v1beta1", "DeploymentRollback")}
        for api_version, kind in known:
            self.assertIsNotNone(self.catalogue.message_of(api_version, kind))
        self.assertIsNone(self.catalogue.message_of("v1", "PodSpec"))
        self.assertIsNone(self.catalogue.message_of("apps/v1", "Pod"))

    def test_shared_kinds_travel_as_v1(self) -> None:
        """A Status is v1 on the wire and of the meta group in discovery (wire fixtures)."""
        for kind in ("Status", "DeleteOptions", "ListOptions", "APIGroup", "APIVersions", "List", "WatchEvent"):
            self.assertEqual(self.catalogue.message_of("v1", kind), f"{META}.{kind}")
            self.assertEqual(self.catalogue.message_of("meta.orch.io/v1", kind), f"{META}.{kind}")

    def test_request_options_exist_in_every_group_version(self) -> None:
        """DeleteOptions come in the resource's own group version; a Status does not."""
        self.assertEqual(self.catalogue.message_of("apps/v1", "DeleteOptions"), f"{META}.DeleteOptions")
        self.assertIsNone(self.catalogue.message_of("apps/v1", "Status"))
        self.assertIsNone(self.catalogue.message_of("nothing/v1", "DeleteOptions"))


class VocabularyTests(SynchronousTestCase):
    def test_groups_are_translated_and_messages_are_not(self) -> None:
        """The second vocabulary renames groups everywhere and Protobuf names nowhere (naming rules)."""
        catalogue = Catalogue.load(Naming.kubernetes())
        runtime = catalogue.find("node.k8s.io", "v1", "runtimeclasses")
        assert runtime is not None
        self.assertEqual((runtime.storage_group, runtime.storage_version_hash), ("node.k8s.io", "WQTu1GL3T2Q="))
        self.assertEqual(runtime.message, "orch.io.api.node.v1.RuntimeClass")
        self.assertEqual(catalogue.message_of("meta.k8s.io/v1", "Status"), f"{META}.Status")
        self.assertEqual([group.name for group in catalogue.groups][1], "apiregistration.k8s.io")
        self.assertFalse([each for each in catalogue.resources if "orch" in each.qualified])
