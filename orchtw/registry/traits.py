"""How kinds differ in ways that no field option can say: generation, PUT rules, deletion defaults.

Source: the strategies of release 1.24 (supplement A1, A12, B2).
"""

from __future__ import annotations

from typing import Any

import attrs

Paths = tuple[tuple[str, ...], ...]
SPEC: Paths = (("spec",),)

# What raises metadata.generation when it changes; kinds that are not here do not track it. Empty: 1 for ever.
_GENERATION: dict[tuple[str, str], Paths] = {
    ("", "PodTemplate"): (("template",),),
    ("", "ReplicationController"): SPEC,
    ("apps", "Deployment"): (("spec",), ("metadata", "annotations")),
    ("apps", "DaemonSet"): SPEC,
    ("apps", "ReplicaSet"): SPEC,
    ("apps", "StatefulSet"): SPEC,
    ("batch", "Job"): SPEC,
    ("batch", "CronJob"): SPEC,
    ("discovery", "EndpointSlice"): (("addressType",), ("endpoints",), ("ports",), ("metadata", "labels")),
    ("networking", "Ingress"): SPEC,
    ("networking", "IngressClass"): SPEC,
    ("networking", "NetworkPolicy"): SPEC,
    ("policy", "PodDisruptionBudget"): SPEC,
    ("scheduling", "PriorityClass"): (),
    ("storage", "CSIDriver"): SPEC,
    ("admissionregistration", "MutatingWebhookConfiguration"): (("webhooks",),),
    ("admissionregistration", "ValidatingWebhookConfiguration"): (("webhooks",),),
    ("apiextensions", "CustomResourceDefinition"): SPEC,
    ("flowcontrol", "FlowSchema"): SPEC,
    ("flowcontrol", "PriorityLevelConfiguration"): SPEC,
}

_CREATE_ON_UPDATE = frozenset(
    {"Endpoints", "Event", "LimitRange", "Service", "Lease", "RuntimeClass", "Role", "ClusterRole", "RoleBinding"}
    | {"ClusterRoleBinding"}
)

_VERSION_REQUIRED = frozenset(
    {"RuntimeClass", "PodDisruptionBudget", "StorageVersion", "CSIDriver", "CSINode", "CSIStorageCapacity"}
    | {"VolumeAttachment", "Lease", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
    | {"CustomResourceDefinition", "APIService"}
)

# Kinds whose dependents are orphaned unless the request says otherwise (supplement A12, step 2).
_ORPHANS_BY_DEFAULT = frozenset(
    {("", "v1", "ReplicationController"), ("batch", "v1", "Job"), ("batch", "v1beta1", "CronJob")}
)

# Kinds whose /status leaves the metadata as it was, beyond what every status update keeps.
_STATUS_KEEPS_METADATA = frozenset(
    {"VolumeAttachment", "CustomResourceDefinition", "APIService", "FlowSchema", "PriorityLevelConfiguration"}
    | {"StorageVersion"}
)

# What a write to /status cannot change, where it is more than the spec; it is never owned through there either.
_STATUS_IGNORES = {
    "Pod": ("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
    "Deployment": ("spec", "metadata.labels"),
    **dict.fromkeys(_STATUS_KEEPS_METADATA, ("spec", "metadata")),
}


@attrs.frozen(slots=True, kw_only=True)
class Traits:
    """The write rules of one kind.

    `generation` lists what raises metadata.generation (None: not tracked); `create_on_update` lets a PUT
    create; `unconditional_update` lets a PUT leave out the resourceVersion. `status_ignores` are the paths that a
    write to /status leaves as they are.
    """

    generation: Paths | None
    create_on_update: bool
    unconditional_update: bool
    status_ignores: tuple[str, ...]

    @classmethod
    def of(cls, group: str, kind: str) -> Traits:
        """The traits of `kind` in `group`, which may be spelled in any vocabulary."""
        return cls(
            generation=_GENERATION.get((group.split(".")[0], kind)),
            create_on_update=kind in _CREATE_ON_UPDATE,
            unconditional_update=kind not in _VERSION_REQUIRED,
            status_ignores=_STATUS_IGNORES.get(kind, ("spec",)),
        )

    def changed(self, new: dict[str, Any], old: dict[str, Any]) -> bool:
        """Whether anything that counts for metadata.generation differs."""
        return any(_at(new, path) != _at(old, path) for path in self.generation or ())


def orphans_by_default(group: str, version: str, kind: str) -> bool:
    """Whether deleting through this version leaves dependents alone when no policy is given."""
    return (group, version, kind) in _ORPHANS_BY_DEFAULT


def _at(obj: dict[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = obj
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value
