"""The smallest valid object of every kind, made from its schema.

`EXTRA` names fields that no marker calls required and that an object of the kind is refused without; `VALUES` holds
values where a field's format or meaning allows few. Both go by the struct's own name, so that one entry serves
every kind and version that contains the struct.
"""

from __future__ import annotations

import base64
import copy
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from orchtw.schema.catalogue import Catalogue, ResourceType
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.nodes import MISSING, Field, ListSchema, MapSchema, Node, NodeForm, Scalar, StructSchema
from orchtw.wire.objects import Object

LABELS = {"app": "minimal"}
TIME = "2026-01-02T03:04:05Z"
MICRO_TIME = "2026-01-02T03:04:05.000006Z"

_PODS = [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]

EXTRA: dict[str, tuple[str, ...]] = {
    "StorageVersionMigration": ("spec",),
    "MutatingAdmissionPolicy": ("spec",),
    "MutatingAdmissionPolicyBinding": ("spec",),
    "MutatingAdmissionPolicyBindingSpec": ("policyName",),
    "MutatingAdmissionPolicySpec": ("matchConstraints", "mutations", "reinvocationPolicy"),
    "MatchResources": ("resourceRules",),
    "ValidatingAdmissionPolicy": ("spec",),
    "ValidatingAdmissionPolicyBinding": ("spec",),
    "ValidatingAdmissionPolicyBindingSpec": ("policyName", "validationActions"),
    "ValidatingAdmissionPolicySpec": ("matchConstraints", "validations"),
    "ServiceCIDR": ("spec",),
    "ServiceCIDRSpec": ("cidrs",),
    "VolumeAttributesClass": ("parameters",),
    "ResourceSliceSpec": ("allNodes",),
    "APIServiceSpec": ("group", "version"),
    "CertificateSigningRequestSpec": ("usages",),
    "ClusterRole": ("rules",),
    "ConfigMap": ("data",),
    "Container": ("image",),
    "ControllerRevision": ("data",),
    "CustomResourceDefinitionVersion": ("schema",),
    "DaemonSet": ("spec",),
    "Deployment": ("spec",),
    "CronJob": ("spec",),
    "Endpoints": ("subsets",),
    "EndpointSubset": ("addresses", "ports"),
    "Event": ("type", "reason", "action", "reportingController", "reportingInstance", "reportingComponent"),
    "FlowSchema": ("spec",),
    "HorizontalPodAutoscaler": ("spec",),
    "Ingress": ("spec",),
    "IngressClass": ("spec",),
    "IngressClassSpec": ("controller",),
    "IngressSpec": ("defaultBackend",),
    "Job": ("spec",),
    "JobTemplateSpec": ("spec",),
    "JSONSchemaProps": ("type",),
    "CustomResourceValidation": ("openAPIV3Schema",),
    "LabelSelector": ("matchLabels",),
    "Lease": ("spec",),
    "LeaseSpec": ("holderIdentity", "leaseDurationSeconds"),
    "LimitRange": ("spec",),
    "LimitRangeItem": ("max",),
    "NetworkPolicy": ("spec",),
    "ObjectReference": ("kind", "name"),
    "PersistentVolume": ("spec",),
    "PersistentVolumeClaim": ("spec",),
    "PersistentVolumeClaimSpec": ("accessModes", "resources"),
    "PersistentVolumeSpec": ("capacity", "accessModes", "hostPath"),
    "Pod": ("spec",),
    "PodDisruptionBudget": ("spec",),
    "PodDisruptionBudgetSpec": ("minAvailable", "selector"),
    "PodSecurityPolicy": ("spec",),
    "PodTemplate": ("template",),
    "PodTemplateSpec": ("metadata", "spec"),
    "PolicyRule": ("apiGroups", "resources", "verbs"),
    "PriorityLevelConfiguration": ("spec",),
    "PriorityLevelConfigurationSpec": ("limited",),
    "LimitedPriorityLevelConfiguration": ("assuredConcurrencyShares", "limitResponse"),
    "ReplicaSet": ("spec",),
    "ReplicaSetSpec": ("template",),
    "ReplicationController": ("spec",),
    "ReplicationControllerSpec": ("selector", "template"),
    "ResourceQuota": ("spec",),
    "ResourceQuotaSpec": ("hard",),
    "Role": ("rules",),
    "Secret": ("data",),
    "PodSecurityPolicySpec": ("seLinux", "runAsUser", "supplementalGroups", "fsGroup"),
    "FSGroupStrategyOptions": ("rule",),
    "SupplementalGroupsStrategyOptions": ("rule",),
    "SelfSubjectAccessReviewSpec": ("resourceAttributes",),
    "SelfSubjectRulesReviewSpec": ("namespace",),
    "Service": ("spec",),
    "ServiceSpec": ("ports", "selector", "clusterIP"),
    "StatefulSet": ("spec",),
    "StorageVersionCondition": ("message",),
    "SubjectAccessReviewSpec": ("user", "resourceAttributes"),
    "TokenReviewSpec": ("token",),
    "VolumeAttachmentSource": ("persistentVolumeName",),
    "IngressBackend": ("service",),
    "IngressServiceBackend": ("port",),
    "ServiceBackendPort": ("number",),
    "APIService": ("spec",),
    "ServiceReference": ("namespace", "name"),
    "ResourceAttributes": ("namespace", "verb", "resource"),
    "ResourceRequirements": ("requests",),
    "VolumeResourceRequirements": ("requests",),
}

