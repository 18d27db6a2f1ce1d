"""Views of one write for webhooks: in the versions that they know, as JSON encoded once (reference HOOK-8)."""

from __future__ import annotations

from typing import Final

import orjson

from orchtw.admission.attributes import Attributes
from orchtw.admission.webhooks.review import NULL
from orchtw.errors import InternalError, StatusError
from orchtw.registry.metadata import ORDER
from orchtw.schema.catalogue import ResourceType
from orchtw.wire.objects import Object

VERSION: Final = "resourceVersion"


class WebhookView:
    """View of the write through one resource: `attributes` are the request's own, or converted ones.

    `synced` is the number of the request's changes that the converted ones include.
    """

    __slots__ = ("_changes", "_obj", "_old", "attributes", "synced")

    def __init__(self, attributes: Attributes, synced: int) -> None:
        self.attributes = attributes
        self.synced = synced
        self._obj: bytes = b""
        self._old: bytes = b""
        self._changes = -1

    async def texts(self) -> tuple[bytes, bytes]:
        """Return the object, canonical with all defaults, and the old object as JSON."""
        attributes = self.attributes
        if self._changes != attributes.changes or not (attributes.canonical or attributes.finished):
            await self.complete()
            self._obj = await _dumped(attributes, attributes.obj, attributes.old)
            self._changes = attributes.changes
        if not self._old:
            self._old = await _dumped(attributes, attributes.old)
        return self._obj, self._old

    async def complete(self) -> None:
        """Make the object canonical, since another plugin may have changed it."""
        attributes, obj = self.attributes, self.attributes.obj
        if attributes.canonical or attributes.finished or obj is None:
            return
        read = attributes.surface.reader(attributes.resource, attributes.subresource)
        attributes.fill(await attributes.surface.run(attributes.size_bytes, lambda: read(obj)))
        attributes.canonical = True


class Views:
    """Views of one write; a change through one of them shows in the others."""

    def __init__(self, attributes: Attributes) -> None:
        self._own = attributes
        self._known = {attributes.resource.api_version: WebhookView(attributes, 0)}

    async def of(self, resource: ResourceType) -> WebhookView:
        """Return the view through an equivalent resource. Raises InternalError (500) if conversion fails."""
        found = self._known.get(resource.api_version)
        if found is None or (found.attributes is not self._own and found.synced != self._own.changes):
            try:
                converted = await self._own.converted(resource)
            except StatusError as problem:
                raise InternalError.of(problem.message) from None
            found = self._known[resource.api_version] = WebhookView(converted, self._own.changes)
        return found

    async def put(self, view: WebhookView, obj: Object) -> None:
        """Replace the object of a view, and so of the write, by `obj`, canonical with all defaults.

        Raises InternalError (500) if conversion fails.
        """
        view.attributes.fill(obj)
        if view.attributes is self._own:
            return
        try:
            await self._own.adopt(view.attributes)
        except StatusError as problem:
            raise InternalError.of(problem.message) from None
        view.synced = self._own.changes


def _shown(obj: Object, old: Object | None) -> Object:
    """Return an object with its metadata in order; if it has no resourceVersion yet, with that of the old object."""
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
