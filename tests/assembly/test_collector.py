from __future__ import annotations

import gc

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly import collector as module
from orchtw.assembly.collector import EACH_S, THRESHOLDS, Collector


class CollectorTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.addCleanup(gc.set_threshold, *gc.get_threshold())
        self.addCleanup(gc.unfreeze)
        self.addCleanup(gc.enable)
        self.clock = Clock()
        self.collector = Collector(self.clock)
        self.collector.startService()
        self.addCleanup(self.collector.stopService)

    def test_short_passes(self) -> None:
        """No pass looks at more than some 18,000 objects, however many there are (reference METRIC-7)."""
        looked = self._looked()
        kept = [[number] for number in range(400_000)]
        most = THRESHOLDS[0] * (THRESHOLDS[1] + 1) * (THRESHOLDS[2] + 1)
        self.assertGreater(gc.get_freeze_count(), len(kept) - 2 * most)
        self.assertLess(max(looked), 1.5 * most)
        self.assertEqual(self.collector.seconds.count, len(looked))

    def test_new_for_old(self) -> None:
        """Nor do passes look at more where old objects go as new ones come, which the interpreter does not count."""
        kept = [[number] for number in range(100_000)]
        gc.freeze()
        looked = self._looked()
        for number in range(len(kept)):
            kept[number] = [number]
            if not number % 1000:
                self.clock.advance(EACH_S)
        self.assertGreater(gc.get_freeze_count(), len(kept) - 2 * 7000)
        self.assertLess(max(looked), 2 * 7000)

    def test_cycles(self) -> None:
        """A cycle is found soon after it has been dropped."""
        gc.callbacks.append(found := Found())
        self.addCleanup(gc.callbacks.remove, found)
        for _ in range(2 * THRESHOLDS[0]):
            cycle: list[object] = []
            cycle.append(cycle)
        self.assertGreater(found.cycles, THRESHOLDS[0] // 2)

    def test_stopped(self) -> None:
        """What has ended measures nothing."""
        self.collector.stopService()
        gc.collect()
        self.assertEqual(self.collector.seconds.count, 0)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def _looked(self) -> list[int]:
        """How many objects each pass from now on looks at."""
        looked: list[int] = []
        self.patch(module, "LONG_S", 0)  # however quick the machine is

        def looking(phase: str, info: dict[str, int]) -> None:
            if phase == "start":
                looked.append(sum(len(gc.get_objects(each)) for each in range(info["generation"] + 1)))

        gc.callbacks.append(looking)
        self.addCleanup(gc.callbacks.remove, looking)
        return looked


class Found:
    """Counts what passes have found."""

    cycles = 0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        self.cycles += info["collected"] if phase == "stop" else 0
