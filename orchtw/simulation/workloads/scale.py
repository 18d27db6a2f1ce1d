"""The scale of any object that has one: of the release's kinds, and of custom ones by their definition."""

from __future__ import annotations

from typing import Final

import msgspec

from orchtw.client.interface import Client, Resource
from orchtw.errors import NotFound
from orchtw.naming.naming import Naming
from orchtw.registry.scaling import WORKLOAD, PathScale, ScaleMapping
from orchtw.schema.catalogue import ScalePaths
from orchtw.wire.objects import Object

_SCALED: Final = {
    ("apps", "deployments"), ("apps", "replicasets"), ("apps", "statefulsets"), ("", "replicationcontrollers"),
}  # fmt: skip
_DEFINITIONS: Final = "apiextensions.orch.io"


class Scaled(msgspec.Struct, frozen=True):
    """An object with a scale: wanted replicas, and the text of the selector of its pods, empty if it has none."""

    resource: Resource
    obj: Object
    mapping: ScaleMapping
    replicas: int
    selector: str


class Scaler:
    """Reads and writes scales."""

    def __init__(self, client: Client, naming: Naming) -> None:
        self._client = client
        self._naming = naming

    async def read(self, resource: Resource, namespace: str, name: str) -> Scaled:
        """Return an object's scale. Raises NotFound (404), also if the kind has none, InternalError (500)."""
        mapping = await self._mapping(resource)
        obj = await self._client.get(resource, namespace, name)
        replicas, _, selector = mapping.show(obj)
        return Scaled(resource, obj, mapping, replicas, selector)

    async def write(self, scaled: Scaled, replicas: int) -> None:
        """Write the wanted replicas. Raises Conflict (409) if the object has changed, and what an update raises."""
        meta, changed = scaled.obj["metadata"], scaled.mapping.take(scaled.obj, replicas)
        await self._client.update(scaled.resource, meta["namespace"], meta["name"], changed, "scale")

    async def _mapping(self, resource: Resource) -> ScaleMapping:
        if (resource.group, resource.plural) in _SCALED:
            return WORKLOAD
        definitions = self._client.resource(self._naming.group(_DEFINITIONS), "v1", "customresourcedefinitions")
        found = await self._client.find(definitions, "", f"{resource.plural}.{resource.group}")
        for version in () if found is None else found.load()["spec"]["versions"]:
            paths = (version.get("subresources") or {}).get("scale")
            if version["name"] == resource.version and paths is not None:
                return PathScale(
                    ScalePaths(
                        replicas=paths["specReplicasPath"],
                        status_replicas=paths["statusReplicasPath"],
                        selector=paths.get("labelSelectorPath", ""),
                    )
                )
        raise NotFound("the server could not find the requested resource")
