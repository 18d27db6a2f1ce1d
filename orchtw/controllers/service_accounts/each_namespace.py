"""Base of controllers that keep an object of a certain name in each namespace."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.controllers.controller import Controller, ControllerHost, Published
from orchtw.errors import AlreadyExists, NotFound
from orchtw.wire.objects import Object

CONCURRENCY: Final = 16


class EachNamespace(Controller):
    """Controller keyed by names of namespaces; the objects are of the core group and called `object_name`."""

    def __init__(self, host: ControllerHost, plural: str, object_name: str) -> None:
        super().__init__(host, CONCURRENCY)
        self._object_name = object_name
        self._namespaces = self.client.resource("", "v1", "namespaces")
        self._objects = self.client.resource("", "v1", plural)
        self._known = Informer(self.client, self._namespaces, host.clock, host.random, host.turns)
        self._known.handle(self._namespace_seen)
        self._present = Informer(self.client, self._objects, host.clock, host.random, host.turns, name=object_name)
        self._present.handle(self._object_seen)

    @property
    def sources(self) -> Sequence[Informer]:
        """Objects before namespaces, so that the first look at one knows its object."""
        return (self._present, self._known)

    def _namespace_seen(self, old: Item | None, new: Item | None) -> None:
        if new is not None and old is None:
            self.queue.add(new.name)

    def _object_seen(self, old: Item | None, new: Item | None) -> None:
        """Look at a namespace whose object has changed, or is gone."""
        if old is not None:
            self.queue.add(old.namespace)

    async def reconcile(self, key: str) -> float | None:
        """Make the object of a namespace that lacks it and is not being deleted, or put it right."""
        namespace = await self.client.find(self._namespaces, "", key)
        if namespace is None or namespace.owner_metadata().terminating:
            return None
        found = await self.client.find(self._objects, key, self._object_name)
        live = None if found is None else found.load()
        corrected = None if live is None else self.corrected(live)
        if live is not None and corrected is None:
            return None
        objects, name, wanted = self._objects, self._object_name, self.wanted(key)

        async def write() -> None:
            if corrected is None:
                await self.client.create(objects, key, wanted)
            else:
                await self.client.update(objects, key, name, corrected)

        with suppress(AlreadyExists, NotFound):
            content = [namespace.metadata()["uid"], self.wanted(key)]
            return await self.publish(objects, Published(key, name, content), live, write)
        return None

    @abstractmethod
    def wanted(self, namespace: str) -> Object:
        """Return the object for that namespace."""

    def corrected(self, obj: Object) -> Object | None:
        """Return the object as it should be; None: it stays as it is, the default."""
        return None
