"""Fixtures of the audit tests: events, and a backend that records them."""

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
    """Return an event with a numbered audit ID, of at least `size` bytes."""
    return Event.of(members(auditID=f"id-{number}", userAgent="x" * size))


class Kept:
    """A backend in memory. `answer` is its answer to events; `batches` has the sizes of the batches."""

    def __init__(self, answer: bool | Deferred[bool] = True) -> None:
        self.events: list[Event] = []
        self.answer = answer
        self.calls: list[str] = []
        self.batches: list[int] = []

    @property
    def prompt(self) -> bool:
        """Report whether the backend never makes a request wait."""
        return self.answer is True

    def process(self, *events: Event) -> Stored:
        """Record the events and return the configured answer."""
        self.events += events
        self.batches.append(len(events))
        return self.answer

    def start(self) -> None:
        self.calls.append("start")

    async def stop(self) -> None:
        self.calls.append("stop")

    @property
    def shown(self) -> list[Object]:
        """The events as their readers see them."""
        return [orjson.loads(each.json) for each in self.events]


class Held:
    """A backend in memory that holds its events until the test reports their arrival."""

    extra_bytes = 0

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.waiting: list[Deferred[bool]] = []
        self.cancelled = 0
        self.bytes = 0
        self.calls: list[str] = []

    def process(self, *events: Event) -> Deferred[bool]:
        """Record the events; return a Deferred that fires when the test reports their arrival."""
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
        self.calls.append("start")

    async def stop(self) -> None:
        self.calls.append("stop")

    @property
    def shown(self) -> list[Object]:
        """The events as their readers see them."""
        return [orjson.loads(each.json) for each in self.events]
