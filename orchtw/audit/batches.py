"""Mode batch: events wait in a bounded buffer and are delivered in batches (reference AUDIT-13, AUDIT-17)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from orchtw.audit.buffer import InDelivery, WaitingEvents
from orchtw.audit.event import Event

PLUGIN: Final = "buffered"


class BatchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Flags of one backend: `buffer_size` and `max_size` are in events.

    `qps` and `burst` throttle batches, and `max_bytes` limits the size of one (0: unlimited).
    """

    buffer_size: int
    max_size: int
    max_wait_s: float
    qps: float = 0.0
    burst: int = 0
    max_bytes: int = 0


class Delivery(InDelivery, Protocol):
    """Delivery of batches, any number at once."""

    @property
    def events(self) -> int:
        """Return the number of accepted events that still count as waiting."""

    def deliver(self, batch: list[Event]) -> None:
        """Deliver events, and handle failures."""

    def start(self) -> None:
        """Start the threads that deliver batches."""

    async def stop(self) -> None:
        """Wait until all events have arrived or been given up."""


class Batches:
    """Buffer of events, delivered when a batch is full or old enough, as fast as the throttle allows."""

    prompt: Final = True

    def __init__(self, settings: BatchSettings, clock: Any, delivery: Delivery, room: WaitingEvents) -> None:
        self._settings = settings
        self._clock = clock
        self._delivery = delivery
        self._room = room
        self._waiting: deque[Event] = deque()
        self._due = 0
        self._timer: Any = None
        self._pause: Any = None
        self._bucket = _Bucket(settings.qps, settings.burst, clock.seconds) if settings.qps else None
        self._ending = False

    def process(self, *events: Event) -> bool:
        """Take events; those for which there is no room are lost, which fails no request."""
        for event in events:
            self._take(event)
        return True

    def _take(self, event: Event) -> None:
        settings, delivery, size = self._settings, self._delivery, len(event.json)
        if len(self._waiting) + delivery.events >= settings.buffer_size or not self._room.fits(size):
            self._room.lose(1)
            return
        if settings.max_size == 1 and self._bucket is None:
            delivery.deliver([event])
            return
        self._waiting.append(event)
        self._room.queued += size
        if len(self._waiting) >= settings.max_size:
            self._hand_over()
        elif self._timer is None:
            self._timer = self._clock.callLater(settings.max_wait_s, self._waited)

    def start(self) -> None:
        """Start the threads that deliver batches."""
        self._delivery.start()

    async def stop(self) -> None:
        """Deliver everything at once, without throttle, and wait for it."""
        self._ending = True
        self._hand_over()
        for timer in (self._timer, self._pause):
            if timer is not None:
                timer.cancel()
        self._timer = self._pause = None
        await self._delivery.stop()

    def _waited(self) -> None:
        """Deliver the events that have waited for `max_wait_s`."""
        self._timer = None
        self._due = len(self._waiting)
        self._hand_over()

    def _paused(self) -> None:
        """Deliver the next batch, for which the throttle has a token."""
        self._pause = None
        self._hand_over()

    def _hand_over(self) -> None:
        settings = self._settings
        while self._waiting:
            full = len(self._waiting) >= settings.max_size
            if not full and self._due <= 0 and not self._ending:
                if self._timer is None:
                    self._timer = self._clock.callLater(settings.max_wait_s, self._waited)
                return
            if self._bucket is not None and not self._ending and (wait_s := self._bucket.take()):
                if self._pause is None:
                    self._pause = self._clock.callLater(wait_s, self._paused)
                return
            batch = self._next()
            self._due -= len(batch)
            self._delivery.deliver(batch)

    def _next(self) -> list[Event]:
        batch: list[Event] = []
        size, waiting = 0, self._waiting
        most, most_bytes = self._settings.max_size, self._settings.max_bytes
        while waiting and len(batch) < most:
            length = len(waiting[0].json)
            if batch and most_bytes and size + length > most_bytes:
                break
            batch.append(waiting.popleft())
            size += length
        self._room.queued -= size
        return batch


class _Bucket:
    """Token bucket: `burst` at once, and `qps` per second in the long run."""

    def __init__(self, qps: float, burst: int, seconds: Callable[[], float]) -> None:
        self._qps = qps
        self._burst = burst
        self._seconds = seconds
        self._tokens = float(burst)
        self._at = seconds()

    def take(self) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        now = self._seconds()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._qps)
        self._at = now
        # A nearly whole token counts, so that a timer set for it cannot fire too early by a rounding error.
        if self._tokens < 1 - 1e-6:
            return (1 - self._tokens) / self._qps
        self._tokens -= 1
        return 0.0
