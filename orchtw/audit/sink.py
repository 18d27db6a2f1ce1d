"""Sinks of audit events: a backend, a union of them, or a stage in front of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Protocol

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from orchtw.audit.buffer import InDelivery, WaitingEvents
from orchtw.audit.counts import Counts
from orchtw.audit.event import Event

Stored = bool | Deferred[bool]
"""True if the events' request may go on; a Deferred if that is not known at once.

Cancelling it ends the wait, but not the delivery, which does not depend on the request.
"""


class AuditSink(Protocol):
    """Receiver of audit events."""

    @property
    def prompt(self) -> bool:
        """Report whether `process` always returns True: no request waits for its events, or fails for them."""

    def process(self, *events: Event) -> Stored:
        """Take events of one request; False if one is lost and the request must fail for it."""

    def start(self) -> None:
        """Start threads; the process will not fork any more."""

    async def stop(self) -> None:
        """Wait until all events have arrived or been given up; no more will come."""


class SinkUnion:
    """Union of sinks; events are stored once each of them has stored them."""

    def __init__(self, sinks: Sequence[AuditSink]) -> None:
        self._sinks = tuple(sinks)
        self.prompt = all(sink.prompt for sink in sinks)

    def process(self, *events: Event) -> Stored:
        """Pass the events to each sink."""
        found = [sink.process(*events) for sink in self._sinks]
        if all(isinstance(each, bool) for each in found):
            return all(found)
        return Deferred.fromCoroutine(_all(found))

    def start(self) -> None:
        """Start each of the sinks."""
        for sink in self._sinks:
            sink.start()

    async def stop(self) -> None:
        """Stop the backends, one after the other: the log is fast."""
        for sink in self._sinks:
            await sink.stop()


async def _all(found: Sequence[Stored]) -> bool:
    stored = [each if isinstance(each, bool) else await each for each in found]
    return all(stored)


WAIT_S: Final = 90.0
"""Longest wait of a request for delivery, unless its own limit is shorter: watches and refusals have no limit."""


class AuditBackend(InDelivery, Protocol):
    """Backend that takes the events of one request at a time."""

    def process(self, *events: Event) -> Deferred[bool]:
        """Deliver events; fires with False if they are lost."""

    def start(self) -> None:
        """Start the threads of the backend."""

    async def stop(self) -> None:
        """Wait until all events have arrived or been given up."""


class Blocking(msgspec.Struct, frozen=True, kw_only=True):
    """Blocking modes: a request waits until the backend has its events, if there is room for them.

    Unless `strict`, the request goes on even if they are lost, or not delivered after WAIT_S.
    """

    backend: AuditBackend
    room: WaitingEvents
    clock: IReactorTime
    strict: bool = False
    prompt: ClassVar[bool] = False

    def process(self, *events: Event) -> Stored:
        """Pass events to the backend; returns what their request waits for."""
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


class Truncating(msgspec.Struct, frozen=True):
    """Removal of the objects from events that are longer than `limit_bytes` (reference AUDIT-13).

    `strict`: a request fails if its event is too long even then.
    """

    inner: AuditSink
    limit_bytes: int
    group: str
    counts: Counts
    strict: bool = False

    @property
    def prompt(self) -> bool:
        """Report whether the sink behind it is prompt, as no sink is in strict mode."""
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
