"""Work-queue metrics (reference METRIC-5)."""

from __future__ import annotations

from random import Random
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.client.queue_metrics import Queues
from orchtw.client.work_queue import Retry, WorkQueue
from orchtw.metrics.registry import Registry
from tests.metrics.asked import shown


class QueueTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock, self.registry = Clock(), Registry()
        self.queues = Queues(self.registry, self.clock.seconds)
        self.working: dict[str, Deferred[Any]] = {}
        self.queue: WorkQueue[str] = WorkQueue(
            self.process, self.clock, Random(1), concurrency=2, metrics=self.queues.of("q")
        )

    async def process(self, key: str) -> None:
        self.working[key] = Deferred()
        await self.working[key]

    def value(self, name: str) -> float:
        return shown(self.registry, f"workqueue_{name}").get(("q",), 0)

    def test_life_of_a_key(self) -> None:
        """Keys are added, wait, are worked on, and come back after a failure."""
        for key in "abc":
            self.queue.add(key)
        self.assertEqual((self.value("adds_total"), self.value("depth")), (3, 3))
        self.clock.advance(2)
        self.queue.start()
        self.clock.advance(0)
        self.assertEqual((self.value("depth"), self.value("queue_duration_seconds")), (1, 2))
        self.clock.advance(3)
        self.assertEqual(self.value("unfinished_work_seconds"), 6)
        self.assertEqual(self.value("longest_running_processor_seconds"), 3)
        self.working["a"].callback(None)
        self.clock.advance(0)
        self.assertEqual((self.value("work_duration_seconds"), self.value("depth")), (1, 0))
        self.clock.advance(1)
        self.assertEqual(self.value("unfinished_work_seconds"), 5)
        self.assertEqual(self.value("longest_running_processor_seconds"), 4)
        self.working["b"].errback(Retry())
        self.assertEqual(self.value("retries_total"), 1)
        self.assertEqual(self.value("longest_running_processor_seconds"), 1)

    def test_one_a_name(self) -> None:
        """Each queue name has a single set of metrics."""
        self.assertIs(self.queues.of("q"), self.queues.of("q"))
