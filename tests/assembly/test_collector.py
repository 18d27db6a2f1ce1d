from __future__ import annotations

import gc
import weakref

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.collector import EACH_S, LEAST_BYTES, LOOK_TICKS, OLD_EACH, THRESHOLDS, Collector
from orchtw.assembly.memory import resident_bytes

MOST = THRESHOLDS[0] * (THRESHOLDS[1] + 1)


class CollectorTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.addCleanup(gc.set_threshold, *gc.get_threshold())
        self.addCleanup(gc.unfreeze)
        self.addCleanup(gc.enable)
        self.clock = Clock()
        self.resident = 100 << 20
        self.used_s = 0.0
        self.collector = Collector(self.clock, lambda: self.resident, lambda: self.used_s)
        self.collector.startService()
        self.addCleanup(self.collector.stopService)

    def test_short_passes(self) -> None:
        """No pass looks at more than some 18,000 objects, however many there are (reference METRIC-7)."""
        looked = self._looked()
        kept = [[number] for number in range(400_000)]
        self.assertEqual(len(kept), 400_000)
        self.assertLess(max(looked), 1.5 * MOST)
        self.assertEqual(self.collector.seconds.count, len(looked))

    def test_new_for_old(self) -> None:
        """Nor do passes look at more where old objects go as new ones come, which the interpreter does not count."""
        kept = [[number] for number in range(100_000)]
        self._tick(2 * OLD_EACH)
        looked = self._looked()
        for number in range(len(kept)):
            kept[number] = [number]
            if not number % 1000:
                self.clock.advance(EACH_S)
        self.assertLess(max(looked), MOST)

    def test_cycles(self) -> None:
        """A cycle is found soon after it has been dropped."""
        gc.callbacks.append(found := Found())
        self.addCleanup(gc.callbacks.remove, found)
        for _ in range(2 * THRESHOLDS[0]):
            cycle: list[object] = []
            cycle.append(cycle)
        self.assertGreater(found.cycles, THRESHOLDS[0] // 2)

    def test_old_cycles(self) -> None:
        """An old cycle is collected when memory has grown by a quarter, even without requests."""
        gone = self._old_cycle()
        self.resident += LEAST_BYTES - 1
        self._tick(LOOK_TICKS)
        self.assertIsNotNone(gone())
        self.resident += 1
        self._tick(LOOK_TICKS)
        self.assertIsNone(gone())

    def test_share(self) -> None:
        """Of much memory it is a quarter, so that a process that grows is not looked at more and more often."""
        self.resident = 400 << 20
        self._tick(LOOK_TICKS)
        gone = self._old_cycle()
        self.resident += (100 << 20) - 1
        self._tick(LOOK_TICKS)
        self.assertIsNotNone(gone())
        self.resident += 1
        self._tick(LOOK_TICKS)
        self.assertIsNone(gone())

    def test_busy(self) -> None:
        """A busy process is not held up before memory has grown by half."""
        gone = self._old_cycle()
        self.resident += 2 * LEAST_BYTES - 1
        self._tick(LOOK_TICKS, busy=True)
        self.assertIsNotNone(gone())
        self.resident += 1
        self._tick(LOOK_TICKS, busy=True)
        self.assertIsNone(gone())

    def test_shrunk(self) -> None:
        """Growth counts from the least that there has been since."""
        self.resident -= LEAST_BYTES
        self._tick(LOOK_TICKS)
        gone = self._old_cycle()
        self.resident += LEAST_BYTES
        self._tick(LOOK_TICKS)
        self.assertIsNone(gone())

    def test_stopped(self) -> None:
        """A stopped collector measures nothing further."""
        self.collector.stopService()
        gc.collect()
        self.assertEqual(self.collector.seconds.count, 0)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def _tick(self, count: int, *, busy: bool = False) -> None:
        for _ in range(count):
            self.used_s += EACH_S if busy else 0
            self.clock.advance(EACH_S)

    def _old_cycle(self) -> weakref.ref[Node]:
        """A cycle that has been dropped after it had got old."""
        node = Node()
        node.next = node
        self._tick(2 * OLD_EACH + (-2 * OLD_EACH) % LOOK_TICKS)
        return weakref.ref(node)

    def _looked(self) -> list[int]:
        """Return a list that receives the number of objects that each later pass examines."""
        looked: list[int] = []

        def looking(phase: str, info: dict[str, int]) -> None:
            if phase == "start":
                looked.append(sum(len(gc.get_objects(each)) for each in range(info["generation"] + 1)))

        gc.callbacks.append(looking)
        self.addCleanup(gc.callbacks.remove, looking)
        return looked


class MemoryTests(SynchronousTestCase):
    def test_grows(self) -> None:
        """Memory counts as resident once it has been written to."""
        before = resident_bytes()
        kept = bytearray(b"x" * (64 << 20))
        self.assertGreater(resident_bytes() - before, len(kept) // 2)


class Node:
    """A part of a cycle."""

    next: Node | None = None


class Found:
    """Counts what passes have found."""

    cycles = 0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        self.cycles += info["collected"] if phase == "stop" else 0
