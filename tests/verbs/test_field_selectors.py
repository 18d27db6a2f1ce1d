"""Fields by which every kind can be selected, in lists, watches and deletions (reference READ-21, READ-22)."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from orchtw.config.releases import LAST
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object
from tests.emulated import since
from tests.verbs.served import DEFAULT, ServedCase

_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_CORE_EVENT = (*(f"involvedObject.{key}" for key in _REFERENCE), "reason", "reportingComponent", "source", "type")
_EVENT = (*(f"regarding.{key}" for key in _REFERENCE), "reason", "reportingController", "type")
_SLICE = ("spec.driver", "spec.nodeName")
OWN: dict[tuple[str, str], tuple[str, ...]] = {
    ("v1", "Pod"): (
        "spec.nodeName", "spec.host", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
        "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
    ),
    ("v1", "Event"): _CORE_EVENT,
    ("events.orch.io/v1", "Event"): _EVENT,
    ("events.orch.io/v1beta1", "Event"): _EVENT,
    ("v1", "Namespace"): ("status.phase",),
    ("v1", "Node"): ("spec.unschedulable",),
    ("v1", "ReplicationController"): ("status.replicas",),
    ("v1", "Secret"): ("type",),
    ("v1", "Service"): ("spec.clusterIP", "spec.type"),
    ("apps/v1", "ReplicaSet"): ("status.replicas",),
    ("batch/v1", "Job"): ("status.successful",),
    ("certificates.orch.io/v1", "CertificateSigningRequest"): ("spec.signerName",),
    ("certificates.orch.io/v1alpha1", "ClusterTrustBundle"): ("spec.signerName",),
    ("certificates.orch.io/v1beta1", "ClusterTrustBundle"): ("spec.signerName",),
    ("certificates.orch.io/v1beta1", "PodCertificateRequest"): ("spec.signerName", "spec.podName", "spec.nodeName"),
    ("resource.orch.io/v1", "ResourceSlice"): _SLICE,
    ("resource.orch.io/v1beta1", "ResourceSlice"): _SLICE,
    ("resource.orch.io/v1beta2", "ResourceSlice"): _SLICE,
}  # fmt: skip
"""What a kind has beyond its name and namespace."""

_POLICIES = (
    "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding ValidatingAdmissionPolicy "
    "ValidatingAdmissionPolicyBinding"
)
PLAIN = {
    "v1": (
        "ConfigMap Endpoints LimitRange PersistentVolume PersistentVolumeClaim PodTemplate ResourceQuota "
        "ServiceAccount"
    ),
    "admissionregistration.orch.io/v1": f"MutatingWebhookConfiguration ValidatingWebhookConfiguration {_POLICIES}",
    "admissionregistration.orch.io/v1alpha1": _POLICIES,
    "admissionregistration.orch.io/v1beta1": _POLICIES,
    "apiextensions.orch.io/v1": "CustomResourceDefinition",
    "apiregistration.orch.io/v1": "APIService",
    "apps/v1": "ControllerRevision DaemonSet Deployment StatefulSet",
    "autoscaling/v1": "HorizontalPodAutoscaler",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "autoscaling/v2beta1": "HorizontalPodAutoscaler",
    "autoscaling/v2beta2": "HorizontalPodAutoscaler",
    "batch/v1": "CronJob",
    "batch/v1beta1": "CronJob",
    "coordination.orch.io/v1": "Lease",
    "coordination.orch.io/v1alpha2": "LeaseCandidate",
    "coordination.orch.io/v1beta1": "LeaseCandidate",
    "discovery.orch.io/v1": "EndpointSlice",
    "discovery.orch.io/v1beta1": "EndpointSlice",
    "flowcontrol.apiserver.orch.io/v1": "FlowSchema PriorityLevelConfiguration",
    "flowcontrol.apiserver.orch.io/v1beta1": "FlowSchema PriorityLevelConfiguration",
    "flowcontrol.apiserver.orch.io/v1beta2": "FlowSchema PriorityLevelConfiguration",
    "flowcontrol.apiserver.orch.io/v1beta3": "FlowSchema PriorityLevelConfiguration",
    "internal.apiserver.orch.io/v1alpha1": "StorageVersion",
    "networking.orch.io/v1": "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR",
    "networking.orch.io/v1beta1": "IPAddress ServiceCIDR",
    "node.orch.io/v1": "RuntimeClass",
    "node.orch.io/v1beta1": "RuntimeClass",
    "policy/v1": "PodDisruptionBudget",
    "policy/v1beta1": "PodDisruptionBudget PodSecurityPolicy",
    "rbac.authorization.orch.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "resource.orch.io/v1": "DeviceClass ResourceClaim ResourceClaimTemplate",
    "resource.orch.io/v1alpha3": "DeviceTaintRule ResourcePoolStatusRequest",
    "resource.orch.io/v1beta1": "DeviceClass ResourceClaim ResourceClaimTemplate",
    "resource.orch.io/v1beta2": "DeviceClass DeviceTaintRule ResourceClaim ResourceClaimTemplate",
    "scheduling.orch.io/v1": "PriorityClass",
    "scheduling.orch.io/v1alpha2": "PodGroup Workload",
    "storage.orch.io/v1": (
        "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass"
    ),
    "storage.orch.io/v1alpha1": "VolumeAttributesClass",
    "storage.orch.io/v1beta1": "CSIStorageCapacity VolumeAttributesClass",
    "storagemigration.orch.io/v1beta1": "StorageVersionMigration",
}
"""The kinds that have nothing else."""

GENERIC = '"spec.foo" is not a known field selector: only "metadata.name", "metadata.namespace"'
JOB = 'field label "spec.foo" not supported for batchv1.Job'


def query(**given: str) -> str:
    """The query of a request, which begins with a question mark."""
    return "?" + "&".join(f"{name}={quote(value)}" for name, value in given.items())


class EveryKindTests(ServedCase):
    """Each kind that is stored is in one of the tables."""

    def setUp(self) -> None:
        super().setUp()
        self.resources = [each for each in self.server.instance.resources.catalogue.resources if each.storage_version]

    @since(LAST)
    def test_tables(self) -> None:
        """They name every kind once."""
        plain = {(version, kind) for version, kinds in PLAIN.items() for kind in kinds.split()}
        self.assertEqual(plain & set(OWN), set())
        self.assertEqual(plain | set(OWN), {(each.api_version, each.kind) for each in self.resources})

    def fields(self, resource: ResourceType) -> tuple[str, ...]:
        """All that the kind has."""
        own = OWN.get((resource.api_version, resource.kind), ())
        plain = ("metadata.name", "metadata.namespace") if resource.namespaced or not own else ("metadata.name",)
        return (*plain, *own)

    def paths(self) -> list[tuple[ResourceType, str]]:
        """Every collection that is on."""
        return [
            (each, f"/api{'s' if each.group else ''}/{each.api_version}/{each.plural}")
            for each in self.resources
            if each.default_on
        ]

    def refusal(self, resource: ResourceType) -> str:
        """Return the text about an unknown field."""
        if resource.kind == "Job":
            return JOB
        own = (resource.api_version, resource.kind) in OWN
        return "field label not supported: spec.foo" if own else GENERIC

    def test_lists(self) -> None:
        """Lists can be asked for each field, equal or not; any other is refused in the kind's words."""
        for resource, path in self.paths():
            for field in self.fields(resource):
                for selector in (f"{field}=x", f"{field}==x", f"{field}!=x"):
                    self.assertEqual(self.code("GET", path + query(fieldSelector=selector)), 200, (path, selector))
            answer = self.send("GET", path + query(fieldSelector="spec.foo=x"))
            self.assertEqual((answer.code, answer.json["message"]), (400, self.refusal(resource)))

    def test_watches(self) -> None:
        """Watches can select by fields as well."""
        for resource, path in self.paths():
            for field in self.fields(resource):
                watch = self.run_async(self.server.watch(path + query(watch="1", fieldSelector=f"{field}=x")))
                watch.close()
            answer = self.send("GET", path + query(watch="1", fieldSelector="spec.foo=x"))
            self.assertEqual((answer.code, answer.json["message"]), (400, self.refusal(resource)))

    def test_deletions(self) -> None:
        """And deletions of collections."""
        for resource, path in self.paths():
            if "deletecollection" in resource.verbs:
                place = path
                if resource.namespaced:
                    start, _, plural = path.rpartition("/")
                    place = f"{start}/namespaces/default/{plural}"
                for field in self.fields(resource):
                    answer = self.send("DELETE", place + query(dryRun="All", fieldSelector=f"{field}=x"))
                    self.assertEqual(answer.code, 200, (path, field))
                answer = self.send("DELETE", place + query(fieldSelector="spec.foo=x"))
                self.assertEqual((answer.code, answer.json["message"]), (400, self.refusal(resource)))


