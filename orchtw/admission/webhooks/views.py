"""One write as webhooks see it: in the versions that they know, as JSON that is made once (reference HOOK-8)."""

from __future__ import annotations

from typing import Final

import orjson

from orchtw.admission.attributes import Attributes
from orchtw.admission.webhooks.review import NULL
from orchtw.errors import InternalError, StatusError
from orchtw.registry.system_metadata import ORDER
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object

VERSION: Final = "resourceVersion"


class WebhookView:
    """The write through one resource; `attributes` are the request's own, or as if it had come through another."""

    __slots__ = ("_changes", "_obj", "_old", "attributes", "synced")

    def __init__(self, attributes: Attributes, synced: int) -> None:
        self.attributes = attributes
        self.synced = synced
        self._obj: bytes = b""
        self._old: bytes = b""
        self._changes = -1

    async def texts(self) -> tuple[bytes, bytes]:
        """The object, canonical with all defaults, and the old one as JSON."""
        attributes = self.attributes
        if self._changes != attributes.changes or not (attributes.canonical or attributes.finished):
            await self._complete()
            self._obj = await _dumped(attributes, attributes.obj, attributes.old)
            self._changes = attributes.changes
        if not self._old:
            self._old = await _dumped(attributes, attributes.old)
        return self._obj, self._old

    async def _complete(self) -> None:
        """Make the object canonical: another plugin may have changed it."""
        attributes, obj = self.attributes, self.attributes.obj
        if attributes.canonical or attributes.finished or obj is None:
            return
        read = attributes.surface.reader(attributes.resource, attributes.subresource)
        attributes.fill(await attributes.surface.run(attributes.size_bytes, lambda: read(obj)))
        attributes.canonical = True


class Views:
    """All of them; what is changed in one of them is changed for the others too."""

    def __init__(self, attributes: Attributes) -> None:
        self._own = attributes
        self._known = {attributes.resource.api_version: WebhookView(attributes, 0)}

    async def of(self, resource: ResourceType) -> WebhookView:
        """The view through an equivalent resource. Raises InternalError (500) where it cannot be converted."""
        found = self._known.get(resource.api_version)
        if found is None or (found.attributes is not self._own and found.synced != self._own.changes):
            try:
                converted = await self._own.converted(resource)
            except StatusError as problem:
                raise InternalError.of(problem.message) from None
            found = self._known[resource.api_version] = WebhookView(converted, self._own.changes)
        return found

    async def put(self, view: WebhookView, obj: Object) -> None:
        """Let `obj`, canonical with all defaults, be the object."""
        view.attributes.fill(obj)
        if view.attributes is self._own:
            return
        try:
            await self._own.adopt(view.attributes)
        except StatusError as problem:
            raise InternalError.of(problem.message) from None
        view.synced = self._own.changes


def _shown(obj: Object, old: Object | None) -> Object:
    """An object with its metadata in order; the version that it has yet to get is that of the old one."""
    meta = obj.get("metadata")
    if type(meta) is not dict:
        return obj
    version = meta.get(VERSION) or (old or {}).get("metadata", {}).get(VERSION)
    meta = {**meta, VERSION: version}
    return {**obj, "metadata": {key: meta[key] for key in ORDER if key in meta and (version or key != VERSION)}}


async def _dumped(attributes: Attributes, obj: Object | None, old: Object | None = None) -> bytes:
    if obj is None:
        return NULL
    try:
        return await attributes.surface.run(attributes.size_bytes, lambda: orjson.dumps(_shown(obj, old)))
    except TypeError as problem:
        raise InternalError.of(f"the object cannot be shown to webhooks: {problem}") from None
