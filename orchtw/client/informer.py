"""List and watch: a `Reflector` keeps an `ItemSink` up to date; an `Informer` is the sink of most controllers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.client.interface import Client, Item, Resource, Watch
from orchtw.client.work_queue import Backoff
from orchtw.errors import Expired, NotFound, StatusError
from orchtw.responses.slices import Steps, in_turns
from orchtw.watch.turns import ReactorTurns

RELIST = Backoff(first_s=0.8, factor=2.0, limit_s=30.0, jitter=0.5)
"""Backoff between attempts at a list or watch that fails."""

_FOR_GOOD = frozenset({400, 401, 403, 404, 405, 406, 415, 422})
"""Status codes of a list that is not allowed, or not served."""


class ItemSink(Protocol):
    """Sink of a reflector: a copy of one resource that is kept up to date."""

    def replaced(self, items: Sequence[Item]) -> Steps[None]:
        """Replace all objects: after the start, and when the watch has missed something.

        A step handles one of them; no other call comes before the last step.
        """

    def changed(self, item: Item) -> None:
        """Handle a new or changed object."""

    def removed(self, item: Item) -> None:
        """Handle the end of an object; `item` is its last state."""


class Reflector:
    """Lists a resource, watches it from there, and lists again when the watch has expired (410).

    `synced`: the first list has reached the sink, a long one in several of the `turns`, without them at once.
    `refused`: the last attempt at a list failed in a way that seems permanent.
    """

    _log = Logger()

    def __init__(
        self,
        client: Client,
        resource: Resource,
        sink: ItemSink,
        clock: IReactorTime,
        random: Random,
        turns: ReactorTurns | None,
    ) -> None:
        self.synced = False
        self.refused = False
        self.resource = resource
        self._client = client
        self._sink = sink
        self._turns = turns
        self._clock = clock
        self._random = random
        self._watch: Watch | None = None
        self._version = ""  # of the list; the latest change is newer
        self._latest: Item | None = None
        self._failures = 0
        self._waiting: IDelayedCall | None = None
        self._listing: Deferred[None] | None = None
        self._stopped = False

    def start(self) -> None:
        """Begin; with an in-process client, a short list has reached the sink when this returns."""
        self._stopped = False
        self._relist()

    def stop(self) -> None:
        """Stop calling the sink."""
        self._stopped = True
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        if self._listing is not None:
            self._listing.cancel()
            self._listing = None
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

    def changed(self, item: Item) -> None:
        """Pass on a change, as `Receiver`; see there also for `removed` and `ended`."""
        self._progress(item)
        self._sink.changed(item)

    def removed(self, item: Item) -> None:
        self._progress(item)
        self._sink.removed(item)

    def ended(self, error: StatusError | None) -> None:
        self._watch = None
        if self._stopped:
            return
        if error is None:
            self._later(0, self._rewatch)
        elif isinstance(error, Expired):
            self._later(0, self._relist)
        else:
            self._fail(error, self._rewatch)

    def _progress(self, item: Item) -> None:
        self._latest = item  # most versions are never asked for as text
        self._failures = 0

    def _relist(self) -> None:
        self._listing = listing = Deferred.fromCoroutine(self._list())
        listing.addErrback(self._list_failed)

    async def _list(self) -> None:
        listing = await self._client.list(self.resource)
        self.refused = False
        self._version, self._latest = listing.version, None
        steps = self._sink.replaced(listing.items)
        await _taken(self._turns, steps)
        self.synced = True
        self._rewatch()

    def _list_failed(self, failure: Failure) -> None:
        if self._stopped or isinstance(failure.value, CancelledError):
            return
        if isinstance(failure.value, StatusError):
            self.refused = failure.value.code in _FOR_GOOD
        else:
            self._log.failure("{plural}: failed to process the list", failure, plural=self.resource.plural)
        self._fail(failure.value, self._relist)

    def _rewatch(self) -> None:
        version = self._version if self._latest is None else self._latest.version
        try:
            self._watch = self._client.watch(self.resource, version, self)
        except StatusError as error:
            self.ended(error)

    def _fail(self, error: object, again: Callable[[], None]) -> None:
        if not isinstance(error, NotFound):  # a resource that is no longer served is dropped soon
            self._log.warn("failed to watch {plural}: {error}", plural=self.resource.plural, error=error)
        self._failures += 1
        self._later(RELIST.delay_s(self._failures, self._random), again)

    def _later(self, delay_s: float, act: Callable[[], None]) -> None:
        self._waiting = self._clock.callLater(delay_s, self._go_on, act)

    def _go_on(self, act: Callable[[], None]) -> None:
        self._waiting = None  # a reference would keep this object alive
        act()


Handler = Callable[[Item | None, Item | None], None]
"""Function of an object's old and new item: None, item for a new object; item, None for a removed one."""


