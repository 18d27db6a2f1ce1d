"""Metric families that are shown (reference METRIC-3, METRIC-4)."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter
from twisted.trial.unittest import SynchronousTestCase

from orchtw.metrics.registry import Registry
from orchtw.metrics.series import UNEXPECTED, counters


class RegistryTests(SynchronousTestCase):
    def shown(self, registry: Registry) -> list[str]:
        return [family.name for family in registry.families()]

    def test_deprecated(self) -> None:
        """A metric deprecated in this release is shown and marked; one deprecated earlier is hidden by default."""
        for hidden in (False, True):
            registry = Registry(release=(1, 24), hidden=hidden)
            family = registry.add(counters("new_total", "N.", since="1.24.0"))
            registry.add(counters("old_total", "O.", since="1.23.0"))
            self.assertEqual(family.help, "[ALPHA] (Deprecated since 1.24.0) N.")
            self.assertEqual(self.shown(registry), ["new_total", "old_total"] if hidden else ["new_total"])

    def test_disabled(self) -> None:
        """`--disabled-metrics` leaves out families, those of the library too."""
        apart = CollectorRegistry()
        Counter("b", "B.", registry=apart)
        Counter("c", "C.", registry=apart)
        registry = Registry(disabled=["a_total", "b_total"])
        registry.add(counters("a_total", "A."))
        registry.show(lambda: [apart])
        self.assertEqual(self.shown(registry), ["c_total"])

    def test_allowed(self) -> None:
        """`--allow-metric-labels` is about one metric."""
        registry = Registry(allowed={("a_total", "x"): frozenset({"1"})})
        families = [registry.add(counters(name, "A.", ("x",))) for name in ("a_total", "b_total")]
        for family in families:
            family.of("2")
        found = [values for family in families for values, _ in family.series()]
        self.assertEqual(found, [(UNEXPECTED,), ("2",)])

    def test_twice(self) -> None:
        """A name is one family's."""
        registry = Registry()
        registry.add(counters("a_total", "A."))
        self.assertRaises(ValueError, registry.add, counters("a_total", "B."))

    def test_reset(self) -> None:
        """All counts are reset together."""
        registry = Registry()
        counted = registry.add(counters("a_total", "A.")).of()
        counted.value = 3
        registry.reset()
        self.assertEqual(counted.value, 0)
