"""What the tests of audit share: events, and a backend that keeps what it is given."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.internet.defer import Deferred

from orchtw.audit.event import Event
from orchtw.audit.sink import Stored
from orchtw.wire.objects import Object

STAMP = "2022-05-03T12:00:00.120000Z"


def members(**more: Any) -> Object:
    """The members of an event."""
    return {
        "level": "Metadata",
        "auditID": "id-1",
        "stage": "ResponseComplete",
        "requestURI": "/api/v1/pods",
        "verb": "list",
        "user": {"username": "u"},
        "sourceIPs": ["10.0.0.1"],
        "requestReceivedTimestamp": STAMP,
        "stageTimestamp": STAMP,
        **more,
    }


def numbered(number: int, size: int = 0) -> Event:
    """An event whose id says which it is, of at least `size` bytes."""
    return Event.of(members(auditID=f"id-{number}", userAgent="x" * size))


class Kept:
    """A backend in memory. `answer` is what it says of events; `batches` has how many came at a time."""

    def __init__(self, answer: bool | Deferred[bool] = True) -> None:
        self.events: list[Event] = []
        self.answer = answer
        self.calls: list[str] = []
        self.batches: list[int] = []

    @property
    def prompt(self) -> bool:
        """Whether no request waits for it."""
        return self.answer is True

    def process(self, *events: Event) -> Stored:
        """Keep them."""
        self.events += events
        self.batches.append(len(events))
        return self.answer

    def start(self) -> None:
        """Note it."""
        self.calls.append("start")

    async def stop(self) -> None:
        """Note it."""
        self.calls.append("stop")

    @property
    def shown(self) -> list[Object]:
        """The events as their readers see them."""
        return [orjson.loads(each.json) for each in self.events]


class Held:
    """A backend in memory that has its events until it is told that they have arrived."""

    extra_bytes = 0

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.waiting: list[Deferred[bool]] = []
        self.cancelled = 0
        self.bytes = 0
        self.calls: list[str] = []

    def process(self, *events: Event) -> Deferred[bool]:
        """Keep them."""
        self.events += events
        self.bytes += sum(len(event.json) for event in events)
        waiting: Deferred[bool] = Deferred(self._cancelled)
        self.waiting.append(waiting)
        return waiting

    def _cancelled(self, _waiting: Deferred[bool]) -> None:
        self.cancelled += 1

    def arrived(self, whole: bool) -> None:
        """All of them, or they are lost."""
        self.bytes = 0
        waiting, self.waiting = self.waiting, []
        for each in waiting:
            each.callback(whole)

    def start(self) -> None:
        """Note it."""
        self.calls.append("start")

    async def stop(self) -> None:
        """Note it."""
        self.calls.append("stop")

    @property
    def shown(self) -> list[Object]:
        """The events as their readers see them."""
        return [orjson.loads(each.json) for each in self.events]
