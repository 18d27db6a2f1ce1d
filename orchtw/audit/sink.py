"""Sinks of audit events: one backend, all of them, or a stage in front of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Protocol

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from orchtw.audit.counts import Counts
from orchtw.audit.event import Event
from orchtw.audit.waiting import Holder, WaitingEvents

Stored = bool | Deferred[bool]
"""Whether an event is where it belongs as far as its request is concerned; at once where that can be told.

Cancelling it ends the wait, not the delivery: that belongs to the server, whatever becomes of the request.
"""


class AuditSink(Protocol):
    """Receiver of audit events."""

    @property
    def prompt(self) -> bool:
        """Report whether `process` always returns True: no request waits for its events, or fails for them."""

    def process(self, *events: Event) -> Stored:
        """Take events of one request. False: one is lost, which mode blocking-strict reports."""

    def start(self) -> None:
        """Threads may begin: the process has its final id."""

    async def stop(self) -> None:
        """Everything that was taken has arrived or is given up; nothing more comes."""


class SinkUnion:
    """All of several backends; events are stored when they are with each of them."""

    def __init__(self, sinks: Sequence[AuditSink]) -> None:
        self._sinks = tuple(sinks)
        self.prompt = all(sink.prompt for sink in sinks)

    def process(self, *events: Event) -> Stored:
        """Give them to each."""
        found = [sink.process(*events) for sink in self._sinks]
        if all(isinstance(each, bool) for each in found):
            return all(found)
        return Deferred.fromCoroutine(_all(found))

    def start(self) -> None:
        """Start each of the sinks."""
        for sink in self._sinks:
            sink.start()

    async def stop(self) -> None:
        """One after the other: the log is quick."""
        for sink in self._sinks:
            await sink.stop()


async def _all(found: Sequence[Stored]) -> bool:
    stored = [each if isinstance(each, bool) else await each for each in found]
    return all(stored)


WAIT_S: Final = 90.0
"""For which a request waits, if it has no limit of its own that is shorter: watches and refusals have none."""


class AuditBackend(Holder, Protocol):
    """Takes the events of one request at a time."""

    def process(self, *events: Event) -> Deferred[bool]:
        """Bring events to where they belong: False in the end if they are lost."""

    def start(self) -> None:
        """Start the threads of the sink."""

    async def stop(self) -> None:
        """Everything has arrived or is given up."""


@attrs.frozen(slots=True, kw_only=True)
class Blocking:
    """The modes that block: a request waits until the backend has its events, as long as there is room for them.

    If not `strict`, it goes on though they are lost, or still under way after WAIT_S.
    """

    backend: AuditBackend
    room: WaitingEvents
    clock: IReactorTime
    strict: bool = False
    prompt: ClassVar[bool] = False

    def process(self, *events: Event) -> Stored:
        """Hand events to every sink, whether or not the request waits for it."""
        if not self.room.fits(sum(len(event.json) for event in events)):
            self.room.lose(len(events))
            return not self.strict
        stored: Deferred[bool] = Deferred()

        def arrived(whole: bool) -> None:
            stored.callback(whole or not self.strict)

        self.backend.process(*events).addCallback(arrived)
        return stored.addTimeout(WAIT_S, self.clock, onTimeoutCancel=lambda *_: not self.strict)

    def start(self) -> None:
        """Start the backend behind it."""
        self.backend.start()

    async def stop(self) -> None:
        """Stop the backend behind it."""
        await self.backend.stop()


TOO_LARGE: Final = "event is too large even after truncating"


@attrs.frozen(slots=True)
class Truncating:
    """Takes the objects out of events that are longer than `limit_bytes` (reference AUDIT-13).

    `strict`: a request whose event is too long without them is to know that it is lost.
    """

    inner: AuditSink
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
        """Start the backend behind it."""
        self.inner.start()

    async def stop(self) -> None:
        """Stop the backend behind it."""
        await self.inner.stop()
