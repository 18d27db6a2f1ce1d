"""The account of addresses and ports against the services that there are (reference CTRL-9)."""
# covers: orchtw.registry.allocation.ranges, orchtw.registry.allocation.services

from __future__ import annotations

from typing import Any

from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import InternalError, Invalid
from orchtw.registry.allocation.blocks import SIZE
from orchtw.registry.allocation.services import RECORDS
from orchtw.registry.targets import Replaced
from orchtw.storage.store import Op
from tests.registry.allocation.processes import Group, Process
from tests.verbs.served import ServedCase

PREFIX = "/registry/services/"
PORTS = f"{RECORDS}servicenodeports/28672"
IPS = f"{RECORDS}serviceips/ipv4/{0x0A000000}"


class RepairTests(SynchronousTestCase):
    """One process on a store that could be shared."""

    def setUp(self) -> None:
        self.group = Group(1)
        self.process: Process = self.group.processes[0]

    def repair(self) -> list[str]:
        """A round; what it says."""
        with capturedLogs() as events:
            self.group.wait(self.process.repair())
            self.group.settle()
        return [formatEvent(each) for each in events]

    def record(self, key: str, *numbers: int) -> None:
        """Let the store say that these are taken."""
        value = sum(1 << number % SIZE for number in numbers).to_bytes(SIZE // 8, "little")
        self.group.wait(self.process.link.commit(Op(key, value)))

    def test_nothing_to_do(self) -> None:
        """A round without findings writes nothing."""
        self.group.wait(self.process.create("a", type="NodePort"))
        before = self.group.store.now
        self.assertEqual((self.repair(), self.group.store.now), ([], before))

    def test_leaks(self) -> None:
        """Unused numbers are free after the third round (reference CTRL-38)."""
        self.record(PORTS, 30003)
        self.assertEqual(self.repair(), ["the node port 30003 may have leaked: flagging for later clean up"])
        self.assertEqual(self.repair(), [])
        self.assertIn(PORTS, self.group.store.items)
        self.assertEqual(self.repair(), ["the node port 30003 appears to have leaked: cleaning up"])
        self.assertEqual(self.group.records, [])

    def test_missing(self) -> None:
        """A Service's numbers are taken again when the record has lost them (reference CTRL-38)."""
        made = self.group.wait(self.process.create("a", clusterIP="10.0.0.3"))
        self.assertEqual(made["spec"]["clusterIP"], "10.0.0.3")
        for key in self.group.records:
            self.group.wait(self.process.link.commit(Op(key, None)))
        said = "the cluster IP [IPv4]:10.0.0.3 for service a/a is not allocated; repairing"
        self.assertEqual(self.repair(), [said])
        self.assertEqual(self.repair(), [])
        failure = self.failureResultOf(self.begun("b", clusterIP="10.0.0.3"))
        self.assertIn("provided IP is already allocated", failure.value.message)

    def begun(self, name: str, **spec: Any) -> Any:
        """A create that has come to its end."""
        running = self.process.create(name, **spec)
        self.group.settle()
        return running

    def test_others(self) -> None:
        """Numbers outside of the range, and shared ones, are reported in every round (reference CTRL-38)."""
        self.put("a", clusterIP="10.9.0.1", clusterIPs=["10.9.0.1"])
        self.put("b", clusterIP="10.0.0.4", clusterIPs=["10.0.0.4"])
        self.put("c", clusterIP="10.0.0.4", clusterIPs=["10.0.0.4"])
        self.repair()
        said = [
            "the cluster IP [IPv4]:10.9.0.1 for service a/a is not within the service CIDR 10.0.0.0/28; "
            "please recreate",
            "the cluster IP [IPv4]:10.0.0.4 for service a/c was assigned to multiple services; please recreate",
        ]
        self.assertEqual(self.repair(), said)

    def put(self, name: str, **spec: Any) -> None:
        """Store a service without asking anybody."""
        stored = self.process.targets.stored_target("", "v1", "services").stored
        settled = {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "ports": [{"port": 80}]}
        obj = stored.codec.normalise({"metadata": {"name": name, "namespace": "a"}, "spec": {**settled, **spec}})
        stored.codec.set_defaults(obj)
        self.group.wait(self.process.link.commit(Op(f"{stored.prefix}a/{name}", stored.prepare(obj).value)))

    def test_store_fails(self) -> None:
        """A write whose end nobody knows keeps what it took, until a round finds that nobody has it."""
        self.group.wait(self.process.create("a"))
        self.process.link.failing = True
        running = self.process.delete("a")
        self.group.settle()
        self.failureResultOf(running, InternalError)
        self.process.link.failing = False
        self.assertEqual(len(self.group.records), 1)
        for _ in range(3):
            self.repair()
        self.assertEqual(self.group.records, [])
        self.flushLoggedErrors(InternalError)


class ReplacedTests(SynchronousTestCase):
    """Services that have been replaced past all reservations, on a store of one process."""

    def setUp(self) -> None:
        self.group = Group(1, shared=False)
        self.process: Process = self.group.processes[0]
        self.group.wait(self.process.repair())

    def value(self, name: str) -> bytes:
        """Return the stored value of a service."""
        return self.group.store.items[f"{PREFIX}a/{name}"].value

    def replace(self, *values: Replaced) -> None:
        """Write these values as a restore does."""
        for each in values:
            self.group.wait(self.process.link.commit(Op(each.key, each.after)))
        self.group.wait(self.process.targets.replaced(values))

    def test_numbers_go_with_their_services(self) -> None:
        """Numbers of services that are gone are free, those of services that have come are taken (KIND-27)."""
        self.group.wait(self.process.create("a", clusterIP="10.0.0.3"))
        before = self.value("a")
        self.group.wait(self.process.delete("a"))
        self.group.wait(self.process.create("b", clusterIP="10.0.0.3"))
        self.replace(Replaced(f"{PREFIX}a/b", self.value("b"), None), Replaced(f"{PREFIX}a/a", None, before))
        refused = self.process.create("c", clusterIP="10.0.0.3")
        self.group.settle()
        self.failureResultOf(refused, Invalid)
        self.replace(Replaced(f"{PREFIX}a/a", before, None))
        self.group.wait(self.process.create("c", clusterIP="10.0.0.3"))

    def test_number_of_a_write_under_way(self) -> None:
        """A write that has taken the number of a restored service does not free it when it fails."""
        made = self.group.wait(self.process.create("a", clusterIP="10.0.0.3"))
        before = self.value("a")
        self.group.wait(self.process.delete("a"))
        reservations = self.process.targets.stored("", "v1", "services").strategy.reservations
        assert reservations is not None
        claim = self.group.wait(reservations.reserve(made, None, dry_run=False))
        self.replace(Replaced(f"{PREFIX}a/a", None, before))
        claim.release()
        refused = self.process.create("c", clusterIP="10.0.0.3")
        self.group.settle()
        self.failureResultOf(refused, Invalid)

    def test_others(self) -> None:
        """Values of other kinds do not concern them."""
        self.replace(Replaced("/registry/configmaps/a/x", None, b"anything"))


class ScheduleTests(ServedCase):
    """The process that bootstraps repairs at the start, and every three minutes."""

    def test_schedule(self) -> None:
        """The upkeep's third look is the next round."""
        rounds: list[float] = []
        start = self.clock.seconds()

        async def repair() -> None:
            rounds.append(self.clock.seconds() - start)

        self.patch(self.server.instance.resources.targets, "repair_reservations", repair)
        for _ in range(360):
            self.clock.advance(1)
        self.assertEqual([round(each) for each in rounds], [180, 360])