class Informer:
    """All objects of a resource by key, with handlers that are called for every change.

    In process, items are the cache's own bytes: nothing is kept decoded. Every `resync_s` (0: never) each object is
    passed to the handlers again as a change from itself to itself. `turns` are those of the reflector. With a `name`,
    objects of other names are ignored, for controllers of one object in each namespace.
    """

    _log = Logger()

    def __init__(
        self,
        client: Client,
        resource: Resource,
        clock: IReactorTime,
        random: Random,
        turns: ReactorTurns | None,
        *,
        resync_s: float = 0.0,
        name: str = "",
    ) -> None:
        self.items: dict[str, Item] = {}
        self._reflector = Reflector(client, resource, self, clock, random, turns)
        self._plural = resource.plural
        self._turns = turns
        self._clock = clock
        self._resync_s = resync_s
        self._name = name
        self._handlers: list[Handler] = []
        self._resync: IDelayedCall | None = None
        self._repeating: Deferred[None] | None = None

    @property
    def synced(self) -> bool:
        """Report whether `items` has been filled."""
        return self._reflector.synced

    def handle(self, handler: Handler) -> None:
        """Call `handler` for every change from now on; if added before `start`, for all present objects too."""
        self._handlers.append(handler)

    def start(self) -> None:
        """Begin to list and watch."""
        self._reflector.start()
        self._schedule()

    def stop(self) -> None:
        """Stop calling the handlers."""
        self._reflector.stop()
        if self._resync is not None:
            self._resync.cancel()
            self._resync = None
        if self._repeating is not None:
            self._repeating.cancel()

    def replaced(self, items: Sequence[Item]) -> Steps[None]:
        """Replace the items, as `ItemSink.replaced`; only differences are passed on."""
        gone = set(self.items)
        name, known, handlers = self._name, self.items, self._handlers
        for item in items:
            if name and item.name != name:
                pass
            elif gone:
                gone.discard(item.key)
                old = known.get(item.key)
                if old is None or old.version != item.version:
                    self.changed(item)
            else:  # it is new, as all are at the start
                known[item.key] = item
                for handler in handlers:
                    handler(None, item)
            yield
        for key in gone:
            self.removed(self.items[key])

    def changed(self, item: Item) -> None:
        if self._name and item.name != self._name:
            return
        old = self.items.get(item.key)
        self.items[item.key] = item
        self._tell(old, item)

    def removed(self, item: Item) -> None:
        if self._name and item.name != self._name:
            return
        old = self.items.pop(item.key, None)
        self._tell(old or item, None)

    def _tell(self, old: Item | None, new: Item | None) -> None:
        for handler in self._handlers:
            handler(old, new)

    def _schedule(self) -> None:
        if self._resync_s:
            self._resync = self._clock.callLater(self._resync_s, self._again)

    def _again(self) -> None:
        """Pass on all items, then schedule the next time."""
        self._resync = None
        self._repeating = repeating = Deferred.fromCoroutine(_taken(self._turns, self._repeat()))
        repeating.addCallbacks(lambda _: self._schedule(), self._not_repeated)

    def _not_repeated(self, failure: Failure) -> None:
        """Log the failure and schedule the next resync, unless it was cancelled."""
        if not isinstance(failure.value, CancelledError):
            self._log.failure("{plural}: resync failed", failure, plural=self._plural)
            self._schedule()

    def _repeat(self) -> Steps[None]:
        for key in list(self.items):
            item = self.items.get(key)
            if item is not None:
                self._tell(item, item)
            yield


async def _taken(turns: ReactorTurns | None, steps: Steps[None]) -> None:
    """Run all steps, in turns if there are any."""
    if turns is None:
        deque(steps, maxlen=0)
    else:
        await in_turns(turns, steps)
