"""Volumes of files that the node writes: pod values, and projections of several sources (reference KIND-35)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core import newer_projections
from orchtw.registry.groups.core.field_references import VOLUME_FIELDS, field_ref_causes, resource_ref_causes
from orchtw.schema.validation.problems import within
from orchtw.schema.validation.validators import Check
from orchtw.values import file_paths
from orchtw.values.causes import forbidden, invalid, required
from orchtw.wire.objects import Object

_CORE = "orch.io.api.core.v1."
_SOURCES = frozenset(
    ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")
)
_SHORTEST_TOKEN_S: Final = 600
_LONGEST_TOKEN_S: Final = 1 << 32


def check_pod_values(source: Object, old: Object | None) -> list[Cause]:
    """Validate that each file has a path and one source; the latter is reported for the volume as a whole."""
    causes: list[Cause] = []
    for index, item in enumerate(source.get("items") or ()):
        if len(causes) > MAX_CAUSES:
            break
        causes += _path(item.get("path"))
        field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
        if field is not None:
            causes += within(f"items[{index}].fieldRef", field_ref_causes(field, VOLUME_FIELDS))
            if resource is not None:
                text = "fieldRef and resourceFieldRef can not be specified simultaneously"
                causes.append(invalid("", "resource", text))
        elif resource is not None:
            causes += within(f"items[{index}].resourceFieldRef", resource_ref_causes(resource, in_volume=True))
        else:
            causes.append(required("", "one of fieldRef and resourceFieldRef is required"))
    return causes


def _path(path: str | None) -> list[Cause]:
    if not path:
        return [required("path")]
    return [invalid("path", path, text) for text in file_paths.file_path(path)]


def check_projection(source: Object, old: Object | None) -> list[Cause]:
    """Validate that a projection has at most one source."""
    given = len(source) > 1 and len(_SOURCES.intersection(source)) > 1
    return [forbidden("", "may not specify more than 1 volume type")] if given else []


def check_projected(volume: Object, old: Object | None) -> list[Cause]:
    """Validate that no two files have the same path; errors in a token's path are reported for the volume."""
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, source in enumerate(volume.get("sources") or ()):
        if len(causes) > MAX_CAUSES:
            break
        for path, owner in _files(source):
            if path in seen:
                causes.append(invalid("", owner, "conflicting duplicate paths"))
                if len(causes) > MAX_CAUSES:
                    break
            seen.add(path)
        if (token := source.get("serviceAccountToken")) is not None:
            causes += _token(token, f"sources[{index}].serviceAccountToken")
    return causes


def _files(source: Object) -> Iterator[tuple[str, str]]:
    """Yield the path of each file, and its description for conflicts."""
    for key in ("secret", "configMap", "downwardAPI"):
        if (part := source.get(key)) is not None:
            for item in part.get("items") or ():
                if path := item.get("path"):
                    yield path, path if key == "downwardAPI" else part.get("name", "")
    yield from ((path, path) for path in newer_projections.files(source))


def _token(token: Object, place: str) -> list[Cause]:
    causes = []
    lasts_s = token.get("expirationSeconds", _SHORTEST_TOKEN_S)
    if lasts_s < _SHORTEST_TOKEN_S:
        text = "may not specify a duration less than 10 minutes"
        causes.append(invalid(f"{place}.expirationSeconds", lasts_s, text))
    if lasts_s > _LONGEST_TOKEN_S:
        text = "may not specify a duration larger than 2^32 seconds"
        causes.append(invalid(f"{place}.expirationSeconds", lasts_s, text))
    if not token.get("path"):
        causes.append(required("path"))
    return causes


def checks(naming: Naming) -> Mapping[str, Check]:
    """Return the checks by message name."""
    return {
        _CORE + "DownwardAPIVolumeSource": check_pod_values,
        _CORE + "DownwardAPIProjection": check_pod_values,
        _CORE + "ProjectedVolumeSource": check_projected,
        _CORE + "VolumeProjection": check_projection,
        _CORE + "ClusterTrustBundleProjection": newer_projections.check_trust_bundle,
        _CORE + "PodCertificateProjection": newer_projections.check_pod_certificate,
    }
