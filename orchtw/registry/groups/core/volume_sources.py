"""Validation of volumes: exactly one source each, and rules of the sources (reference KIND-35)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.schema.validation.metadata import validate_annotations, validate_labels
from orchtw.schema.validation.problems import within
from orchtw.schema.validation.validators import Check
from orchtw.values import names, utf8
from orchtw.values.causes import forbidden, invalid, not_supported, required
from orchtw.wire.objects import Object

_CORE = "orch.io.api.core.v1."
_SOURCES: Final = (
    *("emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi"),
    *("glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc"),
    *("flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk"),
    *("storageos", "projected", "scaleIO", "csi", "ephemeral", "image"),
)
_ORDER: Final = {source: place for place, source in enumerate(_SOURCES)}
_SPELLED: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""Spelling of some sources in the API's messages about one too many."""
_LARGEST_PARTITION: Final = 255
_LARGEST_UNIT: Final = 255
_LONGEST_INTERFACE: Final = 64
_LONGEST_TENANT: Final = 64
_INITIATORS: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+", re.ASCII),
    "eui": re.compile("eui.[A-Za-z0-9]{16}"),
    "naa": re.compile("naa.[A-Za-z0-9]{32}"),
}


def check_volume(volume: Object, old: Object | None) -> list[Cause]:
    """Validate that a volume has one source; some errors inside it are reported beside it."""
    sources = [key for key in volume if key != "name"]
    if len(sources) != 1:
        return _too_many(sources) if sources else [required("", "must specify a volume type")]
    beside = _BESIDE.get(sources[0])
    return [] if beside is None else beside(volume, volume[sources[0]])


def _too_many(sources: list[str]) -> list[Cause]:
    later = sorted(sources, key=lambda key: _ORDER.get(key, len(_ORDER)))[1:]
    return [forbidden(_SPELLED.get(key, key), "may not specify more than 1 volume type") for key in later]


def gce_disk_causes(disk: Object) -> list[Cause]:
    """Return the causes of a GCE disk, reported under its former name."""
    place = "persistentDisk"
    causes = [] if disk.get("pdName") else [required(f"{place}.pdName")]
    partition = disk.get("partition", 0)
    if not 0 <= partition <= _LARGEST_PARTITION:
        causes.append(invalid(f"{place}.partition", partition, "must be between 1 and 255, inclusive"))
    return causes


def _check_interface(volume: Object, disk: Object) -> list[Cause]:
    """Validate the length of the interface name made from portal and volume for an initiator."""
    name = volume.get("name", "")
    if disk.get("initiatorName") is None or len(f"{name}:{disk.get('targetPortal', '')}") <= _LONGEST_INTERFACE:
        return []
    text = (
        "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
        "specified."
    )
    return [invalid("name", name, text)]


_BESIDE: Final[Mapping[str, Callable[[Object, Object], list[Cause]]]] = {
    "gcePersistentDisk": lambda volume, disk: gce_disk_causes(disk),
    "iscsi": _check_interface,
}


def check_empty_dir(source: Object, old: Object | None) -> list[Cause]:
    """Validate that a limit is not negative."""
    negative = source.get("sizeLimit", "").startswith("-")
    return [forbidden("sizeLimit", "SizeLimit field must be a valid resource quantity")] if negative else []


def check_iscsi(source: Object, old: Object | None) -> list[Cause]:
    """Validate that names of target and initiator have one of three forms, and that CHAP has a Secret."""
    causes = []
    if target := source.get("iqn"):
        causes += _initiator("iqn", target)
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        causes.append(required("secretRef"))
    if (initiator := source.get("initiatorName")) is not None:
        causes += _initiator("initiatorname", initiator)
    return causes


def _initiator(place: str, name: str) -> list[Cause]:
    form = _INITIATORS.get(name[:3])
    if form is None:
        return [invalid(place, name, "must be valid format starting with iqn, eui, or naa")]
    return [] if form.fullmatch(name) else [invalid(place, name, "must be valid format")]


def check_flocker(source: Object, old: Object | None) -> list[Cause]:
    """Validate that a dataset is given by its name or by its identity."""
    name, identity = source.get("datasetName"), source.get("datasetUUID")
    causes = []
    if not name and not identity:
        causes.append(required("", "one of datasetName and datasetUUID is required"))
    if name and identity:
        causes.append(invalid("", "resource", "datasetName and datasetUUID can not be specified simultaneously"))
    if name and "/" in name:
        causes.append(invalid("datasetName", name, "must not contain '/'"))
    return causes


def check_secret_ref(source: Object, old: Object | None) -> list[Cause]:
    """Validate that a referenced Secret has a name."""
    reference = source.get("secretRef")
    return [required("secretRef.name")] if reference is not None and not reference.get("name") else []


def check_name(source: Object, old: Object | None) -> list[Cause]:
    """Validate that the referenced object has a name."""
    return [] if source.get("name") else [required("name")]


