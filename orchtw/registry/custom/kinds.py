"""From a definition to the resource types and schemas of its versions (reference CRD-2, CRD-3)."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Any, Final

import orjson

from orchtw.naming import Naming
from orchtw.objects import Object
from orchtw.schema.catalogue import ResourceType, Subresource
from orchtw.schema.custom.schemas import CustomSchema
from orchtw.schema.schemas import OBJECT_META, Kind, Schemas
from orchtw.schema.versions import maturity

VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SUBRESOURCE_VERBS: Final = ("get", "patch", "update")
_EVERYTHING: Final = b'{"type":"object","%spreserve-unknown-fields":true}'


def kinds_of(definition: Object, schemas: Schemas) -> list[Kind]:
    """What `Targets.add` takes: every version of the definition, also those that are not served."""
    naming = schemas.naming
    metadata = schemas.struct(OBJECT_META)
    versions = definition["spec"]["versions"]
    served = sorted((each["name"] for each in versions if each["served"]), key=maturity)
    preferred = served[0] if served else ""
    found: list[Kind] = []
    for version in versions:
        resource = _resource(definition, version, preferred, naming)
        source = _source(version, naming)
        found.append((resource, CustomSchema(resource.message, source, metadata, naming)))
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
        field_selectors=("metadata.name", "metadata.namespace"),
        introduced=None,
        deprecated=None,
        removed=None,
        replacement=None,
        columns=(),
        message=".".join((*reversed(group.split(".")), name, kind)),
        protobuf=False,
    )


def _subresources(version: Object, group: str, kind: str, naming: Naming) -> list[Subresource]:
    asked: dict[str, Any] = version.get("subresources") or {}
    found = []
    if asked.get("status") is not None:
        own = Subresource(name="status", kind=kind, group=group, version=version["name"], verbs=_SUBRESOURCE_VERBS)
        found.append(own)
    if asked.get("scale") is not None:
        autoscaling = naming.group("autoscaling")
        found.append(
            Subresource(name="scale", kind="Scale", group=autoscaling, version="v1", verbs=_SUBRESOURCE_VERBS)
        )
    return found


def _source(version: Object, naming: Naming) -> bytes:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    return _EVERYTHING % naming.extension_prefix.encode() if schema is None else orjson.dumps(schema)


def _storage_hash(group: str, version: str, kind: str) -> str:
    """How discovery marks a stored form, as of the release's kinds."""
    return b64encode(sha256(f"{group}/{version}/{kind}".encode()).digest()[:8]).decode()
