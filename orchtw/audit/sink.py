"""What takes events: one backend, all of them, or a stage on the way to one."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import ClassVar, Final, Protocol

import attrs

from orchtw.audit.counts import Counts
from orchtw.audit.event import Event

Stored = bool | Awaitable[bool]
"""Whether an event is where it belongs as far as its request is concerned; at once where that can be told."""


class Sink(Protocol):
    """Where events go."""

    @property
    def prompt(self) -> bool:
        """Whether `process` always returns True: no request waits for its events, or fails for them."""

    def process(self, *events: Event) -> Stored:
        """Take events of one request. False: one is lost, and who insists on it (mode blocking-strict) is to know."""

    def start(self) -> None:
        """Threads may begin: the process has its final id."""

    async def stop(self) -> None:
        """Everything that was taken has arrived or is given up; nothing more comes."""


class Union:
    """All of several backends; events are stored when they are with each of them."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = tuple(sinks)
        self.prompt = all(sink.prompt for sink in sinks)

    def process(self, *events: Event) -> Stored:
        """Give them to each."""
        found = [sink.process(*events) for sink in self._sinks]
        if all(isinstance(each, bool) for each in found):
            return all(found)
        return _all(found)

    def start(self) -> None:
        """Start each."""
        for sink in self._sinks:
            sink.start()

    async def stop(self) -> None:
        """One after the other: the log is quick."""
        for sink in self._sinks:
            await sink.stop()


async def _all(found: Sequence[Stored]) -> bool:
    stored = [each if isinstance(each, bool) else await each for each in found]
    return all(stored)


@attrs.frozen(slots=True)
class Lenient:
    """Mode blocking: requests wait for the backend behind it, and go on though it fails."""

    inner: Sink
    prompt: ClassVar[bool] = False

    def process(self, *events: Event) -> Stored:
        """True, perhaps after a wait."""
        stored = self.inner.process(*events)
        return True if isinstance(stored, bool) else _after(stored)

    def start(self) -> None:
        """As the backend."""
        self.inner.start()

    async def stop(self) -> None:
        """As the backend."""
        await self.inner.stop()


async def _after(stored: Awaitable[bool]) -> bool:
    await stored
    return True


TOO_LARGE: Final = "event is too large even after truncating"


@attrs.frozen(slots=True)
class Truncating:
    """Takes the objects out of events that are longer than `limit_bytes` (reference AUDIT-13).

    `strict`: a request whose event is too long without them is to know that it is lost.
    """

    inner: Sink
    limit_bytes: int
    group: str
    counts: Counts
    strict: bool = False

    @property
    def prompt(self) -> bool:
        """As the backend, which is not in a strict mode then."""
        return self.inner.prompt

    def process(self, *events: Event) -> Stored:
        """Pass on what fits, with or without its objects; an event that is too long without them is lost."""
        short = [self._short(event) if len(event.json) > self.limit_bytes else event for event in events]
        passed = [event for event in short if len(event.json) <= self.limit_bytes]
        lost = len(events) - len(passed)
        if not lost:
            return self.inner.process(*passed)
        self.counts.lost("truncate", lost, TOO_LARGE)
        stored = self.inner.process(*passed) if passed else True
        return False if self.strict else stored

    def _short(self, event: Event) -> Event:
        return event.without_objects(self.group) if event.has_objects else event

    def start(self) -> None:
        """As the backend."""
        self.inner.start()

    async def stop(self) -> None:
        """As the backend."""
        await self.inner.stop()
