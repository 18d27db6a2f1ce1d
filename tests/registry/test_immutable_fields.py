"""Fields that cannot change once they are set, kind by kind (reference KIND-11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object
from tests.end_to_end.case import surface
from tests.end_to_end.minimal import Minimal
from tests.validation.paths import GONE, changed
from tests.verbs.served import ServedCase

Change = Mapping[str, Any]
FIXED = "field is immutable"
POD = (
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`, "
    "`spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing "
    "tolerations) or `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
STATEFUL = "updates to statefulset spec for fields other than"
CLAIM = "spec is immutable after creation except resources.requests for bound claims"
SELECTOR = {"spec.selector": {"matchLabels": {"app": "minimal", "b": "c"}}, "spec.template.metadata.labels[b]": "c"}
TERMS = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}
OTHER_TERMS = [{"matchExpressions": [{"key": "b", "operator": "Exists"}]}]
BALANCED: Change = {
    "spec.type": "LoadBalancer", "spec.clusterIP": GONE, "spec.externalTrafficPolicy": "Local",
    "spec.loadBalancerClass": "example.com/c",
}  # fmt: skip

# By resource: what is set in the first object beside what it needs, a change of it, and the text of the refusal; no
# text, if the change is allowed.
CASES: dict[str, tuple[tuple[Change, Change, str], ...]] = {
    "pods": (
        ({}, {"spec.containers[0].name": "z"}, POD),
        ({}, {"spec.nodeName": "n"}, POD),
        ({}, {"spec.terminationGracePeriodSeconds": 1}, POD),
        ({}, {"spec.ephemeralContainers": [{"name": "e", "image": "i"}]}, POD),
        ({}, {"spec.containers[0].image": "z"}, ""),
        ({}, {"spec.activeDeadlineSeconds": 5}, ""),
        ({"spec.activeDeadlineSeconds": 5}, {"spec.activeDeadlineSeconds": 4}, ""),
        ({"spec.activeDeadlineSeconds": 5}, {"spec.activeDeadlineSeconds": 6}, "must be less than or equal to"),
        ({}, {"spec.tolerations": [{"key": "a", "operator": "Exists"}]}, ""),
        ({"spec.terminationGracePeriodSeconds": -1}, {"spec.terminationGracePeriodSeconds": 1}, ""),
    ),
    "deployments": (({}, SELECTOR, FIXED),),
    "daemonsets": (({}, SELECTOR, FIXED),),
    "replicasets": (({}, SELECTOR, FIXED),),
    "statefulsets": (
        ({}, {"spec.serviceName": "z"}, STATEFUL),
        ({}, {"spec.podManagementPolicy": "Parallel"}, STATEFUL),
        ({}, {"spec.replicas": 3, "spec.minReadySeconds": 3, "spec.updateStrategy": {"type": "OnDelete"}}, ""),
        ({}, {"spec.template.metadata.labels[b]": "c"}, ""),
        ({}, {"spec.persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Retain"}}, ""),
    ),
    "jobs": (
        ({}, {"spec.completions": 7}, FIXED),
        ({"spec.completions": 1}, {"spec.completionMode": "Indexed"}, FIXED),
        ({}, {"spec.template.metadata.labels[b]": "c"}, FIXED),
        ({}, SELECTOR, FIXED),
        ({}, {"spec.parallelism": 3}, ""),
        ({"spec.suspend": True}, {"spec.template.spec.nodeSelector": {"a": "b"}}, ""),
        ({"spec.suspend": True}, {"spec.template.spec.containers[0].image": "z"}, FIXED),
    ),
    "controllerrevisions": (({}, {"data": {"x": "y"}}, FIXED), ({}, {"revision": 9}, "")),
    "services": (
        ({}, {"spec.clusterIP": "10.0.0.77", "spec.clusterIPs": ["10.0.0.77"]}, "may not change once set"),
        (
            {"spec.clusterIP": GONE},
            {"spec.ipFamilies": ["IPv6"], "spec.clusterIP": "fd00::9", "spec.clusterIPs": ["fd00::9"]},
            "spec.ipFamilies[0]: Invalid value: ",
        ),
        ({"spec.clusterIP": GONE}, {"spec.clusterIP": "10.0.0.9", "spec.clusterIPs": ["10.0.0.9"]}, "may not change"),
        (
            {"spec.clusterIP": GONE},
            {"spec.type": "ExternalName", "spec.externalName": "a.b", "spec.clusterIP": GONE, "spec.clusterIPs": GONE,
             "spec.ipFamilies": GONE, "spec.ipFamilyPolicy": GONE},
            "",
        ),
        (BALANCED, {"spec.loadBalancerClass": "other.example.com/c"}, "may not change once set"),
        (BALANCED, {"spec.healthCheckNodePort": 30999}, "cannot change healthCheckNodePort on loadBalancer service"),
    ),
    "configmaps": (
        ({"immutable": True}, {"data[key]": "z"}, "field is immutable when `immutable` is set"),
        ({"immutable": True}, {"immutable": False}, "field is immutable when `immutable` is set"),
        ({"immutable": True}, {"metadata.labels": {"a": "b"}}, ""),
    ),
    "secrets": (
        ({"immutable": True}, {"data[key]": "eg=="}, "field is immutable when `immutable` is set"),
        ({}, {"type": "a.b/c"}, FIXED),
        ({}, {"data[key]": "eg=="}, ""),
    ),
    "nodes": (
        ({}, {"spec.podCIDR": "10.1.0.0/24", "spec.podCIDRs": ["10.1.0.0/24"], "spec.providerID": "x"}, ""),
        (
            {"spec.podCIDR": "10.1.0.0/24", "spec.podCIDRs": ["10.1.0.0/24"]},
            {"spec.podCIDR": "10.2.0.0/24", "spec.podCIDRs": ["10.2.0.0/24"]},
            "node updates may not change podCIDR except from",
        ),
        ({"spec.providerID": "x"}, {"spec.providerID": "y"}, "node updates may not change providerID except from"),
    ),
    "persistentvolumes": (
        ({}, {"spec.hostPath.path": "/z"}, "spec.persistentvolumesource is immutable after creation"),
        ({}, {"spec.volumeMode": "Block"}, FIXED),
        ({"spec.nodeAffinity": TERMS}, {"spec.nodeAffinity.required.nodeSelectorTerms": OTHER_TERMS}, FIXED),
    ),
    "persistentvolumeclaims": (({}, {"spec.accessModes": ["ReadOnlyMany"]}, CLAIM),),
    "resourcequotas": (({}, {"spec.scopes": ["BestEffort"]}, FIXED),),
    "endpointslices": (({}, {"addressType": "FQDN", "endpoints": []}, FIXED),),
    "ingressclasses": (({}, {"spec.controller": "a.b/c"}, FIXED),),
    "runtimeclasses": (({}, {"handler": "z"}, FIXED),),
    "rolebindings": (({}, {"roleRef.name": "edit"}, "cannot change roleRef"),),
    "clusterrolebindings": (({}, {"roleRef.name": "edit"}, "cannot change roleRef"),),
    "priorityclasses": (
        ({}, {"value": 5}, "may not be changed in an update."),
        ({}, {"preemptionPolicy": "Never"}, FIXED),
    ),
    "storageclasses": (
        ({}, {"parameters": {"a": "b"}}, "updates to parameters are forbidden."),
        ({}, {"provisioner": "a.b/c"}, "updates to provisioner are forbidden."),
        ({}, {"reclaimPolicy": "Retain"}, "updates to reclaimPolicy are forbidden."),
        ({}, {"volumeBindingMode": "WaitForFirstConsumer"}, FIXED),
    ),
    "csidrivers": (
        ({}, {"spec.attachRequired": False}, FIXED),
        ({}, {"spec.podInfoOnMount": True}, FIXED),
        ({}, {"spec.volumeLifecycleModes": ["Ephemeral"]}, FIXED),
        ({}, {"spec.fsGroupPolicy": "None"}, FIXED),
    ),
    "csinodes": (
        ({}, {"spec.drivers[0].nodeID": "z"}, FIXED),
        ({}, {"spec.drivers[1]": {"name": "other.example.com", "nodeID": "z"}}, ""),
        ({}, {"spec.drivers": []}, ""),
    ),
    "volumeattachments": (({}, {"spec.attacher": "z"}, FIXED),),
    "csistoragecapacities": (
        ({}, {"nodeTopology": {"matchLabels": {"a": "b"}}}, FIXED),
        ({}, {"storageClassName": "z"}, FIXED),
    ),
}  # fmt: skip


class ImmutableFieldTests(ServedCase):
    """Changes by PUT, of objects that are otherwise as small as can be."""

    more = {"emulated_version": "1.24", "service_cluster_ip_range": ("10.0.0.0/24", "fd00::/112")}

    def test_changes(self) -> None:
        """Changes of what the kind fixes are refused with its text, others are not (reference KIND-11)."""
        catalogue, codecs = surface("orch")
        minimal = Minimal(catalogue, codecs)
        number = 0
        for resource in catalogue.resources:
            if resource.version != "v1":
                continue
            for first, change, text in CASES.get(resource.plural, ()):
                number += 1
                made = minimal.obj(resource, f"minimal-{number}", "default" if resource.namespaced else "")
                made = self.done("POST", collection(resource), changed(made, first))
                path = f"{collection(resource)}/{made['metadata']['name']}"
                answer = self.send("PUT", path, changed(made, change))
                self.assertEqual(answer.code, 422 if text else 200, f"{path} {change}: {answer.body!r}")
                self.assertIn(text, answer.json.get("message", ""), path)

    def test_bootstrap_configurations(self) -> None:
        """The specs of flow control's `exempt` and `catch-all` are as the server made them (reference KIND-11)."""
        group = "/apis/flowcontrol.apiserver.orch.io/v1beta2"
        for path, change in (
            ("flowschemas/exempt", {"spec.matchingPrecedence": 5}),
            ("flowschemas/catch-all", {"spec.matchingPrecedence": 5}),
            ("prioritylevelconfigurations/catch-all", {"spec.limited.assuredConcurrencyShares": 50}),
        ):
            live: Object = self.done("GET", f"{group}/{path}")
            answer = self.send("PUT", f"{group}/{path}", changed(live, change))
            self.assertEqual(answer.code, 422, path)


def collection(resource: ResourceType) -> str:
    """The path of a resource's objects in namespace default."""
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    return f"{root}/namespaces/default/{resource.plural}" if resource.namespaced else f"{root}/{resource.plural}"
