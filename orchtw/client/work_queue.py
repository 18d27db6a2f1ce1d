"""Queue of keys to process: each once, however often it is added, and again after failures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable
from random import Random
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from orchtw.errors import Conflict, StatusError

Key = TypeVar("Key", bound=Hashable)

TURN_S = 0.005
"""Reactor time of keys in one turn: new requests wait no longer."""
STOP_S = 5.0
"""Longest wait of a stop for running work."""


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """Delays that grow from `first_s` by `factor` up to `limit_s`, each extended randomly by up to `jitter`."""

    first_s: float
    limit_s: float
    factor: float = 2.0
    jitter: float = 0.1

    def delay_s(self, failures: int, random: Random) -> float:
        """Return the delay after that many failures in a row (1: the first)."""
        grown = self.first_s * self.factor ** min(failures - 1, 64)
        return min(grown, self.limit_s) * (1.0 + self.jitter * random.random())


CONTROLLER = Backoff(first_s=0.005, limit_s=1000.0)
"""Default backoff of controllers, from client-go: 5 ms to 1000 s."""


class Retry(Exception):
    """Raised by a `process` that could not finish, though nothing failed: the key returns with back-off."""


class QueueMetrics(Protocol):
    """Receiver of a queue's measurements; times in seconds."""

    def added(self, depth: int) -> None:
        """Count an added key; `depth` keys wait now."""

    def taken(self, depth: int, waited_s: float) -> None:
        """Count a key whose turn has come."""

    def done(self, took_s: float) -> None:
        """Count a processed key, successful or not."""

    def retried(self) -> None:
        """Count a key that returns after a failure."""


class NoMetrics:
    """Metrics of a queue that are discarded."""

    def added(self, depth: int) -> None:
        """Do nothing, as the methods below. See `QueueMetrics`."""

    def taken(self, depth: int, waited_s: float) -> None: ...

    def done(self, took_s: float) -> None: ...

    def retried(self) -> None: ...


