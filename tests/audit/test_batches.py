"""Mode batch: waiting, its limits, and lost events (reference AUDIT-13, AUDIT-17)."""

from __future__ import annotations

from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from orchtw.audit.batches import PLUGIN, Batches, BatchSettings
from orchtw.audit.buffer import BLOCKED, WAITING_BYTES, WaitingEvents
from orchtw.audit.counts import Counts
from orchtw.audit.event import Event
from tests.audit.events import numbered


class Delivered:
    """A delivery in memory; what was handed over still counts as long as the test says."""

    extra_bytes = 0

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.events = 0
        self.bytes = 0
        self.calls: list[str] = []

    def deliver(self, batch: list[Event]) -> None:
        """Record the audit IDs of the batch."""
        self.batches.append([each.members["auditID"] for each in batch])

    def start(self) -> None:
        self.calls.append("start")

    async def stop(self) -> None:
        self.calls.append("stop")


SETTINGS = BatchSettings(buffer_size=10, max_size=3, max_wait_s=30.0)


class BatchesTests(SynchronousTestCase):
    """Batching of audit events (`Batches`)."""

    def made(self, **changes: Any) -> Batches:
        self.clock, self.delivered = Clock(), Delivered()
        self.counts = Counts(self.clock)
        limit_bytes = changes.pop("waiting_bytes", WAITING_BYTES)
        self.room = WaitingEvents("log", self.delivered, self.counts, plugin=PLUGIN, limit_bytes=limit_bytes)
        return Batches(msgspec.structs.replace(SETTINGS, **changes), self.clock, self.delivered, self.room)

    def give(self, batches: Batches, *numbers: int) -> None:
        for number in numbers:
            self.assertIs(batches.process(numbered(number)), True)

    def test_full(self) -> None:
        """A full batch is delivered at once, in the order of its events."""
        batches = self.made()
        self.give(batches, 1, 2)
        self.assertEqual(self.delivered.batches, [])
        self.give(batches, 3, 4)
        self.assertEqual(self.delivered.batches, [["id-1", "id-2", "id-3"]])

    def test_waited(self) -> None:
        """A batch whose longest wait is over is delivered as it is, and no timer remains."""
        batches = self.made()
        self.give(batches, 1)
        self.clock.advance(29)
        self.give(batches, 2)
        self.assertEqual(self.delivered.batches, [])
        self.clock.advance(1)
        self.assertEqual(self.delivered.batches, [["id-1", "id-2"]])
        self.assertEqual((self.clock.getDelayedCalls(), self.room.bytes), ([], 0))

    def test_one_by_one(self) -> None:
        """Batches of one event wait for nothing."""
        batches = self.made(max_size=1)
        self.give(batches, 1, 2)
        self.assertEqual(self.delivered.batches, [["id-1"], ["id-2"]])

    def test_throttled(self) -> None:
        """A burst at once, then so many a second; nothing is lost by it."""
        batches = self.made(max_size=1, qps=2.0, burst=2)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.give(batches, 1, 2, 3, 4)
        self.assertEqual(len(self.delivered.batches), 2)
        self.clock.advance(0.5)
        self.assertEqual(len(self.delivered.batches), 3)
        self.clock.advance(0.5)
        self.assertEqual(self.delivered.batches[-1], ["id-4"])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_throttled_and_due(self) -> None:
        """Batches that are due stay due while the throttle delays them."""
        batches = self.made(qps=1.0, burst=1)
        self.give(batches, 1, 2, 3, 4)
        self.clock.advance(30)
        self.assertEqual(self.delivered.batches, [["id-1", "id-2", "id-3"], ["id-4"]])

    def test_too_many(self) -> None:
        """Events beyond the buffer are lost, counted and logged; the request does not fail."""
        batches = self.made(buffer_size=2)
        with_room = [numbered(number) for number in range(3)]
        for event in with_room:
            self.assertIs(batches.process(event), True)
        self.assertEqual(self.counts.errors, {"buffered": 1})
        self.clock.advance(30)
        self.assertEqual(self.delivered.batches, [["id-0", "id-1"]])

    def test_delivered_but_waiting(self) -> None:
        """Events handed over but not yet delivered occupy the buffer, in number and in bytes."""
        batches = self.made(buffer_size=2, waiting_bytes=2000)
        self.delivered.events = 2
        self.give(batches, 1)
        self.assertEqual(self.counts.errors, {"buffered": 1})
        self.delivered.events, self.delivered.bytes = 0, 1900
        self.give(batches, 2)
        self.assertEqual(self.counts.errors, {"buffered": 2})
        self.delivered.bytes = 0
        self.give(batches, 3)
        self.assertEqual(self.counts.errors, {"buffered": 2})
        self.assertEqual(self.room.bytes, len(numbered(3).json))

    def test_bytes_of_a_batch(self) -> None:
        """A batch takes no more bytes than it may, but one event in any case."""
        size = len(numbered(1, 500).json)
        batches = self.made(max_bytes=2 * size)
        for number in (1, 2, 3):
            batches.process(numbered(number, 500))
        batches.process(numbered(4, 5000))
        self.clock.advance(30)
        self.assertEqual(self.delivered.batches, [["id-1", "id-2"], ["id-3"], ["id-4"]])

    def test_the_end(self) -> None:
        """At the end everything is handed over, throttle or not, before the delivery is stopped."""
        batches = self.made(qps=1.0, burst=1)
        batches.start()
        self.give(batches, 1, 2, 3, 4, 5, 6, 7)
        self.successResultOf(Deferred.fromCoroutine(batches.stop()))
        self.assertEqual([len(each) for each in self.delivered.batches], [3, 3, 1])
        self.assertEqual((self.delivered.calls, self.clock.getDelayedCalls()), (["start", "stop"], []))

    def test_text(self) -> None:
        """The log names the plugin and says how many events there are to a line."""
        batches = self.made(buffer_size=0)
        with capturedLogs() as logged:
            self.give(batches, 1, 2, 3)
            self.clock.advance(2)
            self.give(batches, 4)
        self.assertEqual([(each["plugin"], each["count"], each["why"]) for each in logged],
                         [("buffered", 1, BLOCKED), ("buffered", 3, BLOCKED)])

