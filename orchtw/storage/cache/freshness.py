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
from orchtw.storage.store import Store
from orchtw.watch.event_log import HeadRevision

WAIT_S: Final = 3.0
"""Longest wait of a read for a revision (reference READ-8)."""

MOST_RECENT: Final = None
"""Freshness of a read that must see every write acknowledged before it began: an unset resourceVersion."""


class Freshness:
    """Freshness of the cache for each read, and the wait for it.

    Readers ask as with the resourceVersion of a get: MOST_RECENT, 0 for any state, or the least revision that will
    do. `head` is the revision that the cache has reached.
    """

    def __init__(self, store: Store, head: HeadRevision, clock: IReactorTime) -> None:
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

    def fresh(self, wanted: int | None) -> bool:
        """Report whether there is nothing to await, as `due` would return it."""
        return self._store.current() if wanted is None else wanted <= self._head.revision

    async def exactly(self, revision: int) -> None:
        """Wait until the cache has reached `revision`, which the client may have from another process.

        Raises Timeout (504) after WAIT_S; at once if there is no other process.
        """
        if not self._shared and revision > self._head.revision:
            raise Timeout.future_version(revision, self._head.revision)
        await self._come_to(revision)

    def advanced(self) -> None:
        """Wake the reads that waited for a revision that the cache has now reached."""
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
        """Wait for a revision, as `_reach`; on a shared store also ask the store, which brings writes of others."""
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
