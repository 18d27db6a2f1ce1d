"""Blocks of numbers, in memory for a single process, or in a record of a shared store."""

from __future__ import annotations

import abc
from typing import Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from orchtw.registry.allocation.bitmap import members
from orchtw.storage.interface import KeyValue, Op, Store

SIZE: Final = 4096
"""Numbers of a block: a record of 512 bytes, and 256 of them for the largest range."""


class Block(abc.ABC):
    """Which numbers of a block, counted from its first, are taken; `bits` is what is known of that without asking."""

    @property
    @abc.abstractmethod
    def bits(self) -> int:
        """Those taken, or about to be taken, as far as this process knows."""

    @abc.abstractmethod
    async def refresh(self) -> None:
        """Learn what others have done meanwhile. Raises what the store raises."""

    @abc.abstractmethod
    async def take(self, number: int) -> bool:
        """Take a number; False if it is taken. After an error of the store, or a cancellation, it is not taken.
        """

    @abc.abstractmethod
    def free(self, number: int) -> None:
        """Give a number back, of which the caller knows that nobody needs it; others can have it soon."""


class LocalBlock(Block):
    """Of a store that no other process writes: nobody else has to be told."""

    def __init__(self) -> None:
        self._bits = 0

    @property
    def bits(self) -> int:
        """Implement this part of a `Block`."""
        return self._bits

    async def refresh(self) -> None:
        """Implement this part of a `Block`."""

    async def take(self, number: int) -> bool:
        """Implement this part of a `Block`."""
        bit = 1 << number
        if self._bits & bit:
            return False
        self._bits |= bit
        return True

    def free(self, number: int) -> None:
        """Implement this part of a `Block`."""
        self._bits &= ~(1 << number)


class StoredBlock(Block):
    """A record in the store, changed by compare and swap only.

    What comes while one change is on its way goes with the next: any number of writers share a commit. A number is
    taken once the record says so, and what is given back is free only then.
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
        """Implement this part of a `Block`."""
        return self._recorded | self._pending

    async def refresh(self) -> None:
        """Implement this part of a `Block`."""
        self._learn(await self._store.get(self._key))

    def _learn(self, record: KeyValue | None) -> None:
        """Take over what the store holds, unless we know of something newer.

        A record that is gone was empty. It has no revision that says when: what we wrote ourselves meanwhile is
        found out by the next change, which does not succeed.
        """
        if record is None:
            self._revision, self._recorded = 0, 0
        elif self._revision is None or record.revision > self._revision:
            self._revision, self._recorded = record.revision, int.from_bytes(record.value, "little")

    async def take(self, number: int) -> bool:
        """Implement this part of a `Block`."""
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
        """Implement this part of a `Block`."""
        self._frees |= 1 << number
        self._write()

    def _write(self) -> None:
        if not self._writing:
            self._writing = True
            Deferred.fromCoroutine(self._write_all())

    async def _write_all(self) -> None:
        """Bring the record up to what is wanted, change by change."""
        while self._takes or self._frees:
            takes, self._takes = self._takes, {}
            frees, self._frees = self._frees, 0
            try:
                await self._write_once(takes, frees)
            except Exception as error:  # noqa: BLE001 - waiters must hear
                self._give_up(takes, error)
        self._writing = False

    async def _write_once(self, takes: dict[int, Deferred[bool]], frees: int) -> None:
        """One change; what another process was faster with is put back into the queue."""
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
    """The numbers of a block that begins at `first`."""
    return {first + number for number in members(bits)}
