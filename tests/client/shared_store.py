"""A store in memory that other processes write too, for tests of what readers wait for."""

from __future__ import annotations

from twisted.internet.task import Clock

from orchtw.storage.store import Change, KeptValue, Op
from tests.client.world import MemoryStore


class SharedStore(MemoryStore):
    """Memory store with a second writer.

    Subscribers learn of the writes by `write_elsewhere` through `tell`, or with the next write of this process.
    """

    shared = True

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._untold: list[Change] = []

    def write_elsewhere(self, op: Op) -> int:
        """Another process' write; its revision, 0 if its precondition does not hold."""
        return self._decide(op, self._untold).revision

    def tell(self) -> None:
        """The feed catches up."""
        untold, self._untold = self._untold, []
        for deliver in tuple(self.followers):
            if untold:
                deliver(untold)

    def _flush(self) -> None:
        self.tell()
        super()._flush()


class KeepingStore(SharedStore):
    """As on etcd, renewing a value that is kept is not a write."""

    async def keep(self, key: str, value: bytes, life_s: float) -> KeptValue:
        return _Held(self, key, (await self.commit(Op(key, value))).revision, life_s)


class _Held(KeptValue):
    """Ends by the clock, unless it is renewed."""

    def __init__(self, store: KeepingStore, key: str, revision: int, life_s: float) -> None:
        self.revision = revision
        self._store = store
        self._key = key
        self._life_s = life_s
        self._end = store.clock.callLater(life_s, lambda: store.commit(Op(key, None, revision)))

    async def renew(self) -> bool:
        if self._end.active():
            self._end.reset(self._life_s)
        return self._store.revision_of(self._key) == self.revision

    async def end(self) -> None:
        if self._end.active():
            self._end.cancel()
        await self._store.commit(Op(self._key, None, self.revision))
