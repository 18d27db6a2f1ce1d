"""Which controllers run, and when."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.flags import parse
from orchtw.client.leader_election import Terms
from orchtw.config import Config
from orchtw.controllers import CONTROLLERS, chosen, enabled
from orchtw.controllers.manager import Manager, Settings
from orchtw.errors import ConfigError
from tests.client.world import World, WorldTestCase
from tests.controllers.controlled import host


class FlagTests(SynchronousTestCase):
    def enabled(self, *flags: str) -> list[str]:
        return sorted(chosen(parse(flags).controllers))

    def test_selection(self) -> None:
        """`*` is nearly all, a name is that one, -name is all but it (reference CTRL-2)."""
        usual = sorted(CONTROLLERS.keys() - {"bootstrapsigner", "tokencleaner"})
        others = [name for name in usual if name != "namespace"]
        self.assertEqual(self.enabled(), usual)
        self.assertEqual(self.enabled("--controllers=*,-namespace"), others)
        self.assertEqual(self.enabled("--controllers=-namespace,*"), others)
        self.assertEqual(self.enabled("--controllers=namespace"), ["namespace"])
        self.assertEqual(self.enabled("--controllers=-namespace"), [])
        self.assertEqual(self.enabled("--controllers="), [])

    def test_none(self) -> None:
        """`-*` is none but those that are named: for a process that leaves them to others."""
        self.assertEqual(self.enabled("--controllers=-*"), [])
        self.assertEqual(self.enabled("--controllers=-*,namespace"), ["namespace"])
        self.assertEqual(self.enabled("--controllers=*,-*"), [])

    def test_by_name_only(self) -> None:
        """Those of bootstrap tokens work only where they are named (reference CTRL-2)."""
        self.assertEqual(
            self.enabled("--controllers=*,bootstrapsigner,tokencleaner"),
            sorted(CONTROLLERS),
        )
        self.assertEqual(self.enabled("--controllers=tokencleaner"), ["tokencleaner"])

    def test_unknown_names(self) -> None:
        """An unknown name is refused, and the known ones are listed."""
        error = self.assertRaises(ConfigError, parse, ["--controllers=*,-jobs,cron"])
        known = ", ".join(CONTROLLERS)
        self.assertEqual(error.problems, (
            f'--controllers: "-jobs" is not in the list of known controllers: {known}',
            f'--controllers: "cron" is not in the list of known controllers: {known}',
        ))

    def test_election_times(self) -> None:
        """Election times that would let two lead are refused (reference CTRL-4)."""
        for flags in (["--leader-elect-lease-duration=10s"], ["--leader-elect-retry-period=9s"],
                      ["--leader-elect-retry-period=0"], ["--concurrent-gc-syncs=0"]):
            self.assertRaises(ConfigError, parse, flags)
        self.assertEqual((Config().leader_elect_resource_name, Config().leader_elect_resource_lock), ("", "leases"))
        self.assertEqual((Config().leader_elect, Config().leader_elect_lease_duration_s), (False, 15.0))


class ElectedManagerTests(WorldTestCase):
    def manager(self, world: World, identity: str) -> Manager:
        made = host(world)
        terms = Terms(identity=identity, namespace="a", name="host")
        manager = Manager(made, enabled(made, Settings(enabled=frozenset(CONTROLLERS))), terms)
        manager.startService()
        world.settle()
        self.addCleanup(lambda: world.run(manager.stopService()))
        return manager

    def test_one_host_works(self) -> None:
        """Only the elected host's controllers run; both hosts are healthy; the other takes over
        (reference CTRL-4).
        """
        first, second = self.manager(self.world, "one"), self.manager(self.world, "two")
        self.assertEqual([all(each.running for each in m.controllers) for m in (first, second)], [True, False])
        for manager in (first, second):
            for controller in manager.controllers:
                self.world.run(manager.check(controller))
        self.world.run(first.stopService())
        self.world.settle(4)
        self.assertTrue(all(each.running for each in second.controllers))
