"""Writes on their way to the writer thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from orchtw.storage.sqlite.plan import Ticket

CallSoon = Callable[[Callable[[], None]], object]

ENOUGH: Final = 16
"""Writes that wait for no others: a batch of them costs little more a write than a larger one."""

ENOUGH_BYTES: Final = 128 << 10
"""Size from which they do not wait, however few: the disk has work with them."""


class Gathering:
    """Gathers the writes of a turn of the reactor, and those that come while earlier ones are under way.

    A batch wakes the thread, the disk, the reactor and every other process once, whatever its size. `submit` takes
    the next batch; `call_soon` runs a function at the end of the turn. `busy` reports whether earlier writes,
    although they are on disk, have yet to be answered.
    """

    def __init__(self, submit: Callable[[list[Ticket]], None], call_soon: CallSoon) -> None:
        self.busy: Callable[[], bool] = lambda: False
        self._submit = submit
        self._call_soon = call_soon
        self._is_due = False
        self._gathered: list[Ticket] = []
        self._bytes = 0
        self._under_way = 0

    def add(self, ticket: Ticket) -> None:
        """Take in a write, after those before it; `proceed` follows."""
        self._gathered.append(ticket)
        self._bytes += len(ticket[0].value or b"")

    def delivered(self, count: int) -> None:
        """Note that so many writes of batches are on disk, or have failed; `proceed` follows when all is told."""
        self._under_way -= count

    def proceed(self) -> None:
        """Submit what has been gathered if it is enough; else at the end of the turn, if nothing is under way."""
        if len(self._gathered) >= ENOUGH or self._bytes >= ENOUGH_BYTES:
            self.flush()
        elif self._gathered and not self._is_due and not self._waits():
            self._is_due = True
            self._call_soon(self._end_turn)

    def at_once(self) -> None:
        """Submit what has been gathered, unless it waits for what is under way: no more is expected in this turn."""
        if not self._waits():
            self.flush()
        else:
            self.proceed()

    def _end_turn(self) -> None:
        self._is_due = False
        if not self._waits():
            self.flush()

    def _waits(self) -> bool:
        return self._under_way > 0 or self.busy()

    def flush(self) -> None:
        """Submit what has been gathered."""
        gathered, self._gathered, self._bytes = self._gathered, [], 0
        if gathered:
            self._under_way += len(gathered)
            self._submit(gathered)
