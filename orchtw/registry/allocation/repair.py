"""Repair of allocated numbers against the services: after a crash, and periodically (reference CTRL-9)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Final, Protocol

from twisted.logger import Logger

from orchtw.registry.allocation.allocator import Allocator
from orchtw.registry.allocation.claims import Held
from orchtw.wire.objects import Object

ROUNDS: Final = 3
"""Rounds in a row that must find a number unused before it is freed: a write under way takes it before the service
is there, and no write lasts as long as the time between two rounds.
"""


class Account(Protocol):
    """Account of allocated numbers."""

    @property
    def allocators(self) -> tuple[Allocator, ...]:
        """Return the allocators of taken numbers."""

    def services(self) -> AsyncIterator[Object]:
        """Yield the Services that take numbers."""

    def held(self, service: Object) -> Iterator[Held]:
        """Yield the numbers of a Service."""

    def foreign(self, service: Object) -> Iterator[Held]:
        """Yield the numbers of a Service outside of the ranges."""


class Repair:
    """Repair, one round after the other; `holding` are the numbers of this process' own writes."""

    _log = Logger()

    def __init__(self, account: Account, holding: set[Held]) -> None:
        self._account = account
        self._holding = holding
        self._leaks: dict[Held, int] = {}

    async def run(self) -> None:
        """Take numbers that Services have; free those that no Service has. Raises what the store raises.

        Taken numbers are read first: one that is taken after that is found in the next round.
        """
        taken: set[Held] = set()
        for allocator in self._account.allocators:
            taken |= {(allocator, number) for number in await allocator.taken()}
        used = await self._used(taken)
        self._free_leaks(taken - used)

    async def _used(self, taken: set[Held]) -> set[Held]:
        used: set[Held] = set()
        async for service in self._account.services():
            who = "{namespace}/{name}".format_map(service["metadata"])
            for held in set(self._account.held(service)):
                if held in used:
                    self._say(held, who, "was assigned to multiple services; please recreate")
                elif held not in taken:
                    allocator, number = held
                    if await allocator.take(number):
                        self._say(held, who, "is not allocated; repairing")
                used.add(held)
            for held in self._account.foreign(service):
                numbers = held[0].range
                self._say(held, who, f"is not within the {numbers.title} {numbers}; please recreate")
        return used

    def _free_leaks(self, unused: set[Held]) -> None:
        before, self._leaks = self._leaks, {}
        for held in unused - self._holding:
            allocator, number = held
            rounds = before.get(held, 0) + 1
            subject = allocator.range.subject(number)
            if rounds >= ROUNDS:
                self._log.warn("the {subject} appears to have leaked: cleaning up", subject=subject)
                allocator.free(number)
                continue
            if rounds == 1:
                self._log.warn("the {subject} may have leaked: flagging for later clean up", subject=subject)
            self._leaks[held] = rounds

    def _say(self, held: Held, who: str, what: str) -> None:
        allocator, number = held
        text = "the {subject} for service {who} {what}"
        self._log.warn(text, subject=allocator.range.subject(number), who=who, what=what)
