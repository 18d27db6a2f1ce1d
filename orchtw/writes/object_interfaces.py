"""Object interfaces for admission: other versions of an object, and copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import orjson

from orchtw.admission.attributes import kind_of
from orchtw.naming.naming import Naming
from orchtw.registry.converting import run_converting
from orchtw.registry.offload import Offload
from orchtw.registry.target import Target
from orchtw.registry.targets import Targets
from orchtw.schema.catalogue import ResourceType, joined
from orchtw.schema.codec.body import fit_own
from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.json_text import load_json
from orchtw.wire.objects import Object

T = TypeVar("T")


class ServedSurface:
    """Implementation of `admission.attributes.Surface` on the served targets."""

    def __init__(self, targets: Targets, naming: Naming, offload: Offload) -> None:
        self._targets = targets
        self._offload = offload
        self.meta_group = naming.meta_group

    def equivalents(self, resource: ResourceType) -> Mapping[str, ResourceType]:
        """Return the versions of a resource, as `Surface.equivalents`; one that is not stored has only itself."""
        if resource.storage_version is None:
            return {resource.api_version: resource}
        versions = self._targets.versions_of(self._target(resource))
        return {api_version: target.resource for api_version, target in versions.items()}

    async def convert(self, obj: Object, source: ResourceType, wanted: ResourceType, size_bytes: int) -> Object:
        given, asked = self._target(source), self._target(wanted)

        def converted() -> Object:
            return given.convert(given.codec.normalise(obj), asked)

        return await run_converting(self._offload, size_bytes, converted)

    async def copy(self, obj: Object, size_bytes: int) -> Object:
        copied: Object = await self._offload.run(size_bytes, lambda: load_json(orjson.dumps(obj)))
        return copied

    def reader(self, resource: ResourceType, subresource: str) -> Callable[[Object], Object]:
        kind = kind_of(resource, subresource)
        api_version = joined(kind.group, kind.version)
        if resource.storage_version is not None and (api_version, kind.kind) == (resource.api_version, resource.kind):
            target = self._target(resource)
            return lambda obj: _read(target.codec, obj, target.complete)
        codec = self._targets.codecs.any_kind(api_version, kind.kind)
        return lambda obj: _read(codec, obj)

    async def run(self, size_bytes: int, work: Callable[[], T]) -> T:
        return await self._offload.run(size_bytes, work)

    def _target(self, resource: ResourceType) -> Target:
        return self._targets.stored_target(resource.group, resource.version, resource.plural)


def _read(codec: Codec, obj: Object, complete: Callable[[Object], None] | None = None) -> Object:
    found = fit_own(codec, obj)
    if complete is not None:
        complete(found)
    return found
