"""References to values of a pod, in volumes and in environments (reference KIND-35)."""

from __future__ import annotations

import re
from typing import Final

from orchtw.errors import Cause
from orchtw.values import names
from orchtw.values.causes import invalid, not_supported, required
from orchtw.wire.objects import Object

VOLUME_FIELDS: Final = frozenset(
    ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
)
"""Fields of the pod that a file may show."""
_KNOWN: Final = VOLUME_FIELDS | {
    *("spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName", "spec.host"),
    *("status.phase", "status.hostIP", "status.podIP", "status.podIPs"),
}
_SUBSCRIPT: Final = re.compile(r"([^\[]+)\['(.*)'\]", re.DOTALL)
_RESOURCES: Final = frozenset(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)
_HUGE_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
_CPU_DIVISORS: Final[tuple[str, ...]] = ("1m", "1")
_BYTE_DIVISORS: Final[tuple[str, ...]] = (
    *("1", "1k", "1M", "1G", "1T", "1P", "1E"),
    *("1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"),
)
_BYTES: Final = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}


def field_ref_causes(reference: Object, fields: frozenset[str]) -> list[Cause]:
    """Return the causes that reject an ObjectFieldSelector of one of `fields`, or of one label or annotation."""
    version, path = reference.get("apiVersion"), reference.get("fieldPath")
    if not version:
        return [required("apiVersion")]
    if not path:
        return [required("fieldPath")]
    if path in fields and version == "v1":
        return []
    subscript = _SUBSCRIPT.fullmatch(path)
    if problem := _unknown(version, path, subscript):
        return [invalid("fieldPath", path, f"error converting fieldPath: {problem}")]
    if subscript is None:
        return [not_supported("fieldPath", "spec.nodeName" if path == "spec.host" else path, sorted(fields))]
    key = subscript[2].lower() if subscript[1] == "metadata.annotations" else subscript[2]
    return [invalid("", subscript[2], text) for text in names.qualified_name(key)]


def _unknown(version: str, path: str, subscript: re.Match[str] | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript is None:
        return "" if path in _KNOWN else f"field label not supported: {path}"
    supported = subscript[1] in ("metadata.annotations", "metadata.labels")
    return "" if supported else f"field label does not support subscript: {path}"


def resource_ref_causes(reference: Object, *, in_volume: bool) -> list[Cause]:
    """Return the causes that reject a ResourceFieldSelector; in a volume it has to say whose resource it means."""
    resource = reference.get("resource")
    causes = []
    if in_volume and not reference.get("containerName"):
        causes.append(required("containerName"))
    elif not resource:
        causes.append(required("resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        causes.append(not_supported("resource", resource, sorted(_RESOURCES)))
    return causes + _divisor(resource or "", reference.get("divisor", "0"))


def _divisor(resource: str, divisor: str) -> list[Cause]:
    name = resource.partition(".")[2]
    if divisor == "0" or not (resource in _RESOURCES or resource.startswith(_HUGE_PAGES)):
        return []
    if name == "cpu":
        allowed, shown, what = _CPU_DIVISORS, " and ".join(_CPU_DIVISORS), "cpu"
    else:
        allowed, shown, what = _BYTE_DIVISORS, ", ".join(_BYTE_DIVISORS), _BYTES.get(name, "hugepages")
    if divisor in allowed:
        return []
    text = f"only divisor's values {shown} are supported with the {what} resource"
    return [invalid("divisor", resource, text)]
