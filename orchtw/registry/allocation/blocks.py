"""Blocks of numbers, in memory for a single process, or in a record of a shared store."""

from __future__ import annotations

import abc
from typing import Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from orchtw.registry.allocation.bitmap import members
from orchtw.storage.store import KeyValue, Op, Store

SIZE: Final = 4096
"""Numbers of a block: a record of 512 bytes, and 256 of them for the largest range."""


class Block(abc.ABC):
    """Taken numbers of a block, counted from its first; `bits` is the part known without asking the store."""

    @property
    @abc.abstractmethod
    def bits(self) -> int:
        """Numbers taken, or about to be taken, as far as this process knows."""

    @abc.abstractmethod
    async def refresh(self) -> None:
        """Read the changes of other processes. Raises what the store raises."""

    @abc.abstractmethod
    async def take(self, number: int) -> bool:
        """Take a number; False if it is taken. If the store fails, or on cancellation, it is not taken."""

    @abc.abstractmethod
    def free(self, number: int) -> None:
        """Give back a number that the caller knows to be unused; it soon becomes available."""


class LocalBlock(Block):
    """Block of a store that no other process writes, in memory alone."""

    def __init__(self) -> None:
        self._bits = 0

    @property
    def bits(self) -> int:
        """Numbers taken by this process, as `Block.bits`."""
        return self._bits

    async def refresh(self) -> None:
        """Do nothing: no other process takes numbers."""

    async def take(self, number: int) -> bool:
        """Take a number at once, as `Block.take`."""
        bit = 1 << number
        if self._bits & bit:
            return False
        self._bits |= bit
        return True

    def free(self, number: int) -> None:
        """Give a number back at once, as `Block.free`."""
        self._bits &= ~(1 << number)


class StoredBlock(Block):
    """A record in the store, changed by compare and swap only.

    Requests that arrive during one change go into the next: any number of writers share a commit. A number is taken
    once the record says so, and a number given back is free only then.
    """

    _log = Logger()

    def __init__(self, store: Store, key: str) -> None:
        self._store = store
        self._key = key
        self._recorded = 0
        self._revision: int | None = None  # of the record; None: it has yet to be read
        self._pending = 0
        self._takes: dict[int, Deferred[bool]] = {}
        self._frees = 0
        self._writing = False

    @property
    def bits(self) -> int:
        """Numbers taken in the record as last read, and those being taken."""
        return self._recorded | self._pending

    async def refresh(self) -> None:
        """Read the record from the store, as `Block.refresh`."""
        self._learn(await self._store.get(self._key))

    def _learn(self, record: KeyValue | None) -> None:
        """Take over the stored record, unless a newer one is known.

        A record that is gone was empty. It has no revision to compare: if we have written meanwhile, the next change
        fails and shows it.
        """
        if record is None:
            self._revision, self._recorded = 0, 0
        elif self._revision is None or record.revision > self._revision:
            self._revision, self._recorded = record.revision, int.from_bytes(record.value, "little")

    async def take(self, number: int) -> bool:
        """Take a number once the record in the store has it, as `Block.take`."""
        if self._revision is None:
            await self.refresh()
        bit = 1 << number
        if self.bits & bit:
            return False
        self._pending |= bit
        waiting = self._takes[number] = Deferred()
        self._write()
        return await waiting

    def free(self, number: int) -> None:
        """Give a number back with the next change of the record, as `Block.free`."""
        self._frees |= 1 << number
        self._write()

    def _write(self) -> None:
        if not self._writing:
            self._writing = True
            Deferred.fromCoroutine(self._write_all())

    async def _write_all(self) -> None:
        """Write the pending takes and frees, change by change, until there are none left."""
        while self._takes or self._frees:
            takes, self._takes = self._takes, {}
            frees, self._frees = self._frees, 0
            try:
                await self._write_once(takes, frees)
            except Exception as error:  # noqa: BLE001 - waiters must hear
                self._give_up(takes, error)
        self._writing = False

    async def _write_once(self, takes: dict[int, Deferred[bool]], frees: int) -> None:
        """Make one change; on a conflict with another process its takes and frees are queued again."""
        if self._revision is None:
            await self.refresh()
        lost = {number: takes.pop(number) for number in list(takes) if self._recorded >> number & 1}
        self._settle(lost, won=False)
        wanted = self._recorded & ~frees | sum(1 << number for number in takes)
        if wanted == self._recorded:
            return
        value = wanted.to_bytes(SIZE // 8, "little") if wanted else None
        outcome = await self._store.commit(Op(self._key, value, self._revision))
        if outcome.revision:
            self._recorded, self._revision = wanted, outcome.revision if wanted else 0
            self._settle(takes, won=True)
        else:
            self._revision = None
            self._learn(outcome.current)
            self._takes = {**takes, **self._takes}
            self._frees |= frees

    def _settle(self, takes: dict[int, Deferred[bool]], *, won: bool) -> None:
        for number, waiting in takes.items():
            self._pending &= ~(1 << number)
            if not waiting.called:
                waiting.callback(won)
            elif won:
                self._frees |= 1 << number

    def _give_up(self, takes: dict[int, Deferred[bool]], error: Exception) -> None:
        """Fail the waiting takes. The record may have changed: it is read again, and lost numbers are repaired."""
        self._revision = None
        if not takes:
            self._log.warn("{key} could not be changed: {why}", key=self._key, why=str(error))
        for number, waiting in takes.items():
            self._pending &= ~(1 << number)
            if not waiting.called:
                waiting.errback(error)


def shown(bits: int, first: int) -> set[int]:
    """Return the numbers of a block that begins at `first`."""
    return {first + number for number in members(bits)}