class WorkQueue(Generic[Key]):
    """Passes each added key to `process`, `concurrency` keys at a time, never one key twice concurrently.

    A key that is added while it is processed is processed again afterwards. `process` returns None when it is
    done, or the seconds after which the key returns; if it raises an error, the key returns with growing delays.
    """

    _log = Logger()

    def __init__(
        self,
        process: Callable[[Key], Awaitable[float | None]],
        clock: IReactorTime,
        random: Random,
        *,
        name: str = "",
        concurrency: int = 1,
        backoff: Backoff = CONTROLLER,
        metrics: QueueMetrics | None = None,
    ) -> None:
        self.name = name
        self._process = process
        self._clock = clock
        self._random = random
        self._concurrency = concurrency
        self._backoff = backoff
        self._metrics = metrics or NoMetrics()
        self._waiting: dict[Key, float] = {}  # in the order of arrival, with its time
        self._running: dict[Key, Deferred[None]] = {}
        self._again: set[Key] = set()
        self._failures: dict[Key, int] = {}
        self._delayed: dict[Key, IDelayedCall] = {}
        self._pumping: IDelayedCall | None = None
        self._active = self._paused = False
        self._resting: list[Deferred[None]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def active(self) -> bool:
        """Report whether keys are processed: from `start` to `stop`."""
        return self._active

    @property
    def idle(self) -> bool:
        """Report whether nothing is waiting, running or delayed."""
        return not (self._waiting or self._running or self._delayed)

    @property
    def busy(self) -> bool:
        """Report whether keys are waiting or running; those that return later do not count."""
        return bool(self._waiting or self._running)

    @property
    def failing(self) -> bool:
        """Report whether keys return because they have failed."""
        return bool(self._failures)

    def add(self, key: Key) -> None:
        """Queue `key` to be processed once, as soon as a worker is free."""
        if key in self._running:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting[key] = self._clock.seconds()
            self._metrics.added(len(self._waiting))
            self._wake()

    def add_after(self, key: Key, delay_s: float) -> None:
        """Add `key` after that many seconds; of several delays the shortest counts."""
        pending = self._delayed.get(key)
        due = self._clock.seconds() + delay_s
        if pending is not None:
            if pending.getTime() <= due:
                return
            pending.cancel()
        self._delayed[key] = self._clock.callLater(delay_s, self._due, key)

    def add_rate_limited(self, key: Key) -> None:
        """Add `key` after a delay that grows each time until `forget`."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        self._metrics.retried()
        self.add_after(key, self._backoff.delay_s(failures, self._random))

    def forget(self, key: Key) -> None:
        """Reset the delays of `key`."""
        self._failures.pop(key, None)

    async def rested(self) -> None:
        """Return as soon as no key is waiting or running."""
        if self.busy:
            resting: Deferred[None] = Deferred()
            self._resting.append(resting)
            await resting

    def start(self) -> None:
        """Begin to take keys, including those added before."""
        self._active = True
        self._wake()

    def pause(self) -> None:
        """Give up running work in this turn, and take no keys until `resume`.

        The keys of that work are queued again: what it has read is not to be acted on.
        """
        self._paused = True
        if self._pumping is not None:
            self._pumping.cancel()
            self._pumping = None
        for key, running in tuple(self._running.items()):
            self._again.add(key)
            running.cancel()

    def resume(self) -> None:
        """Take keys again after `pause`."""
        self._paused = False
        self._wake()

    async def stop(self) -> None:
        """Stop taking keys, drop all, and return when running work has ended (STOP_S at most)."""
        self._active = False
        for call in self._delayed.values():
            call.cancel()
        if self._pumping is not None:
            self._pumping.cancel()
            self._pumping = None
        self._delayed.clear()
        self._waiting.clear()
        self._again.clear()
        running = list(self._running.values())
        if not running:
            self._tell_rest()
        if running:
            limit = self._clock.callLater(STOP_S, _cancel_all, running)
            await DeferredList(running)
            if limit.active():
                limit.cancel()

    def _due(self, key: Key) -> None:
        del self._delayed[key]
        self.add(key)

    def _wake(self) -> None:
        if self._takes and self._pumping is None:
            self._pumping = self._clock.callLater(0, self._pump)

    def _pump(self) -> None:
        """Start workers; if they end at once, continue for no longer than TURN_S."""
        self._pumping = None
        clock = self._clock
        until = clock.seconds() + TURN_S
        while self._takes:
            key = next(iter(self._waiting))
            self._begin(key, self._waiting.pop(key))
            if clock.seconds() >= until:
                break
        self._wake()

    @property
    def _takes(self) -> bool:
        """Report whether the next key may begin now."""
        is_open = self._active and not self._paused
        return is_open and bool(self._waiting) and len(self._running) < self._concurrency

    def _begin(self, key: Key, since: float) -> None:
        started = self._clock.seconds()
        self._metrics.taken(len(self._waiting), started - since)
        # A placeholder first: a worker may end before fromCoroutine returns.
        self._running[key] = Deferred()
        running: Deferred[None] = Deferred.fromCoroutine(self._work(key))
        if not running.called:
            self._running[key] = running
        running.addBoth(self._ended, key, started)

    async def _work(self, key: Key) -> None:
        """Process one key, and schedule its return if needed."""
        try:
            after_s = await self._process(key)
        except CancelledError:
            return
        except (Retry, Conflict):
            self._retry(key)
        except StatusError as error:
            self._log.info("{queue}: retrying {key}: {error}", queue=self.name, key=key, error=error)
            self._retry(key)
        except Exception:  # noqa: BLE001 - the one place where a controller's bug is caught
            self._log.failure("{queue}: {key} failed", queue=self.name, key=key)
            self._retry(key)
        else:
            self.forget(key)
            if after_s is not None and self._active:
                self.add_after(key, after_s)

    def _retry(self, key: Key) -> None:
        if self._active:
            self.add_rate_limited(key)

    def _ended(self, result: Any, key: Key, started: float) -> None:
        del self._running[key]
        self._metrics.done(self._clock.seconds() - started)
        if key in self._again:
            self._again.discard(key)
            self.add(key)
        self._wake()
        if self._resting and not self.busy:
            self._tell_rest()

    def _tell_rest(self) -> None:
        resting, self._resting = self._resting, []
        for each in resting:
            if not each.called:
                each.callback(None)


def _cancel_all(running: list[Deferred[None]]) -> None:
    for each in running:
        each.cancel()
