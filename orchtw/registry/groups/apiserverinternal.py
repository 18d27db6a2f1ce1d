"""Versions in which servers store their objects."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.schema.tables import cells_cluster
from orchtw.values.causes import duplicate, invalid, required
from orchtw.values.names import NameForm, dns_1035_label, dns_subdomain, qualified_name
from orchtw.wire.objects import Object

_COMMON = "status.commonEncodingVersion"
_DISAGREED = (
    "should be nil if servers do not agree on the same encoding version, or if there is no server reporting the "
    "supported versions yet"
)


def storage_version_name(value: str) -> tuple[str, ...]:
    """Return the errors of a StorageVersion's name, which is group and resource."""
    group, dot, resource = value.rpartition(".")
    if not dot:
        return ("name must be in the form of <group>.<resource>",)
    errors = [f"the group segment {text}" for text in dns_subdomain(group)]
    return (*errors, *(f"the resource segment {text}" for text in dns_1035_label(resource)))


def api_version(value: str) -> str:
    """Return the error of an apiVersion, in one text, or an empty text."""
    group, slash, version = value.rpartition("/")
    if "/" in group:
        return f"an apiVersion is {dns_1035_label('-')[0]} with an optional DNS subdomain prefix and '/'"
    errors = []
    if slash:
        errors += [f"group part: {text}" for text in (dns_subdomain(group) if group else ("must be non-empty",))]
    errors += [f"version part: {text}" for text in (dns_1035_label(version) if version else ("must be non-empty",))]
    return ",".join(errors)


def validate_storage_version_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate each server's entry, and their common version."""
    status = new.get("status") or {}
    servers = status.get("storageVersions") or ()
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, server in enumerate(servers):
        if len(causes) > MAX_CAUSES:
            break
        path, name = f"status.storageVersions[{index}]", server.get("apiServerID", "")
        if name in seen:
            causes.append(duplicate(f"{path}.apiServerID", name))
        seen.add(name)
        causes += _server_causes(server, name, path)
    return causes + _common_causes(servers, status) + _condition_causes(status.get("conditions") or ())


def _server_causes(server: Object, name: str, path: str) -> list[Cause]:
    encoding, decodable = server.get("encodingVersion", ""), server.get("decodableVersions") or ()
    causes = [invalid(f"{path}.apiServerID", name, text) for text in dns_subdomain(name)]
    if error := api_version(encoding):
        causes.append(invalid(f"{path}.encodingVersion", encoding, error))
    for index, version in enumerate(decodable):
        if len(causes) > MAX_CAUSES:
            break
        if error := api_version(version):
            causes.append(invalid(f"{path}.decodableVersions[{index}]", version, error))
    if encoding not in decodable:
        text = f"decodableVersions must include encodingVersion {encoding}"
        causes.append(invalid(f"{path}.decodableVersions", decodable, text))
    return causes


def _common_causes(servers: Sequence[Object], status: Object) -> list[Cause]:
    found = {server.get("encodingVersion", "") for server in servers}
    common, said = found.pop() if len(found) == 1 else None, status.get("commonEncodingVersion")
    if common == said:
        return []
    if common is None:
        return [invalid(_COMMON, said, _DISAGREED)]
    actual = "" if said is None else "actual "
    return [invalid(_COMMON, said, f"the {actual}common encoding version is {common}")]


def _condition_causes(conditions: Sequence[Object]) -> list[Cause]:
    """Return the causes for repeated types and missing reasons of conditions. The paths are the release's."""
    causes: list[Cause] = []
    seen: dict[str, int] = {}
    for index, condition in enumerate(conditions):
        if len(causes) > MAX_CAUSES:
            break
        path, kind, value = f"status[{index}]", condition.get("type", ""), condition.get("status", "")
        if kind in seen:
            text = f"the type of the condition is not unique, it also appears in conditions[{seen[kind]}]"
            causes.append(invalid(f"{path}.type", kind, text))
        seen[kind] = index
        causes += [invalid(f"{path}.type", kind, text) for text in qualified_name(kind)]
        causes += [invalid(f"{path}.status", value, text) for text in qualified_name(value)]
        for key in ("reason", "message"):
            if not condition.get(key):
                causes.append(required(f"{path}.{key}", f"{key} cannot be empty"))
    return causes


STORAGE_VERSION = KindRecord(
    group="internal.apiserver.orch.io",
    kind="StorageVersion",
    unconditional_update=False,
    status_ignores=("spec", "metadata"),
    name_form=NameForm.dns(storage_version_name),
    validate_status=validate_storage_version_status,
    cells=cells_cluster.storage_version,
)

KINDS = (STORAGE_VERSION,)
