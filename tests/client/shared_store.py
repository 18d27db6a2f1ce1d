"""A store in memory that other processes write too, for tests of what readers wait for."""

from __future__ import annotations

from twisted.internet.task import Clock

from orchtw.storage.interface import Change, Op
from tests.client.world import MemoryStore


class SharedStore(MemoryStore):
    """What `write_elsewhere` writes, subscribers are told of by `tell`, or with the next write of this process."""

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
