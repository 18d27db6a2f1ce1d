"""Base of the simulated controllers: keys that return on the simulated clock (reference SIM-2)."""

from __future__ import annotations

from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.world import World
from tests.simulation.cluster_case import ClusterCase


class _Returning(SimulatedController):
    """Controller whose keys return after `delays`, by key; others do not."""

    name = account = "returning"
    sources = ()

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.delays: dict[str, float] = {}
        self.looks: list[str] = []

    async def sync(self, key: str) -> float | None:
        """Note that the key was looked at."""
        self.looks.append(key)
        return self.delays.get(key)


class DelayTests(ClusterCase):
    """Looks at keys, on a clock at the speed of the reactor."""

    made = (_Returning,)

    def setUp(self) -> None:
        super().setUp()
        (controller,) = self.controllers
        assert isinstance(controller, _Returning)
        self.controller = controller

    def test_shortest_delay(self) -> None:
        """Of several delays the shortest counts."""
        for delay_s in (30, 10, 20):
            self.controller.later("a", delay_s)
        self.settle(60)
        self.assertEqual(self.controller.looks, ["a"])

    def test_early_look(self) -> None:
        """A look for another reason takes the place of the one that was due: an object that is gone has none."""
        self.controller.delays["a"] = 1e6
        self.controller.queue.add("a")
        self.settle()
        self.assertEqual(list(self.controller._timers), ["a"])
        del self.controller.delays["a"]
        self.controller.queue.add("a")
        self.settle()
        self.assertEqual(self.controller._timers, {})
