"""Table of all fields that hold product names, with the kind of identifier in each.

A rule is the name of a method of `Names`. It applies to the string in a field, to each string of a list, or to
each key of a map. User data (data of ConfigMaps and Secrets, environment, arguments, images, descriptions, values of
annotations) has no position here.
"""

from __future__ import annotations

from typing import Final

from orchtw.schema.kinds import GroupKind

ANYWHERE: Final = {
    "apiVersion": "api_version",
    "apiGroup": "group",
    "apiGroups": "group",
    "namespace": "namespace",
    "namespaces": "namespace",
    "secretNamespace": "namespace",
    "volumeNamespace": "namespace",
    "endpointsNamespace": "namespace",
    "labels": "qualified",
    "annotations": "qualified",
    "finalizers": "qualified",
    "matchLabels": "qualified",
    "nodeSelector": "qualified",
    "topologyKey": "qualified",
    "topologyKeys": "qualified",
    "deprecatedTopology": "qualified",
    "signerName": "qualified",
    "provisioner": "qualified",
    "attacher": "qualified",
    "appProtocol": "qualified",
    "fieldPath": "field_path",
}
"""By JSON key, in any struct."""

QUANTITIES: Final = "resource_name"
"""The keys of every map of quantities."""

IN: Final = {
    ("NamespaceSpec", "finalizers"): "namespace_finalizer",
    ("NodeSelectorRequirement", "key"): "qualified",
    ("LabelSelectorRequirement", "key"): "qualified",
    ("TopologySelectorLabelRequirement", "key"): "qualified",
    ("Taint", "key"): "qualified",
    ("Toleration", "key"): "qualified",
    ("ServiceSpec", "selector"): "qualified",
    ("ReplicationControllerSpec", "selector"): "qualified",
    ("Secret", "type"): "qualified",
    ("AttachedVolume", "name"): "qualified",
    ("NodeStatus", "volumesInUse"): "qualified",
    ("Volume", "name"): "token_volume",
    ("VolumeMount", "name"): "token_volume",
    ("VolumeMount", "mountPath"): "token_path",
    ("ConfigMapProjection", "name"): "config_map",
    ("ConfigMapVolumeSource", "name"): "config_map",
    ("ConfigMapEnvSource", "name"): "config_map",
    ("ConfigMapKeySelector", "name"): "config_map",
    ("CertificateSigningRequestSpec", "username"): "system",
    ("CertificateSigningRequestSpec", "groups"): "system",
    ("CertificateSigningRequestSpec", "extra"): "qualified",
    ("PolicyRule", "resourceNames"): "object_of_rule",
    ("UserSubject", "name"): "system",
    ("GroupSubject", "name"): "system",
    ("EventSource", "component"): "component",
    ("Event", "reportingComponent"): "component",
    ("CustomResourceDefinitionCondition", "type"): "known",
    ("APIServiceSpec", "group"): "group",
    ("ServerStorageVersion", "encodingVersion"): "api_version",
    ("ServerStorageVersion", "decodableVersions"): "api_version",
    ("StorageVersionStatus", "commonEncodingVersion"): "api_version",
}
"""By the struct's own name and the JSON key; before `ANYWHERE`."""

_RBAC, _FLOW = "rbac.authorization.orch.io", "flowcontrol.apiserver.orch.io"
_AGGREGATOR, _INTERNAL = "apiregistration.orch.io", "internal.apiserver.orch.io"
OBJECTS: Final = {
    GroupKind("", "Namespace"): "namespace",
    GroupKind("", "ConfigMap"): "config_map",
    GroupKind(_RBAC, "Role"): "system",
    GroupKind(_RBAC, "ClusterRole"): "system",
    GroupKind(_RBAC, "RoleBinding"): "system",
    GroupKind(_RBAC, "ClusterRoleBinding"): "system",
    GroupKind(_RBAC, "User"): "system",
    GroupKind(_RBAC, "Group"): "system",
    GroupKind(_FLOW, "FlowSchema"): "flow_schema",
    GroupKind(_AGGREGATOR, "APIService"): "version_first",
    GroupKind(_INTERNAL, "StorageVersion"): "resource_last",
}
"""What the names of objects are, by kind, in their metadata, their keys and references to them."""

IN_NAMESPACES: Final = {
    GroupKind("", "Service"): "service",
    GroupKind("", "Endpoints"): "service",
    GroupKind("discovery.orch.io", "EndpointSlice"): "service",
    GroupKind("coordination.orch.io", "Lease"): "lock",
}
"""The same, where the namespace counts, too."""

REFERENCES: Final = ("ObjectReference", "RoleRef", "Subject")
"""Structs with `name`, `kind` and `apiVersion` or `apiGroup`, perhaps `namespace`. Owners are looked at where the
namespace of what they own is known."""
