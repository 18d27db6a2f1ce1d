"""References of pods and volumes to objects that their node may read (reference AUTHZ-31)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from orchtw.wire.objects import Object

SECRETS: Final = "secrets"
CONFIG_MAPS: Final = "configmaps"
CLAIMS: Final = "persistentvolumeclaims"
ACCOUNTS: Final = "serviceaccounts"

Reference = tuple[str, str, str]
"""Resource, namespace and name of an object."""

_SECRET_SOURCES: Final = (
    ("azureFile", "secretName"),
    ("cephfs", "secretRef"),
    ("cinder", "secretRef"),
    ("csi", "nodePublishSecretRef"),
    ("flexVolume", "secretRef"),
    ("iscsi", "secretRef"),
    ("rbd", "secretRef"),
    ("scaleIO", "secretRef"),
    ("secret", "secretName"),
    ("storageos", "secretRef"),
)
"""Fields of a pod's volume that name a secret: directly, or by a reference with a name."""

_VOLUME_SECRETS: Final = (
    ("cephfs", "secretRef"),
    ("cinder", "secretRef"),
    ("csi", "nodePublishSecretRef"),
    ("csi", "nodeStageSecretRef"),
    ("flexVolume", "secretRef"),
    ("iscsi", "secretRef"),
    ("rbd", "secretRef"),
    ("scaleIO", "secretRef"),
    ("storageos", "secretRef"),
)
"""Fields of a PersistentVolume that name a secret which node agents use."""

_OWN_NAMESPACE: Final = frozenset({"cephfs", "flexVolume", "iscsi", "rbd", "scaleIO"})
"""Volume types whose secrets default to the claim's namespace."""


def of_pod(pod: Object) -> frozenset[Reference]:
    """Return the references of a pod, all of them in its namespace."""
    namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    spec = pod.get("spec") or {}
    found = [(ACCOUNTS, spec.get("serviceAccountName"))]
    found += ((SECRETS, _name(each)) for each in spec.get("imagePullSecrets") or ())
    for containers in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(containers) or ():
            found += _of_container(container)
    for volume in spec.get("volumes") or ():
        found += _of_volume(volume, name)
    return frozenset((resource, namespace, each) for resource, each in found if each)


def of_volume(volume: Object) -> tuple[Reference | None, frozenset[Reference]]:
    """Return the claim that a PersistentVolume is bound to, and its secrets; None and no secrets if it is unbound."""
    spec = volume.get("spec") or {}
    claim = spec.get("claimRef")
    if not claim:
        return None, frozenset()
    namespace = claim.get("namespace", "")
    found = []
    for kind, field in _VOLUME_SECRETS:
        secret = (spec.get(kind) or {}).get(field)
        if secret:
            own = namespace if kind in _OWN_NAMESPACE else ""
            found.append((secret.get("namespace") or own, secret.get("name", "")))
    if file := spec.get("azureFile"):
        found.append((file.get("secretNamespace") or namespace, file.get("secretName", "")))
    secrets = frozenset((SECRETS, space, name) for space, name in found if space and name)
    return (CLAIMS, namespace, claim.get("name", "")), secrets


def _of_container(container: Object) -> Iterator[tuple[str, Any]]:
    for source in container.get("envFrom") or ():
        yield SECRETS, _name(source.get("secretRef"))
        yield CONFIG_MAPS, _name(source.get("configMapRef"))
    for variable in container.get("env") or ():
        origin = variable.get("valueFrom") or {}
        yield SECRETS, _name(origin.get("secretKeyRef"))
        yield CONFIG_MAPS, _name(origin.get("configMapKeyRef"))


def _of_volume(volume: Object, pod: str) -> Iterator[tuple[str, Any]]:
    for kind, field in _SECRET_SOURCES:
        secret = (volume.get(kind) or {}).get(field)
        yield SECRETS, _name(secret) if isinstance(secret, dict) else secret
    yield CONFIG_MAPS, _name(volume.get("configMap"))
    for source in (volume.get("projected") or {}).get("sources") or ():
        yield SECRETS, _name(source.get("secret"))
        yield CONFIG_MAPS, _name(source.get("configMap"))
    yield CLAIMS, (volume.get("persistentVolumeClaim") or {}).get("claimName")
    if volume.get("ephemeral"):
        yield CLAIMS, f"{pod}-{volume['name']}"


def _name(reference: Object | None) -> str:
    return str((reference or {}).get("name") or "")
