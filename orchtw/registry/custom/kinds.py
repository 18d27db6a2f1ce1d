"""Resource types and schemas of the versions of a definition (reference CRD-2, CRD-3)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final

import orjson

from orchtw.config.releases import LAST, Release
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions.schema_nodes import Path, walk
from orchtw.schema.catalogue import ResourceType, ScalePaths, Subresource
from orchtw.schema.custom import formats
from orchtw.schema.custom.extensions import extensions
from orchtw.schema.custom.structural import CustomSchema
from orchtw.schema.declarations import Column
from orchtw.schema.schemas import OBJECT_META, Kind, Schemas
from orchtw.schema.versions import maturity
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
FIELDS: Final = ("metadata.name", "metadata.namespace")
_SUBRESOURCE_VERBS: Final = ("get", "patch", "update")
_EVERYTHING: Final = b'{"type":"object","%spreserve-unknown-fields":true}'


def kinds_of(
    definition: Object, schemas: Schemas, *, rules: bool = True, release: Release = LAST
) -> list[Kind]:
    """Return the kinds for `Targets.add`: every version of the definition, also those that are not served.

    The definition is canonical, valid, and its names have been accepted. `rules`: enforce those in schemas.
    `release`: the one whose formats are validated.
    """
    naming = schemas.naming
    metadata = schemas.struct(OBJECT_META)
    versions = definition["spec"]["versions"]
    served = sorted((each["name"] for each in versions if each["served"]), key=maturity)
    preferred = served[0] if served else ""
    found: list[Kind] = []
    for version in versions:
        resource = _resource(definition, version, preferred, naming)
        source = _source(version, naming, rules=rules, release=release)
        schema = CustomSchema(resource.message, source, metadata, naming)
        _ = schema.keys  # made here, where nobody waits for it
        found.append((resource, schema))
    return found


def _resource(definition: Object, version: Object, preferred: str, naming: Naming) -> ResourceType:
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    group, name, kind = spec["group"], version["name"], names["kind"]
    storage = next(each["name"] for each in spec["versions"] if each["storage"])
    return ResourceType(
        group=group,
        version=name,
        plural=names["plural"],
        singular=names.get("singular", ""),
        kind=kind,
        list_kind=names.get("listKind") or f"{kind}List",
        namespaced=spec["scope"] == "Namespaced",
        verbs=VERBS,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(_subresources(version, group, kind, naming)),
        storage_version=storage,
        storage_group=group,
        storage_version_hash=_storage_hash(group, storage, kind),
        default_on=version["served"],
        preferred=name == preferred,
        delete_returns_object=False,
        field_selectors=(*FIELDS[: 2 if spec["scope"] == "Namespaced" else 1], *selectable_fields(version)),
        introduced=None,
        deprecated=None,
        removed=None,
        replacement=None,
        columns=tuple(_columns(version)),
        message=".".join((*reversed(group.split(".")), name, kind)),
        protobuf=False,
        warning=_warning(definition, version),
    )


def selectable_fields(version: Object) -> tuple[str, ...]:
    """Return the fields that selectors of a version may name, beside those of metadata."""
    return tuple(each["jsonPath"].removeprefix(".") for each in version.get("selectableFields") or ())


def _subresources(version: Object, group: str, kind: str, naming: Naming) -> list[Subresource]:
    asked: dict[str, Any] = version.get("subresources") or {}
    found = []
    if asked.get("status") is not None:
        own = Subresource(name="status", kind=kind, group=group, version=version["name"], verbs=_SUBRESOURCE_VERBS)
        found.append(own)
    if (scale := asked.get("scale")) is not None:
        paths = ScalePaths(
            replicas=scale["specReplicasPath"],
            status_replicas=scale["statusReplicasPath"],
            selector=scale.get("labelSelectorPath", ""),
        )
        scale_group = naming.group("autoscaling")
        found.append(
            Subresource(
                name="scale", kind="Scale", group=scale_group, version="v1", verbs=_SUBRESOURCE_VERBS, scale=paths
            )
        )
    return found


def _columns(version: Object) -> Iterator[Column]:
    for column in version.get("additionalPrinterColumns") or ():
        path = column["jsonPath"]
        yield Column(
            name=column["name"],
            type=column["type"],
            format=column.get("format", ""),
            priority=column.get("priority", 0),
            cell=column.get("description") or f"Custom resource definition column (in JSONPath format): {path}",
            path=path,
        )


def _warning(definition: Object, version: Object) -> str:
    """Return the warning for requests to a deprecated version (reference CRD-20)."""
    if not version.get("deprecated"):
        return ""
    if (own := version.get("deprecationWarning")) is not None:
        return str(own)
    spec, kind = definition["spec"], definition["status"]["acceptedNames"]["kind"]
    text = f"{spec['group']}/{version['name']} {kind} is deprecated"
    others = (each["name"] for each in spec["versions"] if each["served"] and not each.get("deprecated"))
    newer = min(others, key=maturity, default="")
    if not newer or maturity(newer) > maturity(version["name"]):
        return text
    return f"{text}; use {spec['group']}/{newer} {kind}"


def _source(version: Object, naming: Naming, *, rules: bool, release: Release) -> bytes:
    """Return the JSON of a version's schema, without rules unless they are enforced, and without later formats."""
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is None:
        return _EVERYTHING % naming.extension_prefix.encode()
    source = orjson.dumps(schema)
    key = extensions(naming).validations
    kept = rules or key.encode() not in source
    if kept and (release >= formats.NEWEST or b'"format"' not in source):
        return source
    copy = loads(source)
    for node in walk(copy, Path(None, ""), extensions(naming)):
        drop: Any = node.schema
        if not rules:
            drop.pop(key, None)
        name = drop.get("format")
        if name and formats.find(name) is not None and not formats.is_known(name, release):
            del drop["format"]
    return orjson.dumps(copy)


def _storage_hash(group: str, version: str, kind: str) -> str:
    """Return the storage version hash for discovery, as of built-in kinds."""
    return b64encode(sha256(f"{group}/{version}/{kind}".encode()).digest()[:8]).decode()
