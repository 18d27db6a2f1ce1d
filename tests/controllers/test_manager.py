"""Selection and start of the controllers."""
# covers: orchtw.controllers.controller, orchtw.controllers.embedded

from __future__ import annotations

from collections.abc import Callable

import msgspec
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.flags import parse
from orchtw.client.leader_election import Terms
from orchtw.config.controllers import ElectionOptions
from orchtw.controllers import CONTROLLERS, chosen, enabled
from orchtw.controllers.election import Election
from orchtw.controllers.manager import Manager, ManagerSettings
from orchtw.errors import ConfigError, Fenced
from orchtw.plugins import ControllerPlugin
from tests.client.world import World, WorldTestCase
from tests.controllers.controlled import host


class FlagTests(SynchronousTestCase):
    def enabled(self, *flags: str) -> list[str]:
        return sorted(chosen(parse(flags).controllers.names))

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

    def test_plugins(self) -> None:
        """A plugin is among those of `*` unless it must be named (reference EXT-6)."""
        plugins = {
            name: ControllerPlugin(make=lambda host, values: None, by_name_only=name == "named")
            for name in ("usual", "named")
        }
        for flags, expected in (
            (("*",), {"usual"}), (("*", "named"), {"usual", "named"}), (("*", "-usual"), set()),
            (("usual",), {"usual"}), (("-*",), set()), (("-*", "named"), {"named"}),
        ):  # fmt: skip
            self.assertEqual(chosen(flags, plugins) & plugins.keys(), expected, flags)

    def test_none(self) -> None:
        """`-*` disables all controllers except those named, for a process that leaves them to others."""
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
        election = ElectionOptions()
        self.assertEqual((election.resource_name, election.resource_lock), ("", "leases"))
        self.assertEqual((election.enabled, election.lease_duration_s), (None, 15.0))


KEY = "/registry/coordination.orch.io/leases/a/host"


class ElectedManagerTests(WorldTestCase):
    """Hosts that wait for a Lease."""

    def manager(self, world: World, identity: str, lost: Callable[[], None] | None = None) -> Manager:
        made = host(world)
        settings = ManagerSettings(enabled=frozenset(CONTROLLERS))
        terms = Terms(identity=identity, namespace="a", name="host")
        manager = Manager(made, lambda host: enabled(host, settings), Election(terms=terms, key=KEY, lost=lost))
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
                self.world.run(manager.check(controller.name))
        self.world.run(first.stopService())
        self.world.settle(4)
        self.assertTrue(all(each.running for each in second.controllers))

    def take(self, holder: str) -> None:
        """Write the Lease as another holder would."""
        leases = self.world.resource("leases", "coordination.orch.io/v1")
        self.world.run(self.world.client.patch(leases, "a", "host", {"spec": {"holderIdentity": holder}}))

    def accounts(self, *namespaces: str) -> int:
        """Return the number of namespaces that have a ServiceAccount."""
        return sum(bool(self.world.names("serviceaccounts", namespace)) for namespace in namespaces)

    def test_a_lost_lease_stops_them_in_that_turn(self) -> None:
        """When another holder stands in the Lease the controllers have stopped before anybody is answered, and write
        nothing more: neither for what comes now nor for what they were at (reference CTRL-51).
        """
        told: list[str] = []
        manager = self.manager(self.world, "one", lambda: told.append("lost"))
        begun = [f"before{number}" for number in range(6)]
        for name in begun:
            self.world.namespace(name)
        self.take("intruder")
        self.assertEqual((told, [each.running for each in manager.controllers if each.running]), (["lost"], []))
        had = self.accounts(*begun)
        names = [f"after{number}" for number in range(12)]
        for name in names:
            self.world.namespace(name)
        revision = self.world.store.now
        self.world.settle(120)
        self.assertEqual((self.accounts(*names), self.accounts(*begun)), (0, had))
        self.assertEqual(self.world.store.now, revision)

    def test_a_host_that_goes_on(self) -> None:
        """A host that need not end is a candidate again, and works anew when the Lease is free (reference CTRL-5)."""
        manager = self.manager(self.world, "one")
        first = manager.controllers
        self.take("intruder")
        self.world.settle(10)
        self.world.namespace("b")
        self.assertEqual((manager.leading, self.accounts("b")), (False, 0))
        self.world.settle(20)
        self.assertEqual((manager.leading, self.accounts("b")), (True, 1))
        self.assertFalse(set(first) & set(manager.controllers))
        for name in manager.controllers:
            self.world.run(manager.check(name.name))

    def test_a_write_on_its_way(self) -> None:
        """A write that has passed everything but the store is not made once the Lease has been written by another
        holder, though this host has yet to hear of that (reference CTRL-51).
        """
        manager = self.manager(self.world, "one")
        self.world.namespace("b")
        client = next(each.client for each in manager.controllers if each.name == "serviceaccount")
        accounts = self.world.resource("serviceaccounts")
        held = self.world.store.items[KEY]
        unseen = msgspec.structs.replace(held, revision=self.world.store.now + 1)
        self.world.store.items[KEY] = unseen
        making = client.create(accounts, "b", {"metadata": {"name": "late"}})
        with self.assertRaises(Fenced):
            self.world.run(making)
        self.world.store.items[KEY] = held
        self.world.run(client.create(accounts, "b", {"metadata": {"name": "late"}}))

    def test_not_permitted(self) -> None:
        """A host that may not work lets the Lease go and takes nothing up, until it may (reference CTRL-52)."""
        manager, other = self.manager(self.world, "one"), self.manager(self.world, "two")
        manager.permit(False)
        self.world.settle(4)
        self.assertEqual((manager.leading, other.leading), (False, True))
        self.world.run(manager.check("namespace"))
        other.permit(False)
        self.world.settle(4)
        self.world.namespace("b")
        self.world.settle(30)
        self.assertEqual(self.accounts("b"), 0)
        manager.permit(True)
        self.world.settle(4)
        self.assertEqual((manager.leading, self.accounts("b")), (True, 1))