POD: Object = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
TEMPLATE: Object = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
EVENT: Object = {
    "metadata": {"name": "a"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p", "uid": "u", "fieldPath": "spec"},
    "reason": "Because",
    "type": "Normal",
    "source": {"component": "me"},
}


class NamedWatchTests(ServedCase):
    def test_selectors(self) -> None:
        """Beside the name in a path of the old form stands no other selector (reference REQ-6)."""
        path = "/api/v1/watch/namespaces/default/configmaps/a"
        for selector in ("", "metadata.name=a", "metadata.name=a,metadata.namespace=default"):
            self.run_async(self.server.watch(path + query(fieldSelector=selector))).close()
        for selector in ("metadata.name=b", "metadata.name!=b", "metadata.namespace=default"):
            answer = self.send("GET", path + query(fieldSelector=selector))
            self.assertEqual(
                (answer.code, answer.json["message"]),
                (400, "fieldSelector metadata.name doesn't match requested name"),
            )


class ValuesTests(ServedCase):
    """Selectable fields of objects (reference READ-25)."""

    def check(self, path: str, obj: Object, values: dict[str, str], status: Any = None) -> None:
        """An object is found by each of these values, and not by others."""
        made = self.done("POST", path, obj)
        name = made["metadata"]["name"]
        if status is not None:
            self.done("PUT", f"{path}/{name}/status", {**made, "status": status})
        for field, value in values.items():
            for selector, found in ((f"{field}={value}", True), (f"{field}!={value}", False)):
                items = self.done("GET", path + query(fieldSelector=f"{selector},metadata.name={name}"))["items"]
                self.assertEqual(bool(items), found, selector)

    def test_pods(self) -> None:
        """Pods show where they run, and how they are."""
        spec = {**POD["spec"], "nodeName": "n", "serviceAccountName": "default"}
        status = {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "nominatedNodeName": "m"}
        self.check("pods", {**POD, "spec": spec}, {
            "spec.nodeName": "n", "spec.host": "n", "spec.restartPolicy": "Always",
            "spec.schedulerName": "default-scheduler", "spec.serviceAccountName": "default",
            "status.phase": "Running", "status.podIP": "10.0.0.1", "status.nominatedNodeName": "m",
        }, status)  # fmt: skip

    def test_cluster(self) -> None:
        """Nodes show whether they take pods, namespaces their phase."""
        self.check("/api/v1/nodes", {"metadata": {"name": "n"}}, {"spec.unschedulable": "false"})
        taken = {"metadata": {"name": "m"}, "spec": {"unschedulable": True}}
        self.check("/api/v1/nodes", taken, {"spec.unschedulable": "true"})
        self.check("/api/v1/namespaces", {"metadata": {"name": "n"}}, {"status.phase": "Active"})

    def test_workloads(self) -> None:
        """Controllers show their replicas and jobs how many pods have succeeded: 0 at first."""
        controller = {"metadata": {"name": "a"}, "spec": {"selector": {"a": "b"}, "template": TEMPLATE}}
        self.check("replicationcontrollers", controller, {"status.replicas": "0"})
        chosen = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
        self.check(
            "/apis/apps/v1/namespaces/default/replicasets",
            {"metadata": {"name": "a"}, "spec": chosen},
            {"status.replicas": "0"},
        )
        once = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
        jobs = "/apis/batch/v1/namespaces/default/jobs"
        self.check(jobs, {"metadata": {"name": "a"}, "spec": {"template": once}}, {"status.successful": "0"})

    def test_others(self) -> None:
        """Secrets and services show their type."""
        self.check("secrets", {"metadata": {"name": "a"}, "type": "x.io/y"}, {"type": "x.io/y"})
        service = {"metadata": {"name": "a"}, "spec": {"clusterIP": "None", "ports": [{"port": 1}]}}
        self.check("services", service, {"spec.clusterIP": "None", "spec.type": "ClusterIP"})

    def test_events(self) -> None:
        """Events are found through both groups, each with its own names."""
        self.check("events", EVENT, {
            "involvedObject.kind": "Pod", "involvedObject.name": "p", "involvedObject.uid": "u",
            "involvedObject.fieldPath": "spec", "reason": "Because", "type": "Normal", "source": "me",
        })  # fmt: skip
        events = "/apis/events.orch.io/v1/namespaces/default/events"
        for selector in ("regarding.kind=Pod", "regarding.name=p", "reportingController=me", "reason=Because"):
            items = self.done("GET", events + query(fieldSelector=selector))["items"]
            self.assertEqual([each["regarding"]["name"] for each in items], ["p"], selector)
        refused = self.send("GET", events + query(fieldSelector="involvedObject.kind=Pod"))
        self.assertEqual(refused.code, 400)

    def test_deletion(self) -> None:
        """A deletion takes what is selected and nothing else."""
        for name, kind in (("a", "x.io/y"), ("b", "x.io/z")):
            self.done("POST", "secrets", {"metadata": {"name": name}, "type": kind})
        self.done("DELETE", "secrets" + query(fieldSelector="type=x.io/y"))
        self.assertEqual([each["metadata"]["name"] for each in self.done("GET", "secrets")["items"]], ["b"])

    def test_watch(self) -> None:
        """A watch tells of what comes into the selection and of what leaves it."""
        url = f"{DEFAULT}/secrets" + query(watch="1", fieldSelector="type=x.io/y", resourceVersion="0")
        watch = self.run_async(self.server.watch(url))
        self.done("POST", "secrets", {"metadata": {"name": "other"}})
        self.done("POST", "secrets", {"metadata": {"name": "a"}, "type": "x.io/y"})
        event = self.run_async(watch.next())
        self.assertEqual((event["type"], event["object"]["metadata"]["name"]), ("ADDED", "a"))
        watch.close()