VALUES: dict[tuple[str, str], Any] = {
    ("MatchResources", "resourceRules"): _PODS,
    ("MutatingAdmissionPolicySpec", "mutations"): [
        {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
    ],
    ("MutatingAdmissionPolicySpec", "reinvocationPolicy"): "Never",
    ("Validation", "expression"): "true",
    ("ValidatingAdmissionPolicyBindingSpec", "validationActions"): ["Deny"],
    ("ServiceCIDRSpec", "cidrs"): ["10.1.0.0/16"],
    ("VolumeAttributesClass", "parameters"): {"a": "b"},
    ("ResourceSliceSpec", "allNodes"): True,
    ("ResourcePool", "resourceSliceCount"): 1,
    ("DeviceTaint", "effect"): "NoSchedule",
    ("LeaseCandidateSpec", "binaryVersion"): "1.30.0",
    ("LeaseCandidateSpec", "strategy"): "OldestEmulationVersion",
    ("PodCertificateRequestSpec", "signerName"): "example.com/signer",
    ("PodGroupSpec", "schedulingPolicy"): {"basic": {}},
    ("StorageVersionMigrationSpec", "resource"): {"resource": "pods"},
    ("WorkloadSpec", "podGroupTemplates"): [{"name": "a", "schedulingPolicy": {"basic": {}}}],
    ("ParentReference", "resource"): "services",
    ("LimitedPriorityLevelConfiguration", "nominalConcurrencyShares"): 1,
    ("APIServiceSpec", "group"): "api.example.com",
    ("APIServiceSpec", "groupPriorityMinimum"): 1000,
    ("APIServiceSpec", "version"): "v1",
    ("APIServiceSpec", "versionPriority"): 15,
    ("CSINodeDriver", "name"): "csi.example.com",
    ("CertificateSigningRequestSpec", "signerName"): "example.com/signer",
    ("CertificateSigningRequestSpec", "usages"): ["client auth"],
    ("ConfigMap", "data"): {"key": "value"},
    ("CronJobSpec", "schedule"): "*/5 * * * *",
    ("CustomResourceDefinitionNames", "kind"): "Widget",
    ("CustomResourceDefinitionNames", "plural"): "widgets",
    ("CustomResourceDefinitionSpec", "group"): "example.com",
    ("CustomResourceDefinitionVersion", "name"): "v1",
    ("CustomResourceDefinitionVersion", "served"): True,
    ("CustomResourceDefinitionVersion", "storage"): True,
    ("Endpoint", "addresses"): ["10.1.2.3"],
    ("EndpointAddress", "ip"): "10.1.2.3",
    ("EndpointSlice", "addressType"): "IPv4",
    ("Event", "type"): "Normal",
    ("FSGroupStrategyOptions", "rule"): "RunAsAny",
    ("HorizontalPodAutoscalerSpec", "maxReplicas"): 3,
    ("HostPathVolumeSource", "path"): "/data",
    ("JSONSchemaProps", "type"): "object",
    ("LabelSelector", "matchLabels"): LABELS,
    ("LimitRangeItem", "max"): {"cpu": "1"},
    ("LimitRangeItem", "type"): "Container",
    ("LimitedPriorityLevelConfiguration", "assuredConcurrencyShares"): 5,
    ("LimitedPriorityLevelConfiguration", "limitResponse"): {"type": "Reject"},
    ("ObjectMeta", "labels"): LABELS,
    ("PersistentVolumeClaimSpec", "accessModes"): ["ReadWriteOnce"],
    ("PersistentVolumeSpec", "accessModes"): ["ReadWriteOnce"],
    ("PersistentVolumeSpec", "capacity"): {"storage": "1Gi"},
    ("PodDisruptionBudgetSpec", "minAvailable"): 1,
    ("PodTemplateSpec", "metadata"): {"labels": LABELS},
    ("PriorityClass", "value"): 1000,
    ("PriorityLevelConfigurationSpec", "type"): "Limited",
    ("ReplicationControllerSpec", "selector"): LABELS,
    ("ResourceQuotaSpec", "hard"): {"pods": "10"},
    ("ResourceRequirements", "requests"): {"storage": "1Gi"},
    ("VolumeResourceRequirements", "requests"): {"storage": "1Gi"},
    ("RoleRef", "kind"): "ClusterRole",
    ("RoleRef", "name"): "view",
    ("RunAsUserStrategyOptions", "rule"): "RunAsAny",
    ("RuntimeClass", "handler"): "runc",
    ("SELinuxStrategyOptions", "rule"): "RunAsAny",
    ("Secret", "data"): {"key": base64.b64encode(b"value").decode()},
    ("ServicePort", "port"): 80,
    ("ServiceBackendPort", "number"): 80,
    ("ServiceSpec", "clusterIP"): "None",
    ("ServiceSpec", "selector"): LABELS,
    ("StatefulSetSpec", "serviceName"): "minimal",
    ("SupplementalGroupsStrategyOptions", "rule"): "RunAsAny",
    ("StorageClass", "provisioner"): "example.com/provisioner",
    ("EndpointPort", "port"): 8080,
    ("IngressClassSpec", "controller"): "example.com/controller",
    ("ResourceAttributes", "verb"): "get",
    ("ResourceAttributes", "resource"): "pods",
    ("LeaseSpec", "leaseDurationSeconds"): 15,
    ("ObjectReference", "kind"): "Node",
}

# Names with more to them than a DNS label.
NAMES = {
    "IPAddress": "10.1.0.9",
    "APIService": "v1.api.example.com",
    "CustomResourceDefinition": "widgets.example.com",
    "StorageVersion": "example.com.widgets",
}


_MADE_ELSEWHERE = ("kind", "apiVersion", "metadata", "status")


class Minimal:
    """Makes objects in one vocabulary."""

    def __init__(self, catalogue: Catalogue, codecs: Codecs) -> None:
        self._naming = catalogue.naming
        self._codecs = codecs

    def obj(self, resource: ResourceType, name: str, namespace: str = "") -> Object:
        """The object of `resource` that has this name (or the one its kind prescribes) in this namespace."""
        schema = self._codecs.kind(resource.api_version, resource.kind).schema
        meta = {"name": NAMES.get(resource.kind, name), **({"namespace": namespace} if resource.namespaced else {})}
        fields = {key: value for key, value in self._struct(schema).items() if key not in _MADE_ELSEWHERE}
        obj = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": meta, **fields}
        return self._adapted(obj, namespace)

    def status(self, resource: ResourceType) -> Object:
        """A status of the kind that is not empty."""
        node = self._codecs.kind(resource.api_version, resource.kind).schema.keys["status"].node
        assert isinstance(node, StructSchema)
        status = self._struct(node)
        if "observedGeneration" in node.keys and not node.keys["observedGeneration"].dormant:
            return {**status, "observedGeneration": 7}
        conditions = node.keys.get("conditions")
        if conditions is not None:
            return {**status, "conditions": [self._condition(conditions)]}
        choices = {"loadBalancer": {"ingress": [{"ip": "10.9.8.7"}]}, "lastScheduleTime": TIME, "attached": True}
        choices |= {"hard": {"pods": "10"}, "message": "tested"}
        on_labels = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
        choices |= {"allocation": {"nodeSelector": {"nodeSelectorTerms": [on_labels]}}}
        key = next(key for key in choices if key in node.keys)
        return {**status, key: choices[key]}

    def _condition(self, conditions: Field) -> Object:
        assert isinstance(conditions.node, ListSchema) and isinstance(conditions.node.element, StructSchema)
        kind = conditions.node.element
        return {**self._struct(kind), "type": "Tested", "status": "True"}

    def _struct(self, schema: StructSchema) -> Object:
        short = schema.name.rpartition(".")[2]
        wanted = EXTRA.get(short, ())
        return {
            key: copy.deepcopy(VALUES[short, key]) if (short, key) in VALUES else self._value(field, field.node)
            for key, field in schema.keys.items()
            if field.required or key in wanted
        }

    def _value(self, field: Field, node: Node) -> Any:
        if field.enum is not None and node is Scalar.STRING:
            return field.enum.values[0]
        if field.default is not MISSING and node is Scalar.STRING:
            return field.default
        if isinstance(node, StructSchema):
            return self._struct(node)
        if isinstance(node, ListSchema):
            return [self._value(field, node.element)]
        if isinstance(node, MapSchema):
            return {}
        return _LEAVES[node]

    def _adapted(self, obj: Object, namespace: str) -> Object:
        """Fill in what follows from other fields or from the vocabulary."""
        kind, spec = obj["kind"], obj.get("spec", {})
        if kind == "Job":
            spec["template"]["spec"]["restartPolicy"] = "Never"
            spec |= {"manualSelector": True, "selector": {"matchLabels": LABELS}}  # not of the uid: it is foreseen
        elif kind == "CronJob":
            spec["jobTemplate"]["spec"]["template"]["spec"]["restartPolicy"] = "Never"
        elif kind == "Event":
            about = "involvedObject" if "involvedObject" in obj else "regarding"
            obj[about] = {"kind": "Pod", "name": "p", "namespace": namespace, "apiVersion": "v1"}
        elif kind == "LocalSubjectAccessReview":
            spec["resourceAttributes"]["namespace"] = namespace
        elif kind == "CertificateSigningRequest":
            spec["request"] = signing_request()
        elif kind == "ClusterTrustBundle":
            spec["trustBundle"] = certificate()
        elif kind == "VolumeAttachment":
            spec["source"] = {"persistentVolumeName": "pv"}
        return obj


_LEAVES: dict[Node, Any] = {
    Scalar.STRING: "minimal",
    Scalar.BOOL: True,
    Scalar.INT32: 1,
    Scalar.INT64: 1,
    Scalar.DOUBLE: 1.5,
    Scalar.BYTES: "AA==",
    NodeForm.TIME: TIME,
    NodeForm.MICRO_TIME: MICRO_TIME,
    NodeForm.DURATION: "1m0s",
    NodeForm.QUANTITY: "1",
    NodeForm.INT_OR_STRING: 1,
    NodeForm.ANY: {"any": "thing"},
    NodeForm.OBJECT: {},
    NodeForm.STRINGS: ["a"],
}


def signing_request() -> str:
    """A PKCS #10 request in PEM, as CertificateSigningRequest carries it."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "minimal")])
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, SHA256())
    return base64.b64encode(request.public_bytes(Encoding.PEM)).decode()


def certificate() -> str:
    """A new certificate that signs itself, as PEM."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "minimal")])
    key, start = ec.generate_private_key(ec.SECP256R1()), datetime(2024, 1, 1, tzinfo=UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(start).not_valid_after(start + timedelta(days=1))
    return made.sign(key, SHA256()).public_bytes(Encoding.PEM).decode()
