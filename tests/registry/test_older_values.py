"""Stored values stay readable in every version of 1.16 to 1.24 (reference VER-18, VER-17, VER-6)."""
# covers: orchtw.schema.conversion.older

from __future__ import annotations

from random import Random
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.older_values import OlderValues
from orchtw.registry.rewriting import StoredNames
from orchtw.registry.strategies import strategy_for
from orchtw.registry.targets import storage_prefix
from orchtw.schema.additions import RELEASE_1_24
from orchtw.schema.catalogue import Catalogue, ResourceType
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import unwrap
from orchtw.storage.store import Op
from orchtw.wire.objects import Object
from tests.properties import examples
from tests.schema.arbitrary import Arbitrary
from tests.validation.paths import GONE, value_at
from tests.verbs.served import MERGE, ServedCase

NAMING = Naming.orch()
CATALOGUE = Catalogue.load(NAMING, RELEASE_1_24)
CODECS = Codecs(CATALOGUE)
TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
WORKLOAD = {"template": TEMPLATE}
SELECTED = {"template": TEMPLATE, "selector": {"matchLabels": {"a": "b"}}}
SUBJECTS = [
    {"kind": "User", "name": "*"},
    {"kind": "ServiceAccount", "name": "s", "namespace": "n", "apiVersion": "v1"},
]
ROLE_REF = {"apiGroup": "rbac.authorization.orch.io", "kind": "ClusterRole", "name": "r"}
RULES = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
BACKEND = {"serviceName": "s", "servicePort": 80}
PATHS = [{"path": "/", "backend": {"serviceName": "s", "servicePort": "http"}}, {"backend": {"resource": {
    "apiGroup": "x.io", "kind": "K", "name": "n"}}}]  # fmt: skip
INGRESS = {"spec": {"backend": BACKEND, "rules": [{"host": "h", "http": {"paths": PATHS}}, {"host": "i"}]}}
NEW_INGRESS = {
    "spec.defaultBackend": {"service": {"name": "s", "port": {"number": 80}}},
    "spec.rules[0].http.paths[0].backend": {"service": {"name": "s", "port": {"name": "http"}}},
    "spec.rules[0].http.paths[0].pathType": "ImplementationSpecific",
    "spec.rules[0].http.paths[1].backend.service": GONE,
    "spec.rules[0].http.paths[1].backend.resource.name": "n",
    "spec.rules[1].http": GONE,
}
HOOK = {"name": "a.b.c", "clientConfig": {"url": "https://a.b"}}
DEFINITION = {
    "metadata": {"name": "ws.x.io"},
    "spec": {
        "group": "x.io", "version": "v1", "names": {"plural": "ws", "kind": "W"},
        "validation": {"openAPIV3Schema": {"type": "object"}}, "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "A", "type": "string", "JSONPath": ".a"}],
        "conversion": {"strategy": "Webhook", "conversionReviewVersions": ["v1beta1"],
                       "webhookClientConfig": {"url": "https://a.b"}},
    },
}  # fmt: skip
METRICS = [
    {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}}}
]
REQUEST = {"request": "YQ==", "usages": ["digital signature"]}

