"""Replicas that metrics ask for (`orchtw.simulation.workloads.autoscaling.proposals`)."""

from __future__ import annotations

from collections.abc import Mapping

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.workloads.autoscaling.proposals import Tolerance, by_average, by_pods, by_value
from orchtw.simulation.workloads.autoscaling.samples import NoSample, Sample


def asked(values: Mapping[str, int], unready: str = "", missing: str = "", current: int = 0) -> int:
    """The replicas for these values where each pod should have 100."""
    found = Sample(values=values, unready=frozenset(unready), missing=frozenset(missing))
    count = current or len(set(values) | set(unready) | set(missing))
    return by_pods(count, found, lambda each: sum(each.values()) / len(each) / 100, lambda _: 100, Tolerance())


class ProposalTests(SynchronousTestCase):
    def test_ratio(self) -> None:
        """Replicas follow the ratio of use to target, beyond the tolerance."""
        self.assertEqual(asked({"a": 200, "b": 200}), 4)
        self.assertEqual(asked({"a": 109, "b": 109}), 2)
        self.assertEqual(asked({"a": 30, "b": 30}), 1)

    def test_unready(self) -> None:
        """Pods that are not ready count as idle when there would be more."""
        self.assertEqual(asked({"a": 300, "b": 500}, unready="b"), 3)
        self.assertEqual(asked({"a": 200}, unready="b"), 2)

    def test_missing(self) -> None:
        """Pods of unknown use count as idle when there would be more, and as busy when there would be fewer."""
        self.assertEqual(asked({"a": 300}, missing="b"), 3)
        self.assertEqual(asked({"a": 10, "b": 10}, missing="c"), 2)
        self.assertEqual(asked({"a": 95}, missing="b"), 2)

    def test_no_pods(self) -> None:
        """Without a ready pod nothing can be said."""
        self.assertRaises(NoSample, asked, {})

    def test_whole_values(self) -> None:
        """One value of all pods, or shared by them."""
        self.assertEqual(by_value(3, 3, 200, 100, Tolerance()), 6)
        self.assertEqual(by_value(3, 3, 105, 100, Tolerance()), 3)
        self.assertEqual(by_average(3, 1000, 100, Tolerance()), 10)
        self.assertEqual(by_average(10, 1050, 100, Tolerance()), 10)
        self.assertEqual(by_average(10, 1050, 100, Tolerance(up=0.01)), 11)
