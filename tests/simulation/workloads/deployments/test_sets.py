"""ReplicaSets of a Deployment, and the steps between them."""
# covers: orchtw.simulation.workloads.deployments.rolling
# covers: orchtw.simulation.workloads.deployments.proportions

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.simulation.workloads.deployments.annotations import Annotations
from orchtw.simulation.workloads.deployments.proportions import proportional
from orchtw.simulation.workloads.deployments.rolling import rolling_sizes
from orchtw.simulation.workloads.deployments.sets import (
    latest,
    max_surge,
    max_unavailable,
    new_set,
    size_of,
    size_of_new,
)
from orchtw.wire.objects import Object
from tests.properties import examples
from tests.simulation.workloads.deployments.objects import deployment, replica_set

ANNOTATIONS = Annotations(Naming.orch())


def sizes(pairs: list[tuple[Object, int]]) -> dict[str, int]:
    """New sizes by the ReplicaSets' names."""
    return {each["metadata"]["name"]: size for each, size in pairs}


class SetTests(SynchronousTestCase):
    def test_margins(self) -> None:
        """The surge is rounded up, the unavailable part down; both cannot be 0."""
        self.assertEqual((max_surge(deployment(10)), max_unavailable(deployment(10))), (3, 2))
        self.assertEqual((max_surge(deployment(1)), max_unavailable(deployment(1))), (1, 0))
        small = deployment(3, surge=0, unavailable="10%")
        self.assertEqual((max_surge(small), max_unavailable(small)), (0, 1))
        self.assertEqual(max_unavailable(deployment(2, unavailable=5)), 2)

    def test_new_set(self) -> None:
        """The new ReplicaSet is the oldest with the Deployment's template."""
        sets = [replica_set("r2", 1), replica_set("r1", 1), replica_set("r0", 1, version=2)]
        found = new_set(deployment(1), sets)
        self.assertEqual(found and found["metadata"]["name"], "r1")

    def test_growth(self) -> None:
        """The new one grows as far as the surge allows, and no further than the Deployment."""
        self.assertEqual(size_of_new(deployment(10), [replica_set("r1", 10)], 0), 3)
        self.assertEqual(size_of_new(deployment(10), [replica_set("r1", 13)], 0), 0)
        self.assertEqual(size_of_new(deployment(10), [], 0), 10)

    def test_latest(self) -> None:
        """The one to scale is the active one, or the new one, or the youngest."""
        one, two, none = replica_set("r1", 1), replica_set("r2", 2), replica_set("r3", 0)
        self.assertIs(latest(none, [one]), one)
        self.assertIsNone(latest(two, [one]))
        self.assertIs(latest(none, [replica_set("r0", 0)]), none)
        self.assertIs(latest(None, [replica_set("r1", 0), none]), none)
        self.assertIsNone(latest(None, []))


class RollingTests(SynchronousTestCase):
    def test_unhealthy_first(self) -> None:
        """Old pods that are not available go before others, from the oldest ReplicaSet on."""
        old = [replica_set("r1", 2, available=0), replica_set("r2", 8)]
        new = replica_set("r3", 3, available=0, version=2)
        self.assertEqual(sizes(rolling_sizes(deployment(10), old, new)), {"r1": 0})

    def test_waiting(self) -> None:
        """While new pods are not available, no more old ones go than may be missing."""
        old, new = [replica_set("r1", 8)], replica_set("r2", 5, available=0)
        self.assertEqual(rolling_sizes(deployment(10), old, new), [])
        self.assertEqual(sizes(rolling_sizes(deployment(10), old, replica_set("r2", 5, available=2))), {"r1": 6})

    def test_too_many(self) -> None:
        """A new ReplicaSet that is too large shrinks first."""
        self.assertEqual(sizes(rolling_sizes(deployment(2), [], replica_set("r1", 5))), {"r1": 2})

    @examples(60)
    @given(st.integers(1, 30), st.integers(0, 5), st.integers(0, 5), st.randoms(use_true_random=False))
    def test_invariants(self, wanted: int, surge: int, unavailable: int, random: object) -> None:
        """An update ends, and never has more pods or fewer available ones than its margins allow."""
        owner = deployment(wanted, surge=surge, unavailable=unavailable)
        counts, ready = {"r1": wanted, "r2": 0}, {"r1": wanted, "r2": 0}
        for _ in range(4 * wanted + 8):
            old = replica_set("r1", counts["r1"], available=ready["r1"])
            new = replica_set("r2", counts["r2"], available=ready["r2"], version=2)
            for name, size in sizes(rolling_sizes(owner, [old], new)).items():
                counts[name], ready[name] = size, min(size, ready[name])
            self.assertLessEqual(sum(counts.values()), wanted + max_surge(owner))
            self.assertGreaterEqual(sum(ready.values()), wanted - max_unavailable(owner))
            ready["r2"] = random.randint(ready["r2"], counts["r2"]) if counts["r1"] else counts["r2"]  # type: ignore[attr-defined]
            if random.random() < 0.5:  # type: ignore[attr-defined]
                ready["r2"] = counts["r2"]
        for _ in range(2 * wanted + 4):
            ready["r2"] = counts["r2"]
            old = replica_set("r1", counts["r1"], available=ready["r1"])
            new = replica_set("r2", counts["r2"], available=ready["r2"], version=2)
            for name, size in sizes(rolling_sizes(owner, [old], new)).items():
                counts[name], ready[name] = size, min(size, ready[name])
        self.assertEqual(counts, {"r1": 0, "r2": wanted})


class ProportionTests(SynchronousTestCase):
    def test_growth(self) -> None:
        """Each grows by its part; what rounding leaves over goes to the largest."""
        sets = [
            replica_set(name, size, annotations={ANNOTATIONS.most: "13"}) for name, size in (("r1", 8), ("r2", 5))
        ]
        owner = deployment(30, surge=3, unavailable=2)
        self.assertEqual(sizes(proportional(owner, sets, ANNOTATIONS)), {"r1": 20, "r2": 13})

    def test_nothing(self) -> None:
        """Scaled to nothing, all go."""
        sets = [replica_set("r1", 3), replica_set("r2", 1)]
        self.assertEqual(sizes(proportional(deployment(0), sets, ANNOTATIONS)), {"r1": 0, "r2": 0})

    @examples(60)
    @given(st.lists(st.integers(1, 40), min_size=2, max_size=9), st.integers(1, 60))
    def test_sum(self, found: list[int], wanted: int) -> None:
        """The sizes add up to the Deployment's size and its surge."""
        sets = [
            replica_set(f"r{index}", size, annotations={ANNOTATIONS.most: str(sum(found))})
            for index, size in enumerate(found)
        ]
        owner = deployment(wanted)
        result = proportional(owner, sets, ANNOTATIONS)
        self.assertEqual(sum(size for _, size in result), size_of(owner) + max_surge(owner))
        self.assertTrue(all(size >= 0 for _, size in result))
