"""Leader election by Lease (reference CTRL-4)."""

from __future__ import annotations

from random import Random
from typing import Any

from orchtw.client.event_recorder import EventRecorder
from orchtw.client.leader_election import LeaderElector, Terms
from orchtw.errors import InternalError
from tests.client.world import WorldTestCase


class LeaderElectorTests(WorldTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.told: list[str] = []
        self.electors: list[LeaderElector] = []

    def elector(self, identity: str, client: Any = None) -> LeaderElector:
        world = self.world
        elector = LeaderElector(
            client or world.client,
            Terms(identity=identity, namespace="a", name="host"),
            world.clock,
            Random(1),
            group=world.naming.group("coordination.orch.io"),
            now=world.now,
            events=EventRecorder(client or world.client, "host", world.now),
            started=lambda: self.told.append(f"{identity} started"),
            lost=lambda: self.told.append(f"{identity} lost"),
        )
        elector.start()
        self.addCleanup(lambda: world.run(elector.stop()))
        world.settle()
        return elector

    def spec(self) -> Any:
        world = self.world
        leases = world.resource("leases", "coordination.orch.io/v1")
        return world.run(world.client.get(leases, "a", "host"))["spec"]

    def test_first(self) -> None:
        """The first candidate makes the Lease and leads."""
        self.elector("one")
        self.assertEqual(self.told, ["one started"])
        spec = self.spec()
        self.assertEqual((spec["holderIdentity"], spec["leaseDurationSeconds"]), ("one", 15))
        self.assertEqual(spec["acquireTime"], "2023-11-14T22:13:20.000000Z")

    def test_told(self) -> None:
        """An Event about the Lease says who leads, once for each who comes to (reference CTRL-5)."""
        self.elector("one")
        self.elector("two")
        self.world.settle(60)
        world = self.world
        found = world.run(world.client.list(world.resource("events"), "a")).items
        self.assertEqual(len(found), 1)
        event = found[0].load()
        self.assertEqual((event["type"], event["reason"], event["message"]),
                         ("Normal", "LeaderElection", "one became leader"))  # fmt: skip
        involved = event["involvedObject"]
        self.assertEqual((involved["kind"], involved["apiVersion"], involved["namespace"], involved["name"]),
                         ("Lease", "coordination.orch.io/v1", "a", "host"))  # fmt: skip

    def test_one_leads(self) -> None:
        """While the leader renews, no other candidate leads; acquireTime stays, renewTime goes on."""
        self.elector("one")
        acquired = self.spec()
        self.elector("two")
        self.world.settle(60)
        self.assertEqual(self.told, ["one started"])
        renewed = self.spec()
        self.assertEqual(renewed["acquireTime"], acquired["acquireTime"])
        self.assertGreater(renewed["renewTime"], acquired["renewTime"])

    def test_release(self) -> None:
        """A leader that stops lets the Lease go: the next one leads within a retry period or so."""
        first = self.elector("one")
        self.elector("two")
        self.world.run(first.stop())
        self.world.settle(3)
        self.assertEqual(self.told, ["one started", "two started"])
        self.assertEqual(self.spec()["leaseTransitions"], 1)

    def test_full_counter(self) -> None:
        """A Lease that counts no further change of hand can be taken nevertheless."""
        world = self.world
        leases = world.resource("leases", "coordination.orch.io/v1")
        spec = {"leaseTransitions": 2**31 - 1}
        world.run(world.client.create(leases, "a", {"metadata": {"name": "host", "namespace": "a"}, "spec": spec}))
        self.elector("one")
        self.assertEqual(self.told, ["one started"])
        self.assertEqual(self.spec()["leaseTransitions"], 2**31 - 1)

    def test_silent_leader(self) -> None:
        """Others take over once they have seen no renewal for the lease's duration, by their own clock."""
        broken = Broken(self.world.client)
        self.elector("one", broken)
        self.elector("two")
        broken.fails = True
        self.world.settle(9)
        self.assertEqual(self.told, ["one started"])
        self.world.settle(3)
        self.assertEqual(self.told, ["one started", "one lost"])
        self.world.settle(8)
        self.assertEqual(self.told, ["one started", "one lost", "two started"])

    def test_short_trouble(self) -> None:
        """A renewal that fails for less than the deadline changes nothing."""
        broken = Broken(self.world.client)
        elector = self.elector("one", broken)
        broken.fails = True
        self.world.settle(6)
        broken.fails = False
        self.world.settle(20)
        self.assertEqual((self.told, elector.leading), (["one started"], True))


class Broken:
    """A client whose reads may fail."""

    def __init__(self, client: Any) -> None:
        self.fails = False
        self._client = client

    async def get(self, *arguments: Any) -> Any:
        if self.fails:
            raise InternalError("unreachable")
        return await self._client.get(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)
