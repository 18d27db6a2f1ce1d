"""Configurations of admission, compiled again when they change (reference HOOK-5, HOOK-6, POLICY-2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, Protocol

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.admission.webhooks.order import ByName, Compiled
from orchtw.registry.offload import Compute
from orchtw.storage.cache.watch_cache import ResourceCache
from orchtw.watch.entry import Entry
from orchtw.watch.event_log import Event
from orchtw.wire.objects import Object

SLICE_S: Final = 0.01
"""Reactor time for compiling configurations in one turn."""

READY_S: Final = 10.0
"""Longest wait of a write for the configurations that exist at the start."""


class ConfigurationSource(Protocol):
    """Source of the stored configurations."""

    @property
    def cache(self) -> ResourceCache:
        """Return their cache, once it is filled."""

    def load(self, entry: Entry) -> Object:
        """Return the object of an entry."""


class Configurations(Generic[Compiled]):
    """Compiled configurations of one kind, which follow the cache from the first look at `ready` on.

    A small one takes effect before its writer is answered, a large one soon after. `changed` is called after each
    change.
    """

    _log = Logger()

    def __init__(
        self, source: ConfigurationSource, make: Callable[[Object], Compiled], run: Compute, clock: Any
    ) -> None:
        self.changed: Callable[[], None] = lambda: None
        self._source = source
        self._make = make
        self._run = run
        self._clock = clock
        self._compiled: ByName[Compiled] = ByName()
        self._due: dict[str, Entry | None] = {}
        self._following = self._working = self._ready = False
        self._waiting: list[Deferred[bool]] = []

    @property
    def ready(self) -> bool:
        """Report whether all configurations that existed at the start are compiled."""
        if not self._following:
            self._following = True
            self._source.cache.follow(self)
            self._due = {entry.name: entry for entry in self._source.cache.snapshot()}
            self._begin()
        return self._ready

    @property
    def empty(self) -> bool:
        """Report whether there are no configurations."""
        return not self._compiled.all

    async def settled(self) -> bool:
        """Wait up to READY_S, and report whether the configurations are compiled."""
        if self.ready:
            return True
        waiting: Deferred[bool] = Deferred()
        self._waiting.append(waiting)
        try:
            return await waiting.addTimeout(READY_S, self._clock, onTimeoutCancel=lambda _result, _s: False)
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    async def in_force(self) -> None:
        """Return when every change that the cache has is compiled, if it is followed at all by now."""
        if self._working:
            waiting: Deferred[bool] = Deferred()
            self._waiting.append(waiting)
            await waiting

    @property
    def all(self) -> Sequence[Compiled]:
        """Return the configurations by name."""
        return self._compiled.all

    def named(self, name: str) -> Compiled | None:
        """Return a configuration, or None."""
        return self._compiled.named(name)

    # Follower of the cache

    def take(self, event: Event) -> None:
        """Compile a configuration that was created or changed, or drop a deleted one, as `Follower.take`."""
        name = event.key
        self._due.pop(name, None)
        self._due[name] = event.new
        self._begin()

    def closed(self) -> None:
        """Do nothing: the kind is built in and always served."""

    def _begin(self) -> None:
        if not self._working:
            self._working = True
            Deferred.fromCoroutine(self._work()).addErrback(self._failed)

    async def _work(self) -> None:
        end_s = self._clock.seconds() + SLICE_S
        while self._due:
            name = next(iter(self._due))
            self._put(name, await self._made(name, self._due.pop(name)))
            if self._due and self._clock.seconds() > end_s:
                await deferLater(self._clock, 0)
                end_s = self._clock.seconds() + SLICE_S
        self._working = False
        self._ready = True
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.called:
                each.callback(True)

    async def _made(self, name: str, entry: Entry | None) -> Compiled | None:
        if entry is None:
            return None
        try:
            return await self._run(len(entry.raw), lambda: self._make(self._source.load(entry)))
        except Exception as problem:  # noqa: BLE001 - one that cannot be compiled must not stop the others
            self._log.error("admission configuration {name} cannot be used: {why}", name=name, why=str(problem))
            return None

    def _put(self, name: str, made: Compiled | None) -> None:
        self._compiled.put(name, made)
        self.changed()

    def _failed(self, failure: Failure) -> None:
        self._working = False
        self._log.failure("admission configurations are no longer watched", failure=failure)
