"""Freshness of the cache: consistent reads wait until it has caught up (reference READ-10).

The cache of a store that only this process writes is never behind: it is fed before a writer is answered. A store
that several processes share may hold acknowledged writes that the cache has yet to be told of; the store says whether
that can be so just now (`Store.current`).
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as DeferredTimeout
from twisted.internet.interfaces import IReactorTime

from orchtw.errors import Timeout
from orchtw.storage.interface import Store
from orchtw.watch.log import LogHead

WAIT_S: Final = 3.0
"""How long a read waits for a revision to come (reference READ-8)."""

MOST_RECENT: Final = None
"""What a reader wants that must see every write acknowledged before it began: an unset resourceVersion."""


class Freshness:
    """Decides whether the cache may serve a read yet, and what to wait for if not.

    Readers say what they want as the resourceVersion of a get does: MOST_RECENT, 0 for any state, or the revision
    than which the state must not be older. `head` says how far the cache is.
    """

    def __init__(self, store: Store, head: LogHead, clock: IReactorTime) -> None:
        self._store = store
        self._shared = store.shared
        self._head = head
        self._clock = clock
        self._waiters: dict[Deferred[None], int] = {}

    def due(self, wanted: int | None) -> Awaitable[None] | None:
        """Return what to await before reading the cache, or None if it is fresh enough.

        The awaitable raises Timeout (504, "Too large resource version") after WAIT_S.
        """
        if wanted is None:
            return None if self._store.current() else self._most_recent()
        return self._come_to(wanted) if wanted > self._head.revision else None

    async def exactly(self, revision: int) -> None:
        """Return once the cache has come to `revision`, which another process may have told the client.

        Raises Timeout (504) after WAIT_S; at once if there is no other process.
        """
        if not self._shared and revision > self._head.revision:
            raise Timeout.future_version(revision, self._head.revision)
        await self._come_to(revision)

    def advanced(self) -> None:
        """Answer those who waited for what the cache has reached now."""
        if not self._waiters:
            return
        reached = [waiter for waiter, revision in self._waiters.items() if revision <= self._head.revision]
        for waiter in reached:
            del self._waiters[waiter]
            waiter.callback(None)

    def stop(self) -> None:
        """Cancel the waits of all readers."""
        for waiter in list(self._waiters):
            waiter.cancel()

    async def _most_recent(self) -> None:
        await self._reach(await self._store.revision())

    async def _come_to(self, revision: int) -> None:
        """Catch up, as `_reach`; on a shared store also with writes of other processes."""
        if self._shared and revision > self._head.revision:
            Deferred.fromCoroutine(self._store.revision()).addErrback(lambda failure: None)
        await self._reach(revision)

    async def _reach(self, revision: int) -> None:
        if revision <= self._head.revision:
            return
        waiter: Deferred[None] = Deferred(self._forget)
        self._waiters[waiter] = revision
        waiter.addTimeout(WAIT_S, self._clock)
        try:
            await waiter
        except DeferredTimeout:
            raise Timeout.future_version(revision, self._head.revision) from None

    def _forget(self, waiter: Deferred[None]) -> None:
        self._waiters.pop(waiter, None)