def check_quobyte(source: Object, old: Object | None) -> list[Cause]:
    """Validate that a registry is a list of hosts with ports, and the length of a tenant."""
    causes = []
    registry, tenant = source.get("registry"), source.get("tenant", "")
    if utf8.size(tenant) > _LONGEST_TENANT:
        causes.append(required("tenant", "must be a UUID and may not exceed a length of 64 characters"))
    if registry and not all(map(_is_host_and_port, registry.split(","))):
        text = "must be a host:port pair or multiple pairs separated by commas"
        causes.append(invalid("registry", registry, text))
    return causes


def _is_host_and_port(text: str) -> bool:
    host, colon, port = text.rpartition(":")
    if host.startswith("["):
        return bool(colon) and host.endswith("]") and "]" not in host[:-1] and "[" not in host[1:]
    return bool(colon) and not any(sign in host or sign in port for sign in ":[]")


def check_fibre_channel(source: Object, old: Object | None) -> list[Cause]:
    """Validate that a disk is given by targets and unit, or by world-wide identifiers."""
    targets, identifiers, unit = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    causes = []
    if not targets and not identifiers:
        causes.append(required("targetWWNs", "must specify either targetWWNs or wwids, but not both"))
    if targets and identifiers:
        text = "targetWWNs and wwids can not be specified simultaneously"
        causes.append(invalid("targetWWNs", targets, text))
    if targets and unit is None:
        causes.append(required("lun", "lun is required if targetWWNs is specified"))
    elif targets and not 0 <= (unit or 0) <= _LARGEST_UNIT:
        causes.append(invalid("lun", unit, f"must be between 0 and {_LARGEST_UNIT}, inclusive"))
    return causes


_MANAGED_DISK = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_DISK_IN_ACCOUNT = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def check_azure_disk(source: Object, old: Object | None) -> list[Cause]:
    """Validate that the address of a disk fits its kind."""
    kind, address = source.get("kind"), source.get("diskURI", "")
    if kind == "Managed" and not address.startswith("/subscriptions/"):
        return [not_supported("diskURI", address, [_MANAGED_DISK])]
    if kind is not None and kind != "Managed" and not address.startswith("https://"):
        return [not_supported("diskURI", address, [_DISK_IN_ACCOUNT])]
    return []


def check_csi(source: Object, old: Object | None) -> list[Cause]:
    """Validate that the Secret for the driver has a name."""
    reference = source.get("nodePublishSecretRef")
    if reference is None:
        return []
    if not (name := reference.get("name")):
        return [required("nodePublishSecretRef.name")]
    return [invalid("name", name, text) for text in names.dns_subdomain(name)]


def check_claim_template(template: Object, old: Object | None) -> list[Cause]:
    """Validate that the claim of an ephemeral volume has only labels and annotations as metadata."""
    meta = template.get("metadata") or {}
    causes = validate_labels(meta.get("labels") or {}, "labels")
    causes += validate_annotations(meta.get("annotations") or {}, "annotations")
    for key, value in meta.items():
        if value and key not in ("labels", "annotations"):
            causes.append(forbidden(key, "cannot be set for an ephemeral volume"))
    return within("metadata", causes)


def flex_check(naming: Naming) -> Check:
    """Return the check that no option is named in the product's own domains, which the node fills in."""
    domains = tuple(dict.fromkeys((naming.label_domain, naming.api_domain)))
    endings = tuple(f".{domain}" for domain in domains)
    text = f"{' and '.join(domains)} namespaces are reserved"

    def check_flex(source: Object, old: Object | None) -> list[Cause]:
        causes = []
        for key in source.get("options") or ():
            if f".{key.partition('/')[0].lower()}".endswith(endings):
                causes.append(invalid("options", key, text))
            if len(causes) > MAX_CAUSES:
                break
        return causes

    return check_flex


def checks(naming: Naming) -> Mapping[str, Check]:
    """Return the checks by message name."""
    found: dict[str, Check] = {
        "Volume": check_volume,
        "EmptyDirVolumeSource": check_empty_dir,
        "ISCSIVolumeSource": check_iscsi,
        "FlockerVolumeSource": check_flocker,
        "CinderVolumeSource": check_secret_ref,
        "StorageOSVolumeSource": check_secret_ref,
        "QuobyteVolumeSource": check_quobyte,
        "FCVolumeSource": check_fibre_channel,
        "AzureDiskVolumeSource": check_azure_disk,
        "CSIVolumeSource": check_csi,
        "FlexVolumeSource": flex_check(naming),
        "ConfigMapVolumeSource": check_name,
        "ConfigMapProjection": check_name,
        "SecretProjection": check_name,
        "PersistentVolumeClaimTemplate": check_claim_template,
    }
    return {_CORE + message: check for message, check in found.items()}
