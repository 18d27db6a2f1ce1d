"""Delivery of changes to one subscriber, in order, even while one waits for a data key."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import msgspec
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from orchtw.storage.encryption.provider import KeyMissing, Unreadable
from orchtw.storage.store import Change, Locked, Subscription


class Deliveries(Subscription):
    """Decrypts batches and hands them on; calls `ended` with itself once it is stopped."""

    _log = Logger()

    def __init__(
        self,
        open_change: Callable[[Change], Change],
        deliver: Callable[[Sequence[Change]], None],
        ended: Callable[[Deliveries], None],
    ) -> None:
        self._open = open_change
        self._deliver = deliver
        self._ended = ended
        self._inner: Subscription | None = None
        self._stopped = False
        self._waiting: deque[Sequence[Change]] = deque()
        self._told: list[Deferred[None]] = []

    @property
    def busy(self) -> bool:
        """Report whether a batch waits for a data key."""
        return bool(self._waiting)

    def of(self, inner: Subscription) -> Subscription:
        """Wrap the subscription of the inner store, and return this one."""
        self._inner = inner
        if self._stopped:
            inner.stop()
        return self

    def take(self, changes: Sequence[Change]) -> None:
        """Hand a batch on at once, or queue it behind waiting ones."""
        if self._stopped:
            return
        if not self._waiting:
            try:
                opened = [self._open(change) for change in changes]
            except KeyMissing:
                self._waiting.append(changes)
                Deferred.fromCoroutine(self._catch_up())
            else:
                self._deliver(opened)
            return
        self._waiting.append(changes)

    async def _catch_up(self) -> None:
        while self._waiting and not self._stopped:
            opened = [await self._opened(change) for change in self._waiting[0]]
            self._hand_on(opened)
            self._waiting.popleft()
        self._waiting.clear()
        told, self._told = self._told, []
        for each in told:
            each.callback(None)

    async def _opened(self, change: Change) -> Change:
        while True:
            try:
                return self._open(change)
            except KeyMissing as missing:
                try:
                    await missing.fetch()
                except Unreadable as problem:
                    return msgspec.structs.replace(change, note=Locked(str(problem)))

    def _hand_on(self, changes: Sequence[Change]) -> None:
        """Deliver changes; a subscriber that raises is logged and stays subscribed."""
        if not self._stopped:
            try:
                self._deliver(changes)
            except Exception:  # noqa: BLE001 - a subscriber's bug is logged
                self._log.failure("a subscriber failed at revision {revision}", revision=changes[-1].revision)

    async def told(self) -> None:
        """Wait until all queued batches are delivered."""
        if self._waiting:
            waiting: Deferred[None] = Deferred()
            self._told.append(waiting)
            await waiting

    def stop(self) -> None:
        """End the subscription, as `Subscription.stop`."""
        self._stopped = True
        if self._inner is not None:
            self._inner.stop()
        self._ended(self)
