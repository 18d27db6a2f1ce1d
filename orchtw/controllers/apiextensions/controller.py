"""Controller of definitions: status, serving and removal of each that has changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.client.work_queue import Backoff, Retry
from orchtw.controllers.apiextensions.acknowledging import Acknowledging
from orchtw.controllers.apiextensions.definition import Definition
from orchtw.controllers.apiextensions.finalizing import Finalizing
from orchtw.controllers.apiextensions.naming import NameIndex
from orchtw.controllers.apiextensions.observer import Observer
from orchtw.controllers.apiextensions.serving import Serving
from orchtw.controllers.apiextensions.statuses import Statuses, as_told
from orchtw.controllers.controller import Controller, ControllerHost
from orchtw.registry.offload import Offload
from orchtw.registry.target import Target
from orchtw.storage.cache.resource import DamagedObject
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object

CONCURRENCY: Final = 8
"""Definitions processed concurrently: the store batches their reads and writes."""

SURVEY_S: Final = 0.05
"""Interval at which a new definition waits for the names of those from before the start."""


class DefinitionParts(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Parts of the definition controller; `target` is that of the definitions."""

    target: Target
    acknowledging: Acknowledging
    index: NameIndex
    observer: Observer
    statuses: Statuses
    serving: Serving
    finalizing: Finalizing
    offload: Offload


