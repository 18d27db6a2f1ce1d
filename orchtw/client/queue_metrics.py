"""Work-queue metrics (reference METRIC-5)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Final

from orchtw.metrics.registry import Registry
from orchtw.metrics.series import GAUGE, Read, Values, counters, doubling, gauges, histograms

_BOUNDS_S: Final = doubling(1e-8, 10, 10)
_LABELS: Final = ("name",)


class Queues:
    """Metric families of work queues. `seconds` is a monotonic clock."""

    def __init__(self, registry: Registry, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._queues: dict[str, Queue] = {}
        add = registry.add
        self.adds = add(counters("workqueue_adds_total", "Keys added to a queue.", _LABELS))
        self.depth = add(gauges("workqueue_depth", "Keys waiting in a queue.", _LABELS))
        self.waits = add(histograms(
            "workqueue_queue_duration_seconds", "Time that a key waits in a queue, in seconds.", _BOUNDS_S,
            _LABELS))  # fmt: skip
        self.work = add(histograms(
            "workqueue_work_duration_seconds", "Time to process a key, in seconds.", _BOUNDS_S, _LABELS))  # fmt: skip
        self.retries = add(counters("workqueue_retries_total", "Keys retried after a failure.", _LABELS))
        add(Read(self._unfinished, "workqueue_unfinished_work_seconds", GAUGE,
                 "Total time that the keys in progress have taken so far, in seconds.", _LABELS))  # fmt: skip
        add(Read(self._longest, "workqueue_longest_running_processor_seconds", GAUGE,
                 "Time that the longest-running key in progress has taken so far, in seconds.", _LABELS))  # fmt: skip

    def of(self, name: str) -> Queue:
        """Return the metrics of the queue with this name."""
        return self._queues.setdefault(name, Queue(self, name, self._seconds))

    def _unfinished(self) -> Iterator[tuple[Values, float]]:
        now = self._seconds()
        return (((name,), sum(now - began for began in queue.running)) for name, queue in self._queues.items())

    def _longest(self) -> Iterator[tuple[Values, float]]:
        now = self._seconds()
        return (((name,), now - min(queue.running, default=now)) for name, queue in self._queues.items())


class Queue:
    """Metrics of one queue, as `QueueMetrics`. `running` has the start times of keys in work, in order."""

    def __init__(self, queues: Queues, name: str, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._adds, self._depth = queues.adds.of(name), queues.depth.of(name)
        self._waits, self._work = queues.waits.of(name), queues.work.of(name)
        self._retries = queues.retries.of(name)
        self.running: list[float] = []

    def added(self, depth: int) -> None:
        """Count an added key. See `QueueMetrics`, also for the methods below."""
        self._adds.value += 1
        self._depth.value = depth

    def taken(self, depth: int, waited_s: float) -> None:
        self._depth.value = depth
        self._waits.observe(waited_s)
        self.running.append(self._seconds())

    def done(self, took_s: float) -> None:
        self._work.observe(took_s)
        if self.running:
            at = bisect_left(self.running, self._seconds() - took_s)
            del self.running[min(at, len(self.running) - 1)]

    def retried(self) -> None:
        self._retries.value += 1
