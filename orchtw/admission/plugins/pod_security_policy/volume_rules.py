"""Rules for volumes (reference PLUG-108)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from orchtw.admission.plugins.pod_security_policy.policy import SecurityPolicy
from orchtw.errors import MAX_CAUSES, Cause
from orchtw.registry.groups.core.pod_annotations import containers_of
from orchtw.values.causes import invalid
from orchtw.wire.objects import Object

_ALL: Final = "*"
_OTHER_NAMES: Final = {"cephfs": "cephFS"}
_TOKEN: Final = "token"
_NAMESPACE: Final = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}


def volumes(spec: Object, policy: SecurityPolicy) -> list[Cause]:
    """Return the causes that reject a pod's volumes; the check stops after more than MAX_CAUSES."""
    causes: list[Cause] = []
    allowed = policy.names("volumes")
    only_read = any(each.get("readOnly") for each in policy.spec.get("allowedHostPaths") or ())
    mounts = _writable(spec) if only_read else {}
    for index, volume in enumerate(spec.get("volumes") or ()):
        if len(causes) > MAX_CAUSES:
            break
        source = next((key for key in volume if key != "name"), "")
        kind, field = _OTHER_NAMES.get(source, source), f"spec.volumes[{index}]"
        if not allowed.isdisjoint((_ALL, kind)) or ("secret" in allowed and _is_token(volume, policy)):
            causes += _source(volume, field, policy, mounts)
        else:
            causes.append(invalid(field, kind, f"{kind} volumes are not allowed to be used"))
    return causes


def _source(volume: Object, field: str, policy: SecurityPolicy, mounts: Mapping[str, Sequence[str]]) -> list[Cause]:
    """Return the causes that reject a volume of an allowed kind; `mounts` are the writable mounts by volume."""
    if "hostPath" in volume:
        return _host_path(volume, field, policy, mounts)
    if "flexVolume" in volume:
        drivers, driver = policy.names("allowedFlexVolumes"), volume["flexVolume"].get("driver", "")
        at, what = f"{field}.driver", "Flexvolume driver"
    elif "csi" in volume:
        drivers, driver = policy.names("allowedCSIDrivers"), volume["csi"].get("driver", "")
        at, what = f"{field}.csi.driver", "Inline CSI driver"
    else:
        return []
    return [invalid(at, driver, f"{what} is not allowed to be used")] if drivers and driver not in drivers else []


def _host_path(
    volume: Object, field: str, policy: SecurityPolicy, mounts: Mapping[str, Sequence[str]]
) -> list[Cause]:
    """Return the causes that reject a hostPath.

    It must lie below an allowed prefix, and be mounted read-only if all prefixes above it say so.
    """
    path, prefixes = volume["hostPath"].get("path", ""), policy.spec.get("allowedHostPaths") or ()
    if not prefixes:
        return []
    fitting = [each for each in prefixes if _is_below(path, each.get("pathPrefix", ""))]
    if not fitting:
        return [invalid(f"{field}.hostPath.pathPrefix", path, "is not allowed to be used")]
    if not all(each.get("readOnly") for each in fitting):
        return []
    return [invalid(f"{place}.readOnly", False, "must be read-only") for place in mounts.get(volume["name"], ())]


def _writable(spec: Object) -> Mapping[str, Sequence[str]]:
    """Return the places of writable mounts by the names of their volumes."""
    found: dict[str, list[str]] = {}
    for place, container in containers_of(spec):
        for index, mount in enumerate(container.get("volumeMounts") or ()):
            if not mount.get("readOnly"):
                found.setdefault(mount["name"], []).append(f"spec.{place}.volumeMounts[{index}]")
    return found


def _is_below(path: str, prefix: str) -> bool:
    path, prefix = path.removesuffix("/"), prefix.removesuffix("/")
    return path == prefix or path.startswith(f"{prefix}/")


def _is_token(volume: Object, policy: SecurityPolicy) -> bool:
    """Report whether a volume is a projected account token, allowed like the Secret that it replaced."""
    sources = (volume.get("projected") or {}).get("sources") or ()
    return bool(sources) and all(_is_part_of_token(source, policy) for source in sources)


def _is_part_of_token(source: Object, policy: SecurityPolicy) -> bool:
    if (token := source.get("serviceAccountToken")) is not None:
        return token.get("path") == _TOKEN and not token.get("audience")
    if (authorities := source.get("configMap")) is not None:
        whole = {"name": policy.authorities, "items": [{"key": "ca.crt", "path": "ca.crt"}]}
        return all(authorities.get(key) == value for key, value in whole.items())
    items = (source.get("downwardAPI") or {}).get("items") or ()
    return bool(items) and all(
        each.get("path") == "namespace" and each.get("fieldRef") == _NAMESPACE for each in items
    )