class DefinitionController(Controller):
    """Controller keyed by names of definitions: all work on one of them is done in successive rounds."""

    name = "customresourcedefinitions"
    account = "customresourcedefinition-controller"
    backoff = Backoff(first_s=0.005, limit_s=5.0)
    _log = Logger()

    def __init__(self, host: ControllerHost, parts: DefinitionParts) -> None:
        super().__init__(host, CONCURRENCY)
        self._parts = parts
        self._target = parts.target
        self._known: dict[str, Definition] = {}
        self._refused: dict[str, str] = {}
        self._wanting: dict[str, set[str]] = {}
        self._unseen: set[str] = set()
        self._surveyed: list[Deferred[None]] = []
        resource = parts.target.resource
        followed = self.client.resource(resource.group, resource.version, resource.plural)
        self._informer = Informer(self.client, followed, host.clock, host.random, None)
        self._informer.handle(self._changed)

    @property
    def sources(self) -> Sequence[Informer]:
        """Return the informer of definitions."""
        return (self._informer,)

    def startService(self) -> None:
        """Follow the definitions; those that are there already are to be looked at before others get names."""
        super().startService()
        self._unseen = set(self._informer.items)
        self._target.stored.in_force = self.in_force

    def stopService(self) -> Deferred[None]:
        """Stop the controller, as `Controller.stopService`; all waiting writers are released."""
        self._unseen.clear()
        self._end_survey()
        self._parts.acknowledging.stop()
        self._target.stored.in_force = None
        return super().stopService()

    async def in_force(self, entry: Entry) -> None:
        """Return once a changed definition decides on what is served here (reference CRD-65)."""
        meta = self._target.stored.metadata(entry, owned=False)
        if self._parts.serving.concerns(meta["name"]) and not meta.get("deletionTimestamp"):
            await self._parts.acknowledging.settled(meta["uid"], meta.get("generation", 0))

    async def caught_up(self) -> None:
        """Return when each definition has been looked at as it is now: what it decides on is served, or no more."""
        await self.queue.rested()

    async def settled(self) -> None:
        """Return when each definition that was there at the start is served, or was found not to be."""
        if self._unseen:
            surveyed: Deferred[None] = Deferred()
            self._surveyed.append(surveyed)
            await surveyed

    def _end_survey(self) -> None:
        waiting, self._surveyed = self._surveyed, []
        for surveyed in waiting:
            surveyed.callback(None)

    def _changed(self, old: Item | None, new: Item | None) -> None:
        """Close resources that are to end, and stop serving those that are gone, before a deletion is answered."""
        if new is not None:
            if new.owner_metadata().terminating:
                self._parts.serving.close(new.name)
            else:
                self._parts.serving.reopen(new.name)
            self.queue.add(new.name)
        elif old is not None:
            self._parts.serving.end(old.name)
            self.queue.add(old.name)

    async def reconcile(self, key: str) -> float | None:
        """Bring a definition's status, and what is served by it, in line with it."""
        try:
            entry = self._entry(key)
            if entry is None:
                self._forget(key)
                return None
            size_bytes = len(entry.raw)
            obj: Object = await self._parts.offload.run(size_bytes, lambda: self._target.load(entry))
            return await self._look(Definition.of(obj), obj, size_bytes)
        finally:
            self._unseen.discard(key)
            if not self._unseen:
                self._end_survey()

    def _entry(self, name: str) -> Entry | None:
        try:
            return self._target.stored.get("", name)
        except DamagedObject:
            return None

    async def _look(self, definition: Definition, obj: Object, size_bytes: int) -> float | None:
        self._take_in(definition)
        if definition.terminating:
            if definition.served:
                await self._serve(definition, obj, size_bytes)
            self._parts.serving.close(definition.name)
            self._parts.acknowledging.settle(definition.uid, definition.generation)
            if not await self._parts.finalizing.end(definition, self._parts.serving.target(definition.name)):
                raise Retry("objects remain")
            return None
        self._parts.finalizing.forget(definition.uid)  # a restored definition may have been terminating before
        if not definition.established and len(self._unseen) > (definition.name in self._unseen):
            return SURVEY_S
        news, after_s = await self._parts.observer.news(definition, obj, size_bytes)
        # 1. What clients are told is served is served before they are told.
        if definition.established or news.accepts:
            await self._serve(*as_told(definition, obj, news), size_bytes)
        else:
            self._parts.serving.end(definition.name)
        # 2. A change of the definition is answered once it decides on what is served.
        self._parts.acknowledging.settle(definition.uid, definition.generation)
        # 3. Its status.
        await self._parts.statuses.tell(definition, news)
        return after_s

    def _take_in(self, definition: Definition) -> None:
        """Learn which names a definition has; others may have those that it has given back."""
        before = self._known.get(definition.name)
        if before is not None and before.uid != definition.uid:
            self._forget(before.name)
        self._known[definition.name] = definition
        self._note_wish(definition, wanting=self._is_wanting(definition))
        if self._parts.index.hold(definition.name, definition.group, definition.accepted):
            self._offer_names(definition.group)

    def _forget(self, name: str) -> None:
        """Forget a deleted definition and all that is known of it."""
        gone = self._known.pop(name, None)
        if gone is not None:
            self._refused.pop(name, None)
            self._note_wish(gone, wanting=False)
            self._parts.serving.end(name)
            self._parts.observer.forget(gone.uid)
            self._parts.acknowledging.forget(gone.uid)
            self._parts.finalizing.forget(gone.uid)
            self._parts.index.release(name)
            self._offer_names(gone.group)

    def _offer_names(self, group: str) -> None:
        """Look again at those that may have been waiting for names of that group."""
        for name in self._wanting.get(group, ()):
            self.queue.add(name)

    def _is_wanting(self, definition: Definition) -> bool:
        return definition.names != definition.accepted or definition.name in self._refused

    def _note_wish(self, definition: Definition, *, wanting: bool) -> None:
        """Note whether it waits for names that others of its group have."""
        names = self._wanting.setdefault(definition.group, set())
        if wanting:
            names.add(definition.name)
        else:
            names.discard(definition.name)
            if not names:
                del self._wanting[definition.group]

    async def _serve(self, definition: Definition, obj: Object, size_bytes: int) -> None:
        """Serve what a definition defines; one that cannot be waits until others give way, or it changes."""
        name = definition.name
        try:
            await self._parts.serving.serve(definition, obj, size_bytes)
        except ValueError as error:
            if self._refused.get(name) != str(error):
                self._log.warn("custom resources of {name} cannot be served: {why}", name=name, why=error)
            self._refused[name] = str(error)
        else:
            self._refused.pop(name, None)
        self._note_wish(definition, wanting=self._is_wanting(definition))
