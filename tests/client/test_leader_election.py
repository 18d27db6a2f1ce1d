"""Leader election by Lease (reference CTRL-4)."""

from __future__ import annotations

from random import Random
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed

from orchtw.client.event_recorder import EventRecorder
from orchtw.client.fencing import Tenure
from orchtw.client.leader_election import LeaderElector, Terms
from orchtw.client.vital_signs import SIGNS, VitalSigns
from orchtw.errors import Fenced, InternalError
from orchtw.storage.store import KeptValue
from tests.client.world import WorldTestCase

KEY = "/registry/coordination.orch.io/leases/a/host"


class LeaderElectorTests(WorldTestCase):
    """A Lease on a store of one server, where each renewal is a write."""

    signs: Any = None
    noticed_s = 3

    def setUp(self) -> None:
        super().setUp()
        self.tenures: dict[str, Tenure] = {}
        self.told: list[str] = []
        self.electors: list[LeaderElector] = []

    def elector(self, identity: str, client: Any = None) -> LeaderElector:
        world = self.world
        tenure = self.tenures[identity] = Tenure(world.clock, KEY)
        elector = LeaderElector(
            client or world.client,
            Terms(identity=identity, namespace="a", name="host"),
            world.clock,
            Random(1),
            world.cacher.turns,
            group=world.naming.group("coordination.orch.io"),
            now=world.now,
            events=EventRecorder(client or world.client, "host", world.now),
            started=lambda: self.told.append(f"{identity} started"),
            tenure=tenure,
            lost=lambda: self.told.append(f"{identity} lost"),
            signs=self.signs,
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
        """An Event about the Lease names the leader, once for each new one (reference CTRL-5)."""
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
        """While the leader renews, no other candidate leads; acquireTime stays and renewTime advances."""
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


    def take(self, holder: str) -> None:
        """Write the Lease as another process would."""
        world = self.world
        leases = world.resource("leases", "coordination.orch.io/v1")
        world.run(world.client.patch(leases, "a", "host", {"spec": {"holderIdentity": holder}}))

    def writes(self, seconds: float) -> int:
        """Return the number of writes in that time."""
        before = self.world.store.now
        self.world.settle(seconds)
        return self.world.store.now - before

    def test_another_holder(self) -> None:
        """The leader has lost when another stands in the Lease, and not after the renew deadline (CTRL-51)."""
        elector = self.elector("one")
        self.assertEqual(self.tenures["one"].guard()[0], KEY)
        self.take("two")
        self.assertEqual((self.told, elector.leading), (["one started", "one lost"], False))
        self.assertRaises(Fenced, self.tenures["one"].guard)

    def test_released_by_another(self) -> None:
        """A Lease whose holder was cleared by another client is lost to the leader."""
        self.elector("one")
        self.take("")
        self.assertEqual(self.told, ["one started", "one lost"])

    def test_the_same_name_elsewhere(self) -> None:
        """A Lease of that name in another namespace is another one."""
        elector = self.elector("one")
        world = self.world
        world.namespace("b")
        leases = world.resource("leases", "coordination.orch.io/v1")
        obj = {"metadata": {"name": "host", "namespace": "b"}, "spec": {"holderIdentity": "two"}}
        world.run(world.client.create(leases, "b", obj))
        world.settle(30)
        self.assertTrue(elector.leading)

    def test_deleted(self) -> None:
        """The leader makes a Lease that was deleted again, at once, and leads on; until then it writes nothing."""
        elector = self.elector("one")
        world = self.world
        world.run(world.client.delete(world.resource("leases", "coordination.orch.io/v1"), "a", "host"))
        world.settle(0)
        self.assertEqual((self.spec()["holderIdentity"], elector.leading), ("one", True))
        self.assertEqual(self.tenures["one"].guard(), (KEY, world.store.items[KEY].revision))

    def test_changed_by_others(self) -> None:
        """A labelled Lease keeps its leader; the guard follows the Lease's new revision."""
        elector = self.elector("one")
        world = self.world
        leases = world.resource("leases", "coordination.orch.io/v1")
        world.run(world.client.patch(leases, "a", "host", {"metadata": {"labels": {"a": "b"}}}))
        self.assertEqual(self.tenures["one"].guard(), (KEY, world.store.items[KEY].revision))
        world.settle(30)
        self.assertTrue(elector.leading)

    def test_an_attempt_that_hangs(self) -> None:
        """A renewal without an answer ends with the renew deadline (CTRL-51)."""
        broken = Broken(self.world.client)
        self.elector("one", broken)
        broken.hangs = True
        self.world.settle(8)
        self.assertEqual(self.told, ["one started"])
        self.world.settle(self.noticed_s)
        self.assertEqual(self.told, ["one started", "one lost"])

    def test_held_up(self) -> None:
        """A process that was stopped for longer than the deadline writes nothing in the turn in which it goes on,
        before any timer of its own (CTRL-51).
        """
        elector = self.elector("one")
        tenure = self.tenures["one"]
        self.world.clock.rightNow += 11  # what `advance` does before it calls anybody
        self.assertTrue(elector.leading)
        self.assertRaises(Fenced, tenure.guard)
        self.world.settle(0)
        self.assertEqual(self.told, ["one started", "one lost"])


class SignsTests(LeaderElectorTests):
    """The same with signs of life, as on a store that servers share: the Lease itself is read when it is written."""

    noticed_s = 12

    def setUp(self) -> None:
        super().setUp()
        self.signs = VitalSigns(self.world.store, "a", "host")

    def kept(self) -> list[str]:
        """The signs that there are."""
        return [item.value.decode() for key, item in self.world.store.items.items() if key.startswith(SIGNS)]

    def spied(self) -> None:
        """Let renewals of signs be no writes, as on etcd."""
        store = self.world.store
        keep = store.keep

        async def kept(key: str, value: bytes, life_s: float) -> KeptValue:
            made = await keep(key, value, 1e6)
            self.patch(made, "renew", lambda: succeed(key in store.items))
            return made

        self.patch(store, "keep", kept)

    def test_silent_leader(self) -> None:
        """A leader whose sign is not renewed stops before that ends, and only then is the Lease taken."""
        store, keep = self.world.store, self.world.store.keep

        async def silent(key: str, value: bytes, life_s: float) -> KeptValue:
            made = await keep(key, value, life_s)
            self.patch(made, "renew", lambda: fail(InternalError("unreachable")))
            self.patch(store, "keep", keep)
            return made

        self.patch(store, "keep", silent)
        self.elector("one")
        self.elector("two")
        self.world.settle(9)
        self.assertEqual(self.told, ["one started"])
        self.world.settle(3)
        self.assertEqual(self.told, ["one started", "one lost"])
        self.world.settle(8)
        self.assertEqual(self.told, ["one started", "one lost", "two started"])

    def test_few_writes(self) -> None:
        """Two candidates write six times a minute, with the release's times (CTRL-50)."""
        self.spied()
        self.elector("one")
        self.elector("two")
        self.world.settle(5)
        self.assertEqual(self.writes(60), 6)
        self.assertEqual(self.kept(), ["one"])

    def test_seen_renewed(self) -> None:
        """An observer of the Lease alone sees it renewed before its duration is over (CTRL-50)."""
        self.spied()
        self.elector("one")
        renewed = self.spec()["renewTime"]
        self.world.settle(12)
        self.assertGreater(self.spec()["renewTime"], renewed)

    def test_a_sign_keeps_the_lease(self) -> None:
        """While the holder's sign is there, a Lease that is no longer renewed is not taken."""
        self.spied()
        leader = self.elector("one")
        self.elector("two")
        self.patch(self.world.client, "update", lambda *arguments: fail(InternalError("full")))
        self.world.settle(60)
        self.assertEqual((self.told, leader.leading), (["one started"], True))

    def test_a_sign_that_has_gone(self) -> None:
        """A leader whose sign has ended shows another one, unless the Lease has another holder."""
        self.spied()
        leader = self.elector("one")
        for key in [key for key in self.world.store.items if key.startswith(SIGNS)]:
            del self.world.store.items[key]
        self.world.settle(4)
        self.assertEqual((leader.leading, self.kept()), (True, ["one"]))

    def test_odd_holders(self) -> None:
        """A holder of any name can be looked for."""
        for name in ("../x", "\ud800", "x" * 100_000):
            self.assertFalse(self.world.run(self.signs.seen(name)))

    def test_end(self) -> None:
        """A leader that stops, or has lost, shows no sign any more."""
        leader = self.elector("one")
        self.world.run(leader.stop())
        self.assertEqual(self.kept(), [])
        self.elector("two")
        self.take("three")
        self.world.settle(0)
        self.assertEqual(self.kept(), [])


class Broken:
    """Client whose reads may fail, or never end."""

    def __init__(self, client: Any) -> None:
        self.fails = self.hangs = False
        self._client = client

    async def get(self, *arguments: Any) -> Any:
        if self.hangs:
            await Deferred()
        if self.fails:
            raise InternalError("unreachable")
        return await self._client.get(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)
