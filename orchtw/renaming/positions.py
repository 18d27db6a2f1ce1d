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
"""Positions by JSON key, in any struct."""

QUANTITIES: Final = "resource_name"
"""Rule for the keys of every map of quantities."""

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
"""Positions by the struct's own name and the JSON key; looked up before `ANYWHERE`."""

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
"""Rules for object names by kind: in their metadata, in store keys and in references to them."""

IN_NAMESPACES: Final = {
    GroupKind("", "Service"): "service",
    GroupKind("", "Endpoints"): "service",
    GroupKind("discovery.orch.io", "EndpointSlice"): "service",
    GroupKind("coordination.orch.io", "Lease"): "lock",
}
"""Rules for object names that also depend on the namespace."""

REFERENCES: Final = ("ObjectReference", "RoleRef", "Subject")
"""Structs with `name`, `kind` and `apiVersion` or `apiGroup`, maybe `namespace`. Owner references are translated in
`whole_objects`, where the namespace of the dependent is known."""
