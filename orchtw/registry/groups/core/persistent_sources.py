"""Sources of persistent volumes, where they differ from those of pods (reference KIND-73)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.volume_sources import check_iscsi, flex_check
from orchtw.schema.validation.validators import Check
from orchtw.values.causes import invalid, required
from orchtw.values.names import dns_label
from orchtw.wire.objects import Object

_CORE = "orch.io.api.core.v1."
_CSI_SECRETS = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef")


def check_glusterfs(source: Object, old: Object | None) -> list[Cause]:
    """Validate that endpoints elsewhere are in a valid namespace."""
    namespace = source.get("endpointsNamespace")
    if namespace == "":
        text = "if the endpointnamespace is set, it must be a valid namespace name"
        return [invalid("endpointsNamespace", namespace, text)]
    return (
        [] if namespace is None else [invalid("endpointsNamespace", namespace, text) for text in dns_label(namespace)]
    )


def check_persistent_iscsi(source: Object, old: Object | None) -> list[Cause]:
    """Validate as in a pod, and that the Secret has a name."""
    return check_iscsi(source, old) + _check_reference(source, "name")


def check_full_reference(source: Object, old: Object | None) -> list[Cause]:
    """Validate that a Secret has a name, and a namespace, for the volume has none."""
    return _check_reference(source, "name", "namespace")


def check_azure_file(source: Object, old: Object | None) -> list[Cause]:
    """Validate that the namespace of the Secret is not empty."""
    return [required("secretNamespace")] if source.get("secretNamespace") == "" else []


def check_persistent_csi(source: Object, old: Object | None) -> list[Cause]:
    """Validate that Secrets for the driver have names and namespaces; their forms are reported elsewhere."""
    causes = []
    for field in _CSI_SECRETS:
        reference = source.get(field)
        if reference is None:
            continue
        for part in ("name", "namespace"):
            if value := reference.get(part):
                causes += [invalid(part, value, text) for text in dns_label(value)]
            else:
                causes.append(required(f"{field}.{part}"))
    return causes


def _check_reference(source: Object, *parts: str) -> list[Cause]:
    reference = source.get("secretRef")
    return [] if reference is None else [required(f"secretRef.{part}") for part in parts if not reference.get(part)]


def checks(naming: Naming) -> Mapping[str, Check]:
    """Return the checks by message name."""
    found: dict[str, Callable[[Object, Object | None], list[Cause]]] = {
        "GlusterfsPersistentVolumeSource": check_glusterfs,
        "ISCSIPersistentVolumeSource": check_persistent_iscsi,
        "CinderPersistentVolumeSource": check_full_reference,
        "StorageOSPersistentVolumeSource": check_full_reference,
        "AzureFilePersistentVolumeSource": check_azure_file,
        "FlexPersistentVolumeSource": flex_check(naming),
        "CSIPersistentVolumeSource": check_persistent_csi,
    }
    return {_CORE + message: check for message, check in found.items()}
