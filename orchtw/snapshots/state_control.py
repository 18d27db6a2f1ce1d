"""Control of the whole state: snapshots, and restores that readers and writers see as one instant."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from typing import Any, Final, TypeVar

import msgspec
from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.client.work_queue import WorkQueue
from orchtw.errors import MethodNotAllowed, ServiceUnavailable, StatusError
from orchtw.registry.targets import Targets
from orchtw.snapshots.difference import Difference, difference
from orchtw.snapshots.extent import Extent
from orchtw.snapshots.snapshots import START, Snapshot, Snapshots
from orchtw.storage.cache.watch_cache import Cacher
from orchtw.storage.store import Restored, Store
from orchtw.writes.gate import WriteGate

T = TypeVar("T")

DRAIN_S: Final = 0.5
"""Longest wait of a restore for writes under way, such as those that wait for a webhook."""

ATTEMPTS: Final = 100
"""Attempts to replace the state before any other write, such as the end of an Event, comes in between."""

QUIET_S: Final = 5.0
"""Longest wait of the start for the controllers' first round of work."""

FAILING_S: Final = 1.0
"""Time after which keys that keep failing are no longer waited for."""

LOOK_S: Final = 0.005


class StateHost(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Parts of the server that a restore concerns.

    All writes pass the `gate`. `queues` are those of the controllers at present, and `synced` reports whether these
    have seen everything. `renewed` are the keys of API objects that this server renews. Each of `in_force` returns
    when the changes that the caches have are in force in one part. `now` is the time in seconds since the epoch.
    """

    store: Store
    cacher: Cacher
    targets: Targets
    gate: WriteGate
    clock: IReactorTime
    now: Callable[[], float]
    queues: Callable[[], Sequence[WorkQueue[Any]]]
    synced: Callable[[], bool]
    renewed: Callable[[], Collection[str]]
    in_force: Sequence[Callable[[], Awaitable[None]]]


class Restoration(msgspec.Struct, frozen=True):
    """Outcome of a restore: the revision that it has led to, and the number of keys that have changed."""

    revision: int
    changed: int


_log = Logger()


class StateControl:
    """Snapshots and restores of a store that no other process writes (reference STORE-40 to STORE-42).

    A restore runs to its end, whether the client waits for it or not; one is made after the other.
    """

    def __init__(self, host: StateHost) -> None:
        self._host = host
        self._snapshots = Snapshots(host.store)
        self._lock = DeferredLock()

    async def begin(self) -> None:
        """Take the snapshot of the start, once the controllers have done what is due on the first objects."""
        if self._host.store.shared:
            return
        await self._quiet()
        try:
            await self._snapshots.take(self._extent, self._host.now(), START)
        except StatusError as error:
            _log.warn("failed to take the startup snapshot, so the state cannot be reset: {why}", why=error.message)

    def kept(self) -> Sequence[Snapshot]:
        """Return all snapshots. Raises MethodNotAllowed (405) on a shared store."""
        self._check()
        return self._snapshots.kept

    async def snapshot(self) -> Snapshot:
        """Take a snapshot of the present state.

        Raises Forbidden (403) beyond the limits, MethodNotAllowed (405) on a shared store.
        """
        self._check()
        return await undisturbed(self._alone(lambda: self._snapshots.take(self._extent, self._host.now())))

    def release(self, name: str) -> None:
        """Forget a snapshot. Raises NotFound (404), Forbidden (403), MethodNotAllowed (405)."""
        self._check()
        self._snapshots.release(name)

    async def restore(self, name: str, *, expires: bool) -> Restoration:
        """Bring the state of a snapshot back.

        `expires`: the watches of clients end with 410, and so do reads at earlier revisions from then on; else they
        are told of each change. Raises NotFound (404), MethodNotAllowed (405), and what the store raises: nothing
        has changed then.
        """
        self._check()
        snapshot = self._snapshots.get(name)
        return await undisturbed(self._alone(lambda: self._restore(snapshot, expires)))

    @property
    def _extent(self) -> Extent:
        return Extent(self._host.renewed())

    def _check(self) -> None:
        if self._host.store.shared:
            text = "the state can only be restored in a store of one process: --storage memory, or sqlite alone"
            raise MethodNotAllowed.at_present(text)

    async def _alone(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        await self._lock.acquire()
        try:
            return await work()
        finally:
            self._lock.release()

    async def _restore(self, snapshot: Snapshot, expires: bool) -> Restoration:
        host = self._host
        queues = host.queues()
        # 1. Controllers give up what they are doing: they have read what is to be no longer so.
        for queue in queues:
            queue.pause()
        try:
            # 2. Writes of clients end; later ones wait.
            await host.gate.close(DRAIN_S)
            try:
                # 3. All changes in one batch, which caches take over in one turn.
                found, revision = await self._replace(snapshot, expires)
                await host.targets.replaced(found.values)
            finally:
                host.gate.open()
        finally:
            for queue in queues:
                queue.resume()
        if expires:
            await host.store.compact(revision)
        # 4. Definitions, roles and the like are in force before the answer.
        for each in host.in_force:
            await each()
        changed = len(found.values)
        text = "state restored: snapshot {name}, {changed} keys have changed, resourceVersion {revision}"
        _log.info(text, name=snapshot.name, changed=changed, revision=revision)
        return Restoration(revision, changed)

    async def _replace(self, snapshot: Snapshot, expires: bool) -> tuple[Difference, int]:
        host, note = self._host, Restored(expires)
        for _ in range(ATTEMPTS):
            found = await difference(host.store, snapshot, self._extent)
            ops = found.ops(note, host.targets.lifetimes)
            revision = await host.store.replace(ops, found.revision)
            if revision:
                if expires and not ops:
                    host.cacher.expire(revision)
                    host.cacher.forget_past()
                return found, revision
        raise ServiceUnavailable("the state could not be restored: writes keep changing it")

    async def _quiet(self) -> None:
        """Wait until the controllers have nothing to do."""
        clock = self._host.clock
        began = clock.seconds()
        while (waited_s := clock.seconds() - began) < QUIET_S:
            queues = self._host.queues()
            busy = any(queue.busy or (queue.failing and waited_s < FAILING_S) for queue in queues)
            if self._host.synced() and not busy and not self._host.gate.under_way:
                return
            await deferLater(clock, LOOK_S)
        _log.warn("controllers are still busy; they continue after the startup snapshot")


def undisturbed(work: Coroutine[Any, Any, T]) -> Deferred[T]:
    """Run `work` to its end, even if its caller gives up waiting."""
    waiting: Deferred[T] = Deferred()

    def ended(result: T | Failure) -> None:
        if not waiting.called:
            waiting.callback(result)
        elif isinstance(result, Failure):
            _log.failure("an unawaited restore failed", failure=result)

    Deferred.fromCoroutine(work).addBoth(ended)
    return waiting
