"""The webhook configurations that there are, compiled as they come and go (reference HOOK-5, HOOK-6)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, Final, Protocol

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.admission.webhooks.hook import Configuration, Hook
from orchtw.registry.offload import Compute
from orchtw.storage.cache.cacher import ResourceCache
from orchtw.watch.entry import Entry
from orchtw.watch.log import Event
from orchtw.wire.objects import Object

SLICE_S: Final = 0.01
"""How long configurations are compiled before others have their turn."""

READY_S: Final = 10.0
"""How long a write waits for those that are there at the start."""

_name = attrgetter("name")


class ConfigurationSource(Protocol):
    """Where the objects are."""

    @property
    def cache(self) -> ResourceCache:
        """Their cache, once it is filled."""

    def load(self, entry: Entry) -> Object:
        """An object of it."""


class Configurations:
    """Those of one kind. A small one counts before its writer is answered, a large one soon after.

    It begins to follow the cache when first asked. `changed` is called after each change.
    """

    _log = Logger()

    def __init__(
        self, source: ConfigurationSource, make: Callable[[Object], Configuration], run: Compute, clock: Any
    ) -> None:
        self.changed: Callable[[], None] = lambda: None
        self._source = source
        self._make = make
        self._run = run
        self._clock = clock
        self._known: dict[str, Configuration] = {}
        self._sorted: list[Configuration] = []
        self._due: dict[str, Entry | None] = {}
        self._following = self._working = self._ready = False
        self._waiting: list[Deferred[bool]] = []

    @property
    def ready(self) -> bool:
        """Report whether all configurations of the start are known."""
        if not self._following:
            self._following = True
            self._source.cache.follow(self)
            self._due = {entry.name: entry for entry in self._source.cache.snapshot()}
            self._begin()
        return self._ready

    @property
    def empty(self) -> bool:
        """Report whether there are no configurations."""
        return not self._sorted

    async def settled(self) -> bool:
        """Wait a while, and report whether the configurations are known."""
        if self.ready:
            return True
        waiting: Deferred[bool] = Deferred()
        self._waiting.append(waiting)
        try:
            return await waiting.addTimeout(READY_S, self._clock, onTimeoutCancel=lambda _result, _s: False)
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    def naming(self, plural: str) -> Iterator[Hook]:
        """The webhooks that may be about a resource, in the order in which they are called."""
        for each in self._sorted:
            yield from each.naming(plural)

    # Following

    def take(self, event: Event) -> None:
        """A configuration has come, changed or gone."""
        name = event.key
        self._due.pop(name, None)
        self._due[name] = event.new
        self._begin()

    def closed(self) -> None:
        """The kind is one of the release's and does not go away."""

    def _begin(self) -> None:
        if not self._working:
            self._working = True
            Deferred.fromCoroutine(self._work()).addErrback(self._failed)

    async def _work(self) -> None:
        end_s = self._clock.seconds() + SLICE_S
        while self._due:
            name = next(iter(self._due))
            self._put(name, await self._compiled(name, self._due.pop(name)))
            if self._due and self._clock.seconds() > end_s:
                await deferLater(self._clock, 0)
                end_s = self._clock.seconds() + SLICE_S
        self._working = False
        self._ready = True
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.callback(True)

    async def _compiled(self, name: str, entry: Entry | None) -> Configuration | None:
        if entry is None:
            return None
        try:
            return await self._run(len(entry.raw), lambda: self._make(self._source.load(entry)))
        except Exception as problem:  # noqa: BLE001 - one that cannot be read must not be the end of the others
            self._log.error("webhook configuration {name} cannot be used: {why}", name=name, why=str(problem))
            return None

    def _put(self, name: str, made: Configuration | None) -> None:
        before = self._known.pop(name, None)
        if before is not None:
            self._sorted.remove(before)
        if made is not None:
            self._known[name] = made
            insort(self._sorted, made, key=_name)
        self.changed()

    def _failed(self, failure: Failure) -> None:
        self._working = False
        self._log.failure("webhook configurations are not followed any more", failure=failure)
