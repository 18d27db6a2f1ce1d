"""Operations on the discovery paths and `/version/` (reference OPENAPI-16)."""

from __future__ import annotations

from orchtw.naming.naming import Naming
from orchtw.schema.openapi.definition_names import group_title, tag, title
from orchtw.schema.openapi.definitions import META, VERSION_INFO
from orchtw.schema.openapi.operations import Operation


def _get(naming: Naming, path: str, name: str, tag_: str, what: str, message: str) -> Operation:
    types = ("application/json", "application/yaml", naming.protobuf_media_type)
    return Operation(
        path=path, method="get", id=f"get{name}", tag=tag_, description=what, produces=types, consumes=types,
        responses={200: message},
    )  # fmt: skip


def core_versions(naming: Naming) -> Operation:
    """Return the operation of `/api/`."""
    what = "The versions of the core group."
    return _get(naming, "/api/", "CoreAPIVersions", "core", what, f"{META}.APIVersions")


def groups(naming: Naming) -> Operation:
    """Return the operation of `/apis/`."""
    return _get(naming, "/apis/", "APIVersions", "apis", "The named API groups.", f"{META}.APIGroupList")


def group(naming: Naming, name: str) -> Operation:
    """Return the operation of `/apis/<group>/`."""
    what = f"The versions of {name}."
    id_ = f"{group_title(name, naming)}APIGroup"
    return _get(naming, f"/apis/{name}/", id_, tag(name, "", naming), what, f"{META}.APIGroup")


def resources(naming: Naming, name: str, version: str) -> Operation:
    """Return the operation of `/apis/<group>/<version>/` or `/api/<version>/`."""
    path = f"/apis/{name}/{version}/" if name else f"/api/{version}/"
    id_ = f"{group_title(name, naming)}{title(version)}APIResources"
    what = f"The resources of {name or 'the core group'} {version}."
    return _get(naming, path, id_, tag(name, version, naming), what, f"{META}.APIResourceList")


def version(naming: Naming) -> Operation:
    """Return the operation of `/version/`, which supports JSON only."""
    return Operation(
        path="/version/", method="get", id="getCodeVersion", tag="version", description="The server's release.",
        consumes=("application/json",), produces=("application/json",), responses={200: VERSION_INFO},
    )  # fmt: skip
