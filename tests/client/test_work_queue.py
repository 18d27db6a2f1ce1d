"""The keyed work queue: once a key, so many at a time, later after failures (reference CTRL-3)."""

from __future__ import annotations

from random import Random

from twisted.internet.defer import Deferred, ensureDeferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.client.work_queue import STOP_S, Backoff, Retry, WorkQueue
from orchtw.errors import Conflict, NotFound

PLAIN = Backoff(first_s=1.0, limit_s=10.0, jitter=0.0)


class Metrics:
    """Metrics hook that records its calls."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []

    def added(self, depth: int) -> None:
        self.told.append(("added", depth))

    def taken(self, depth: int, waited_s: float) -> None:
        self.told.append(("taken", depth, waited_s))

    def done(self, took_s: float) -> None:
        self.told.append(("done", took_s))

    def retried(self) -> None:
        self.told.append(("retried",))


class WorkQueueTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.processed: list[str] = []
        self.answers: dict[str, list[object]] = {}
        self.metrics = Metrics()
        self.queue = self.make(1)

    def make(self, concurrency: int) -> WorkQueue[str]:
        queue = WorkQueue(
            self.process, self.clock, Random(1), name="q", concurrency=concurrency, backoff=PLAIN,
            metrics=self.metrics,
        )
        queue.start()
        return queue

    async def process(self, key: str) -> float | None:
        """Do with each key what `answers` says, in turn: wait, raise or return."""
        self.processed.append(key)
        answers = self.answers.get(key)
        answer = answers.pop(0) if answers else None
        if isinstance(answer, Deferred):
            await answer
            return None
        if isinstance(answer, Exception):
            raise answer
        assert answer is None or isinstance(answer, float)
        return answer

    def test_once(self) -> None:
        """A key that is added several times before its turn is processed once (F, framework)."""
        for key in ("a", "b", "a"):
            self.queue.add(key)
        self.assertEqual(len(self.queue), 2)
        self.clock.advance(0)
        self.assertEqual(self.processed, ["a", "b"])
        self.assertTrue(self.queue.idle)

    def test_not_twice_at_a_time(self) -> None:
        """A key that is added while it is processed is processed again, after that."""
        gate: Deferred[None] = Deferred()
        self.answers["a"] = [gate]
        queue = self.make(2)
        queue.add("a")
        self.clock.advance(0)
        queue.add("a")
        queue.add("a")
        self.clock.advance(0)
        self.assertEqual(self.processed, ["a"])
        gate.callback(None)
        self.clock.advance(0)
        self.assertEqual(self.processed, ["a", "a"])

    def test_concurrency(self) -> None:
        """As many keys are processed at a time as there may be, no more."""
        gates: list[Deferred[None]] = [Deferred() for _ in range(3)]
        for key, gate in zip("abc", gates, strict=True):
            self.answers[key] = [gate]
        queue = self.make(2)
        for key in "abc":
            queue.add(key)
        self.clock.advance(0)
        self.assertEqual(self.processed, ["a", "b"])
        gates[1].callback(None)
        self.clock.advance(0)
        self.assertEqual(self.processed, ["a", "b", "c"])
        gates[0].callback(None)
        gates[2].callback(None)

    def test_pause(self) -> None:
        """A pause gives up running work in this turn, and nothing begins until it ends: then all of it anew."""
        first: Deferred[None] = Deferred()
        self.answers["a"] = [first]
        queue = self.make(2)
        queue.add("a")
        self.clock.advance(0)
        queue.pause()
        self.assertTrue(first.called)
        queue.add("b")
        queue.add_after("c", 1)
        self.clock.advance(1)
        self.clock.advance(0)
        self.assertEqual(self.processed, ["a"])
        self.assertFalse(queue.failing)
        queue.resume()
        self.clock.advance(0)
        self.assertEqual(self.processed, ["a", "a", "b", "c"])
        self.assertTrue(queue.idle)

    def test_pause_before_the_turn(self) -> None:
        """Keys whose turn has not come are not lost by a pause, nor taken by it."""
        self.queue.add("a")
        self.queue.pause()
        self.queue.pause()
        self.clock.advance(0)
        self.assertEqual((self.processed, self.queue.busy), ([], True))
        self.queue.resume()
        self.clock.advance(0)
        self.assertEqual((self.processed, self.queue.busy), (["a"], False))

    def test_rest(self) -> None:
        """A queue rests when no key is waiting or running; keys that return later are not waited for."""
        gate: Deferred[None] = Deferred()
        self.answers |= {"a": [gate], "b": [Retry()]}
        self.successResultOf(Deferred.fromCoroutine(self.queue.rested()))
        for key in "ab":
            self.queue.add(key)
        resting = Deferred.fromCoroutine(self.queue.rested())
        self.clock.advance(0)
        gate.callback(None)
        self.assertNoResult(resting)
        self.clock.advance(0)
        self.successResultOf(resting)
        self.assertEqual((self.queue.busy, self.queue.failing, self.queue.idle), (False, True, False))

    def test_rest_of_a_stopped_queue(self) -> None:
        """Nobody waits for a queue that has been stopped."""
        self.queue.pause()
        self.queue.add("a")
        resting = Deferred.fromCoroutine(self.queue.rested())
        self.successResultOf(ensureDeferred(self.queue.stop()))
        self.successResultOf(resting)

    def test_backoff(self) -> None:
        """A failed key is retried with doubling delays up to the limit, which start anew after a success."""
        self.answers["a"] = [Retry() for _ in range(5)]
        self.queue.add("a")
        times: list[float] = []
        for _ in range(60):
            before = len(self.processed)
            self.clock.advance(0 if not times else 1)
            times += [self.clock.seconds()] * (len(self.processed) - before)
            times = times or [0.0]
        self.assertEqual(times, [0.0, 1.0, 3.0, 7.0, 15.0, 25.0])
        self.answers["a"] = [Retry()]
        self.queue.add("a")
        self.clock.advance(0)
        self.clock.advance(1)
        self.assertEqual(len(self.processed), 8)

    def test_jitter(self) -> None:
        """Delays are longer by a random part, so that keys that failed together come back apart."""
        backoff = Backoff(first_s=1.0, limit_s=8.0, jitter=0.5)
        delays = [backoff.delay_s(9, Random(seed)) for seed in range(50)]
        self.assertTrue(all(8.0 <= delay <= 12.0 for delay in delays))
        self.assertGreater(len(set(delays)), 40)

    def test_asked_delay(self) -> None:
        """A process that returns seconds gets its key back after them."""
        self.answers["a"] = [5.0]
        self.queue.add("a")
        self.clock.advance(0)
        self.clock.advance(4.9)
        self.assertEqual(len(self.processed), 1)
        self.clock.advance(0.1)
        self.clock.advance(0)
        self.assertEqual(len(self.processed), 2)

    def test_shortest_delay_counts(self) -> None:
        """Of several delayed adds of a key one is left: the earliest."""
        for delay_s in (5.0, 2.0, 7.0):
            self.queue.add_after("a", delay_s)
        self.clock.pump([1.0] * 10)
        self.assertEqual(self.processed, ["a"])

    def test_failures(self) -> None:
        """A refusal is tried again; only a bug leaves a traceback."""
        self.answers["a"] = [NotFound("gone"), Conflict("changed"), ZeroDivisionError()]
        self.queue.add("a")
        self.clock.pump([0, 1, 2, 4, 0])
        self.assertEqual(self.processed, ["a"] * 4)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_keys_wait_for_the_start(self) -> None:
        """Nothing is processed before the start."""
        queue: WorkQueue[str] = WorkQueue(self.process, self.clock, Random(1))
        queue.add("a")
        self.clock.advance(1)
        self.assertEqual((self.processed, queue.active), ([], False))
        queue.start()
        self.clock.advance(0)
        self.assertEqual(self.processed, ["a"])

    def test_stop(self) -> None:
        """A stop drops queued keys, lets running ones end, and leaves no timer."""
        gate: Deferred[None] = Deferred()
        self.answers["a"] = [gate]
        for key in "ab":
            self.queue.add(key)
        self.queue.add_after("c", 1)
        self.clock.advance(0)
        stopping = ensureDeferred(self.queue.stop())
        self.assertNoResult(stopping)
        gate.callback(None)
        self.successResultOf(stopping)
        self.assertEqual((self.processed, self.clock.getDelayedCalls()), (["a"], []))

    def test_stop_does_not_wait_for_ever(self) -> None:
        """A worker that has not ended within STOP_S is cancelled."""
        gate: Deferred[None] = Deferred()
        self.answers["a"] = [gate]
        self.queue.add("a")
        self.clock.advance(0)
        stopping = ensureDeferred(self.queue.stop())
        self.clock.advance(STOP_S)
        self.successResultOf(stopping)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_metrics(self) -> None:
        """The hook is told of each key's depth, waiting time, working time and retries."""
        self.answers["a"] = [Retry()]
        self.queue.add("a")
        self.clock.advance(0)
        told = [("added", 1), ("taken", 0, 0.0), ("retried",), ("done", 0.0)]
        self.assertEqual(self.metrics.told, told)
