"""Objects in a version that a webhook converts them to: converted once for all who need them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.errors import InternalError, StatusError
from orchtw.watch.entry import Entry
from orchtw.watch.gate import Done

CHUNK: Final = 2000
CHUNK_BYTES: Final = 16 << 20
"""Bytes of entries converted at a time, which bounds the size of the reviews."""


class Version(Protocol):
    """A version whose forms have to be made."""

    def has_json(self, entry: Entry) -> bool:
        """Report whether the form of an entry exists."""

    async def make(self, entries: Sequence[Entry]) -> None:
        """Make the forms of entries. Raises StatusError."""


class WebhookForms:
    """See `registry.target.Forms`. Conversions under way for others are awaited, not repeated: `coming` holds them,
    for all requests of that version.
    """

    _log = Logger()

    def __init__(self, version: Version, coming: Coming) -> None:
        self._version = version
        self._coming = coming

    def lacks(self, entry: Entry) -> bool:
        """Report whether the form of an entry is missing."""
        return not self._version.has_json(entry)

    async def ensure(self, entries: Sequence[Entry]) -> None:
        """Make the missing forms of entries. Raises StatusError.

        Where the round of others fails, its entries are converted again: the fault may lie in the rest of it.
        """
        lacking = [entry for entry in entries if self.lacks(entry)]
        for chunk in _chunks(lacking):
            await self._ensure(chunk)

    async def _ensure(self, lacking: Sequence[Entry]) -> None:
        while lacking:
            others = {self._coming[entry]: None for entry in lacking if entry in self._coming}
            own = [entry for entry in lacking if entry not in self._coming]
            if own:
                await self._begin(list(dict.fromkeys(own))).result()
            for each in others:
                await each.over()
            lacking = [entry for entry in lacking if self.lacks(entry)]

    def prepare(self, entries: Sequence[Entry], done: Done) -> None:
        """Make the forms of entries, then call `done`."""
        making = Deferred.fromCoroutine(self.ensure(entries))
        making.addCallbacks(lambda _: done(None), lambda failure: done(self._refusal(failure)))

    def _begin(self, entries: Sequence[Entry]) -> _Round:
        """Begin to make forms in a round that goes on when waiters leave."""
        begun = _Round()
        self._coming.update(dict.fromkeys(entries, begun))

        def end(outcome: object) -> None:
            for entry in entries:
                del self._coming[entry]
            begun.end(outcome if isinstance(outcome, Failure) else None)

        Deferred.fromCoroutine(self._version.make(entries)).addBoth(end)
        return begun

    def _refusal(self, failure: Failure) -> StatusError:
        if isinstance(failure.value, StatusError):
            return failure.value
        if not isinstance(failure.value, CancelledError):  # as calls are when the server stops
            self._log.failure("objects could not be converted", failure)
        return InternalError.of("the watch could not be continued")


def _chunks(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Yield chunks of a bounded number of entries and bytes, of at least one entry."""
    begin = size = 0
    for position, entry in enumerate(entries):
        if position > begin and (size + len(entry.raw) > CHUNK_BYTES or position - begin >= CHUNK):
            yield entries[begin:position]
            begin, size = position, 0
        size += len(entry.raw)
    if begin < len(entries):
        yield entries[begin:]


class _Round:
    """Forms that are being made together, and the callers that wait for them."""

    def __init__(self) -> None:
        self._waiting: list[Deferred[None]] = []
        self._ended = False
        self._failure: Failure | None = None

    async def result(self) -> None:
        """Wait for the end. Raises what the round raised."""
        await self.over()
        if self._failure is not None:
            self._failure.raiseException()

    async def over(self) -> None:
        """Wait for the end, good or bad."""
        if not self._ended:
            waiting: Deferred[None] = Deferred()
            self._waiting.append(waiting)
            await waiting

    def end(self, failure: Failure | None) -> None:
        """Notify all waiters of the result."""
        self._ended, self._failure = True, failure
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.called:
                each.callback(None)


Coming = dict[Entry, _Round]
"""Rounds under way, by entry."""
