"""Flags of the simulated cluster (reference SIM-1)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.flags import parse
from orchtw.config.simulation import CONTROLLERS, EVERYTHING, NOTHING, Parts
from orchtw.errors import ConfigError


class SimulationFlagTests(SynchronousTestCase):
    """`--simulate` and `--simulate-speed`, and what `--controllers` says of them."""

    def parts(self, *arguments: str) -> Parts:
        """The parts that these arguments switch on."""
        return parse(arguments).simulation.parts

    def problem(self, *arguments: str) -> str:
        """The one problem of these arguments."""
        (problem,) = self.assertRaises(ConfigError, parse, arguments).problems
        return str(problem)

    def test_parts(self) -> None:
        """Parts are named one by one; a flag without a value stands for all of them."""
        self.assertEqual(self.parts(), NOTHING)
        self.assertFalse(NOTHING)
        self.assertEqual(self.parts("--simulate"), EVERYTHING)
        self.assertEqual(self.parts("--simulate", "--secure-port=1"), EVERYTHING)
        self.assertEqual(self.parts("--simulate", "nodes=3,workloads,volumes,services"), EVERYTHING)
        self.assertEqual(self.parts("--simulate=true"), EVERYTHING)
        self.assertEqual(self.parts("--simulate=false"), NOTHING)
        self.assertEqual(self.parts("--simulate=nodes"), Parts(3))
        self.assertEqual(self.parts("--simulate=nodes=0", "--simulate=services"), Parts(0, services=True))
        self.assertTrue(Parts(0))

    def test_unknown(self) -> None:
        """An unknown part, or a number that cannot be, is a problem."""
        self.assertIn('"pods": the parts are nodes=N, workloads', self.problem("--simulate=pods"))
        self.assertIn('"workloads=2": the parts are', self.problem("--simulate=workloads=2"))
        self.assertIn("must be an integer", self.problem("--simulate=nodes=x"))
        self.assertIn("at most 100000 nodes", self.problem("--simulate=nodes=100001"))

    def test_speed(self) -> None:
        """The time runs at any speed; where it stands only one process may serve its advance."""
        self.assertEqual(parse(["--simulate-speed=2.5"]).simulation.speed, 2.5)
        self.assertIn("must be a number", self.problem("--simulate-speed=-1"))
        self.assertIn("not with --workers", self.problem("--simulate", "--simulate-speed=0", "--workers=2"))

    def test_controllers(self) -> None:
        """Simulated controllers have names in `--controllers`, which are known only with their part."""
        self.assertIn("deployment", self.parts("--simulate=workloads").controllers)
        self.assertEqual(self.parts("--simulate=services").controllers, CONTROLLERS["services"])
        parse(["--simulate", "--controllers=*,-job"])
        parse(["--simulate", "--controllers=job"])
        parse(["--controllers=*,-job"])  # of a command line for the release's controller manager
        self.assertIn("needs the part of --simulate", self.problem("--controllers=job"))
