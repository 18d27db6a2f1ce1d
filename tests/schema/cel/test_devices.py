"""Selectors of devices: names for values, results and costs (reference KIND-94)."""
# covers: orchtw.schema.cel.binding

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.cel.compiler import compiled
from orchtw.schema.cel.devices import selector_problem
from orchtw.schema.cel.environment import environment
from orchtw.schema.cel.faults import Fault
from orchtw.schema.cel.types import INT

STEPS = 1000


class BindingTests(SynchronousTestCase):
    def test_value(self) -> None:
        """The name stands for the value in the expression about it, inside another one too."""
        source = "cel.bind(a, self + 1, cel.bind(b, a * 2, a + b))"
        found = compiled(source, {"self": INT}, environment().binding())
        self.assertEqual(found.run(found.frame(3, None, STEPS)), 12)

    def test_faults(self) -> None:
        """Only a simple name is bound, to one value, and only where there is `cel.bind`."""
        for source in ("cel.bind(1, 2, 3)", "cel.bind(a, 2)"):
            self.assertRaises(Fault, compiled, source, {}, environment().binding())
        self.assertRaises(Fault, compiled, "cel.bind(a, 2, a)", {})


class SelectorTests(SynchronousTestCase):
    def problem(self, source: str, *, shared: bool = True) -> tuple[str, bool]:
        return selector_problem(source, (1, 36), shared=shared)

    def test_attributes(self) -> None:
        """An attribute may have any type; a capacity is a quantity."""
        for source in (
            'device.driver == "gpu.example.com"',
            'device.attributes["gpu.example.com"].fast',
            '"fast" in device.attributes["gpu.example.com"]',
            'device.attributes["a.b"].version.isGreaterThan(semver("1.0.0"))',
            'device.capacity["a.b"].memory.compareTo(quantity("1Gi")) >= 0',
        ):
            self.assertEqual(self.problem(source), ("", False), source)

    def test_unknown_members(self) -> None:
        """Devices tell that they can be shared only while that is known."""
        self.assertEqual(self.problem("device.allowMultipleAllocations"), ("", False))
        fault, costly = self.problem("device.allowMultipleAllocations", shared=False)
        self.assertIn("undefined field 'allowMultipleAllocations'", fault)
        self.assertFalse(costly)

    def test_results(self) -> None:
        """A selector is true or false, or of a type that is not known before it runs."""
        fault, _ = self.problem("device.driver")
        self.assertEqual(fault, "must evaluate to bool or the unknown type, not string")

    def test_cost(self) -> None:
        """The cost follows from the number and size of attributes that a device may have."""
        over = 'device.attributes.all(a, device.attributes[a].all(b, device.attributes[a][b] == "x"))'
        self.assertEqual(self.problem(over), ("", False))
        for name in "cd":
            over = f"device.attributes.all({name}, {over})"
        self.assertEqual(self.problem(over), ("", True))