OLD: list[tuple[str, str, Object, dict[str, Any]]] = [
    ("extensions/v1beta1", "Deployment", {"spec": {**WORKLOAD, "rollbackTo": {"revision": 3}}}, {
        "spec.selector": {"matchLabels": {"a": "b"}}, "spec.rollbackTo": GONE,
        "metadata.annotations": {"deprecated.deployment.rollback.to": "3"}, "spec.revisionHistoryLimit": 2147483647}),
    ("apps/v1beta1", "Deployment", {"spec": {**SELECTED, "rollbackTo": {"revision": 3}}}, {
        "metadata.annotations": {"deprecated.deployment.rollback.to": "3"}, "spec.revisionHistoryLimit": 2,
        "spec.progressDeadlineSeconds": 600}),
    ("apps/v1beta2", "Deployment", {"spec": SELECTED}, {"spec.replicas": 1, "spec.revisionHistoryLimit": 10}),
    ("extensions/v1beta1", "DaemonSet", {"spec": {**WORKLOAD, "templateGeneration": 7}}, {
        "spec.selector.matchLabels.a": "b", "spec.templateGeneration": GONE,
        "metadata.annotations": {"deprecated.daemonset.template.generation": "7"}}),
    ("apps/v1beta2", "DaemonSet", {"spec": SELECTED}, {"spec.selector.matchLabels.a": "b"}),
    ("extensions/v1beta1", "ReplicaSet", {"spec": WORKLOAD}, {
        "spec.selector.matchLabels.a": "b", "spec.replicas": 1}),
    ("apps/v1beta2", "ReplicaSet", {"spec": SELECTED}, {"spec.selector.matchLabels.a": "b"}),
    ("apps/v1beta1", "StatefulSet", {"spec": {**WORKLOAD, "serviceName": "s"}}, {
        "spec.selector.matchLabels.a": "b", "spec.serviceName": "s"}),
    ("apps/v1beta2", "StatefulSet", {"spec": {**SELECTED, "serviceName": "s"}}, {"spec.serviceName": "s"}),
    ("apps/v1beta1", "ControllerRevision", {"revision": 3, "data": {"a": 1}}, {"revision": 3, "data": {"a": 1}}),
    ("apps/v1beta2", "ControllerRevision", {"revision": 3}, {"revision": 3}),
    ("extensions/v1beta1", "Ingress", INGRESS, NEW_INGRESS),
    ("networking.orch.io/v1beta1", "Ingress", INGRESS, NEW_INGRESS),
    ("networking.orch.io/v1beta1", "IngressClass", {"spec": {"controller": "x.io/y"}}, {"spec.controller": "x.io/y"}),
    ("extensions/v1beta1", "NetworkPolicy", {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}, {
        "spec.podSelector.matchLabels.a": "b", "spec.policyTypes": ["Ingress"]}),
    ("extensions/v1beta1", "PodSecurityPolicy", {"spec": {"privileged": True}}, {"spec.privileged": True}),
    ("policy/v1beta1", "PodDisruptionBudget", {"spec": {"selector": {}}}, {
        "spec.selector.matchExpressions[0].operator": "Exists"}),
    ("autoscaling/v2", "HorizontalPodAutoscaler", {"spec": {
        "maxReplicas": 3, "scaleTargetRef": {"kind": "A", "name": "b"}, "metrics": METRICS}}, {
        "metadata.annotations[autoscaling.alpha.orch.io/metrics]":
            '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1"}}]'}),
    ("autoscaling/v2beta2", "HorizontalPodAutoscaler", {"spec": {
        "maxReplicas": 3, "scaleTargetRef": {"kind": "A", "name": "b"}, "metrics": METRICS}}, {
        "metadata.annotations[autoscaling.alpha.orch.io/metrics]":
            '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1"}}]'}),
    ("autoscaling/v2beta1", "HorizontalPodAutoscaler", {"spec": {
        "maxReplicas": 3, "scaleTargetRef": {"kind": "A", "name": "b"}, "metrics": [
            {"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 7}}]}}, {
        "spec.targetCPUUtilizationPercentage": 7}),
    ("batch/v1beta1", "CronJob", {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": WORKLOAD}}}, {
        "spec.schedule": "* * * * *", "spec.concurrencyPolicy": "Allow"}),
    ("discovery.orch.io/v1beta1", "EndpointSlice", {"addressType": "IPv4", "endpoints": [
        {"addresses": ["10.0.0.1"], "topology": {"topology.orch.io/zone": "z"}}]}, {"endpoints[0].zone": "z"}),
    ("events.orch.io/v1beta1", "Event", {"regarding": {"kind": "Pod", "namespace": "n"}, "note": "x"}, {
        "involvedObject.kind": "Pod", "message": "x"}),
    ("events.orch.io/v1", "Event", {"regarding": {"kind": "Pod", "namespace": "n"}, "note": "x"}, {"message": "x"}),
    ("node.orch.io/v1beta1", "RuntimeClass", {"handler": "h"}, {"handler": "h"}),
    ("node.orch.io/v1alpha1", "RuntimeClass", {"spec": {
        "runtimeHandler": "h", "overhead": {"podFixed": {"cpu": "1"}}, "scheduling": {"nodeSelector": {"a": "b"}}}}, {
        "handler": "h", "overhead.podFixed.cpu": "1", "scheduling.nodeSelector.a": "b", "spec": GONE}),
    ("rbac.authorization.orch.io/v1alpha1", "ClusterRole", {"rules": RULES}, {"rules[0].verbs": ["get"]}),
    ("rbac.authorization.orch.io/v1beta1", "ClusterRole", {"rules": RULES}, {"rules[0].verbs": ["get"]}),
    ("rbac.authorization.orch.io/v1alpha1", "Role", {"rules": RULES}, {"rules[0].verbs": ["get"]}),
    ("rbac.authorization.orch.io/v1beta1", "Role", {"rules": RULES}, {"rules[0].verbs": ["get"]}),
    ("rbac.authorization.orch.io/v1alpha1", "ClusterRoleBinding", {"subjects": SUBJECTS, "roleRef": ROLE_REF}, {
        "subjects[0].kind": "Group", "subjects[0].name": "system:authenticated",
        "subjects[0].apiGroup": "rbac.authorization.orch.io", "subjects[1].apiGroup": GONE}),
    ("rbac.authorization.orch.io/v1alpha1", "RoleBinding", {"subjects": SUBJECTS, "roleRef": ROLE_REF}, {
        "subjects[0].name": "system:authenticated", "roleRef.name": "r"}),
    ("rbac.authorization.orch.io/v1beta1", "RoleBinding", {"roleRef": ROLE_REF}, {"roleRef.name": "r"}),
    ("rbac.authorization.orch.io/v1beta1", "ClusterRoleBinding", {"roleRef": ROLE_REF}, {"roleRef.name": "r"}),
    ("scheduling.orch.io/v1alpha1", "PriorityClass", {"value": 3}, {"value": 3}),
    ("scheduling.orch.io/v1beta1", "PriorityClass", {"value": 3}, {"value": 3}),
    ("coordination.orch.io/v1beta1", "Lease", {"spec": {"holderIdentity": "h"}}, {"spec.holderIdentity": "h"}),
    ("storage.orch.io/v1beta1", "StorageClass", {"provisioner": "p"}, {
        "provisioner": "p", "reclaimPolicy": "Delete"}),
    ("storage.orch.io/v1beta1", "CSIDriver", {"spec": {"podInfoOnMount": True}}, {"spec.podInfoOnMount": True}),
    ("storage.orch.io/v1beta1", "CSINode", {"spec": {"drivers": [{"name": "d", "nodeID": "n"}]}}, {
        "spec.drivers[0].nodeID": "n"}),
    ("storage.orch.io/v1alpha1", "VolumeAttachment", {"spec": {"attacher": "a", "nodeName": "n"}}, {
        "spec.attacher": "a"}),
    ("storage.orch.io/v1beta1", "VolumeAttachment", {"spec": {"attacher": "a", "nodeName": "n"}}, {
        "spec.nodeName": "n"}),
    ("storage.orch.io/v1alpha1", "CSIStorageCapacity", {"storageClassName": "c"}, {"storageClassName": "c"}),
    ("storage.orch.io/v1", "CSIStorageCapacity", {"storageClassName": "c"}, {"storageClassName": "c"}),
    ("flowcontrol.apiserver.orch.io/v1alpha1", "FlowSchema", {"spec": {
        "priorityLevelConfiguration": {"name": "p"}}}, {"spec.priorityLevelConfiguration.name": "p"}),
    ("flowcontrol.apiserver.orch.io/v1beta1", "FlowSchema", {"spec": {
        "priorityLevelConfiguration": {"name": "p"}}}, {"spec.matchingPrecedence": 1000}),
    ("flowcontrol.apiserver.orch.io/v1alpha1", "PriorityLevelConfiguration", {"spec": {"type": "Exempt"}}, {
        "spec.type": "Exempt"}),
    ("flowcontrol.apiserver.orch.io/v1beta1", "PriorityLevelConfiguration", {"spec": {"type": "Exempt"}}, {
        "spec.type": "Exempt"}),
    ("admissionregistration.orch.io/v1beta1", "MutatingWebhookConfiguration", {"webhooks": [HOOK]}, {
        "webhooks[0].failurePolicy": "Ignore", "webhooks[0].timeoutSeconds": 30, "webhooks[0].matchPolicy": "Exact",
        "webhooks[0].sideEffects": "Unknown", "webhooks[0].admissionReviewVersions": ["v1beta1"]}),
    ("admissionregistration.orch.io/v1beta1", "ValidatingWebhookConfiguration", {"webhooks": [HOOK]}, {
        "webhooks[0].failurePolicy": "Ignore"}),
    ("certificates.orch.io/v1beta1", "CertificateSigningRequest", {
        "spec": REQUEST, "status": {"conditions": [{"type": "Approved"}]}}, {
        "spec.signerName": "orch.io/legacy-unknown", "status.conditions[0].status": "True"}),
    ("apiregistration.orch.io/v1beta1", "APIService", {"spec": {"group": "x.io", "version": "v1"}}, {
        "spec.group": "x.io"}),
    ("apiextensions.orch.io/v1beta1", "CustomResourceDefinition", DEFINITION, {
        "spec.scope": "Namespaced", "spec.versions[0].name": "v1", "spec.versions[0].storage": True,
        "spec.versions[0].schema.openAPIV3Schema.type": "object", "spec.versions[0].subresources.status": {},
        "spec.versions[0].additionalPrinterColumns[0].jsonPath": ".a", "spec.preserveUnknownFields": True,
        "spec.conversion.webhook.clientConfig.url": "https://a.b", "spec.names.singular": "w",
        "spec.conversion.webhook.conversionReviewVersions": ["v1beta1"], "status.storedVersions": ["v1"]}),
]  # fmt: skip
"""apiVersion and kind as stored, an object, and what it holds at some places in the present version."""


def home_of(api_version: str, kind: str) -> ResourceType:
    """The resource type of the version that objects of a kind are stored in now."""
    near = [each for each in CATALOGUE.resources if each.kind == kind and each.storage_version]
    (place,) = {(each.storage_group, each.storage_version, each.plural) for each in near}
    found = CATALOGUE.find(place[0] or "", place[1] or "", place[2])
    assert found is not None
    return found


def reader_of(home: ResourceType) -> OlderValues:
    """Return the reader of a kind's older values."""
    codec = CODECS.kind(home.api_version, home.kind)
    return OlderValues(codec, strategy_for(home, NAMING, codec), CODECS, NAMING)


def stored(api_version: str, kind: str, obj: Object) -> bytes:
    """The value of an object in a version, with a name."""
    codec = CODECS.kind(api_version, kind)
    given = {**obj, "metadata": {"name": "x", "uid": "u", "creationTimestamp": "2020-01-01T00:00:00Z",
                                 **obj.get("metadata", {})}}  # fmt: skip
    return codec.encode_envelope(codec.normalise(given))


class ReadingTests(SynchronousTestCase):
    def test_every_version(self) -> None:
        """Each version that a kind was ever stored in is read; what it has no field for now is kept otherwise."""
        for api_version, kind, obj, expected in OLD:
            home = home_of(api_version, kind)
            found = reader_of(home).read(stored(api_version, kind, obj))
            self.assertEqual((found["apiVersion"], found["kind"]), (home.api_version, kind))
            shown = {path: value_at(found, path) for path in expected}
            self.assertEqual(shown, expected, f"{api_version} {kind}")

    def test_all_are_here(self) -> None:
        """No version of a stored kind that has a message is left out."""
        here = {(api_version, kind) for api_version, kind, _, _ in OLD}
        kinds = {
            each.kind: home_of("", each.kind).api_version for each in CATALOGUE.resources if each.storage_version
        }
        versions = {each.api_version for each in CATALOGUE.resources} | {
            "extensions/v1beta1", "apps/v1beta1", "apps/v1beta2", "networking.orch.io/v1beta1",
            "node.orch.io/v1alpha1",
            "rbac.authorization.orch.io/v1alpha1", "rbac.authorization.orch.io/v1beta1", "storage.orch.io/v1alpha1",
            "scheduling.orch.io/v1alpha1", "scheduling.orch.io/v1beta1", "coordination.orch.io/v1beta1",
            "flowcontrol.apiserver.orch.io/v1alpha1", "admissionregistration.orch.io/v1beta1",
            "certificates.orch.io/v1beta1", "apiregistration.orch.io/v1beta1", "apiextensions.orch.io/v1beta1",
        }  # fmt: skip
        there = {
            (version, kind)
            for version in versions
            for kind, home in kinds.items()
            if version != home and CATALOGUE.message_of(version, kind) is not None
        }
        self.assertEqual(here, there)

    def test_encoded(self) -> None:
        """The results can be stored again, in the present version."""
        for api_version, kind, obj, _ in OLD:
            home = home_of(api_version, kind)
            codec = CODECS.kind(home.api_version, kind)
            found = reader_of(home).read(stored(api_version, kind, obj))
            again = codec.decode_protobuf(codec.encode_protobuf(found))
            self.assertEqual({**again, "metadata": {**again["metadata"], "resourceVersion": ""}}, found)

    @given(seed=st.integers(min_value=0, max_value=2**32))
    @examples(15)
    def test_any(self, seed: int) -> None:
        """Whatever an object of an older version holds, it is read, and comes out canonical."""
        for api_version, kind, _, _ in OLD:
            home, drawn = (
                home_of(api_version, kind),
                Arbitrary(Random(seed)).struct(CODECS.kind(api_version, kind).schema),
            )
            meta = {**(drawn.get("metadata") or {}), "name": "x"}
            found = reader_of(home).read(stored(api_version, kind, {**drawn, "metadata": meta}))
            again = CODECS.kind(home.api_version, kind).normalise(found)
            self.assertEqual({**again, "metadata": {**again["metadata"], "resourceVersion": ""}}, found)

    def test_json(self) -> None:
        """A value may be JSON, of whatever version."""
        home = home_of("", "Ingress")
        for version in ("networking.orch.io/v1beta1", "networking.orch.io/v1"):
            text = orjson.dumps({"apiVersion": version, "kind": "Ingress", "metadata": {"name": "x"}})
            self.assertEqual(reader_of(home).read(text)["apiVersion"], "networking.orch.io/v1")

    def test_strangers(self) -> None:
        """Other kinds and unknown versions are refused."""
        reader = reader_of(home_of("", "Ingress"))
        for api_version, kind in (("extensions/v1beta1", "Deployment"), ("v1", "Pod")):
            self.assertRaises(ValueError, reader.read, stored(api_version, kind, {}))
        for text in (b'{"apiVersion":"networking.orch.io/v9","kind":"Ingress"}', b"{}", b"{"):
            self.assertRaises(ValueError, reader.read, text)

    def test_other_vocabulary(self) -> None:
        """A store that is rewritten keeps versions as they are, under their other names."""
        names = StoredNames(NAMING, Naming.kubernetes())
        for api_version, kind, obj, _ in OLD:
            home = home_of(api_version, kind)
            parts = "n/x" if home.namespaced else "x"
            value = names.value(storage_prefix(home, NAMING) + parts, stored(api_version, kind, obj))
            self.assertEqual(unwrap(value)[:2], (Naming.kubernetes().api_version(api_version), kind))


class ServedTests(ServedCase):
    """Such objects through the API."""

    INGRESSES = "/apis/networking.orch.io/v1/namespaces/default/ingresses"

    def put_into_the_store(self, prefix: str, value: bytes, name: str = "x") -> None:
        """An object as an older server left it."""
        done: list[Any] = []
        found = self.store.commit(Op(f"/registry/{prefix}default/{name}", value, 0, None))
        found.addCallback(done.append) if isinstance(found, Deferred) else done.append(found)
        self.clock.advance(1)
        self.assertTrue(done)

    def old_ingress(self) -> bytes:
        return stored("extensions/v1beta1", "Ingress", {**INGRESS, "metadata": {"namespace": "default"}})

    def test_read(self) -> None:
        """They are got and listed in the version that is asked for."""
        self.put_into_the_store("networking.orch.io/ingresses/", self.old_ingress())
        found = self.done("GET", f"{self.INGRESSES}/x")
        self.assertEqual(found["apiVersion"], "networking.orch.io/v1")
        self.assertEqual({path: value_at(found, path) for path in NEW_INGRESS}, NEW_INGRESS)
        (item,) = self.done("GET", self.INGRESSES)["items"]
        self.assertEqual(item["spec"], found["spec"])

    def test_watched(self) -> None:
        """Watches tell of them."""
        watch = self.run_async(self.server.watch(f"{self.INGRESSES}?watch=1"))
        self.put_into_the_store("networking.orch.io/ingresses/", self.old_ingress())
        event = self.run_async(watch.next())
        self.assertEqual(
            (event["type"], event["object"]["spec"]["defaultBackend"]["service"]["name"]), ("ADDED", "s")
        )
        watch.close()

    def test_updated(self) -> None:
        """An update stores them in the present version; a delete removes them."""
        self.put_into_the_store("networking.orch.io/ingresses/", self.old_ingress())
        self.done("PATCH", f"{self.INGRESSES}/x", {"metadata": {"labels": {"a": "b"}}}, MERGE)
        value = self.store.items["/registry/networking.orch.io/ingresses/default/x"].value
        self.assertEqual(unwrap(value)[:2], ("networking.orch.io/v1", "Ingress"))
        found = self.done("GET", f"{self.INGRESSES}/x")
        self.assertEqual(found["metadata"]["labels"], {"a": "b"})
        self.assertEqual({path: value_at(found, path) for path in NEW_INGRESS}, NEW_INGRESS)
        self.done("DELETE", f"{self.INGRESSES}/x")
        self.assertEqual(self.code("GET", f"{self.INGRESSES}/x"), 404)

    def test_converted_twice(self) -> None:
        """An autoscaler of the newest version that lies in the store is shown in all versions."""
        metric = {"type": "Resource", "resource": {"name": "cpu", "target": {
            "type": "Utilization", "averageUtilization": 7}}}  # fmt: skip
        spec = {"maxReplicas": 3, "scaleTargetRef": {"kind": "A", "name": "b"}, "metrics": [metric]}
        meta = {"metadata": {"namespace": "default"}, "spec": spec}
        self.put_into_the_store(
            "autoscaling/horizontalpodautoscalers/", stored("autoscaling/v2", "HorizontalPodAutoscaler", meta)
        )
        for version, path, value in (
            ("v1", "spec.targetCPUUtilizationPercentage", 7),
            ("v2", "spec.metrics", [metric]),
            ("v2beta1", "spec.metrics[0].resource.targetAverageUtilization", 7),
            ("v2beta2", "spec.metrics", [metric]),
        ):
            found = self.done("GET", f"/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers/x")
            self.assertEqual(value_at(found, path), value)
