"""Reservations are kept or released with their write, whatever happens on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import CancelledError, Deferred

from orchtw.errors import AlreadyExists, Conflict, Forbidden, InternalError, Invalid, NotFound
from orchtw.registry.reservations import Reservation
from orchtw.storage.store import Op, WriteOutcome
from orchtw.wire.objects import Object
from orchtw.writes import drafts
from tests.registry.writing import Rival, WriteTestCase


class Port:
    """The change from one port to another; None: no object."""

    def __init__(self, ports: Ports, new: int | None, old: int | None) -> None:
        self.ports = ports
        self.new = new
        self.old = old

    def keep(self) -> None:
        self.end("keep")
        if self.old is not None and self.old != self.new:
            self.ports.taken.remove(self.old)

    def release(self) -> None:
        self.end("release")
        if self.new is not None and self.new != self.old:
            self.ports.taken.remove(self.new)

    def doubt(self) -> None:
        self.end("doubt")

    def end(self, how: str) -> None:
        self.ports.pending.remove(self)
        self.ports.ended.append((how, self.new, self.old))


class Ports:
    """Config maps take the port that they name in data.port, or the next one that is free."""

    def __init__(self) -> None:
        self.taken: set[int] = set()
        self.pending: list[Port] = []
        self.ended: list[tuple[str, int | None, int | None]] = []
        self.dry_runs: list[bool] = []

    async def reserve(self, new: Object | None, old: Object | None, *, dry_run: bool) -> Reservation:
        self.dry_runs.append(dry_run)
        before = None if old is None else int(old["data"]["port"])
        after = None if new is None else self._take(new, before)
        port = Port(self, after, before)
        self.pending.append(port)
        return port

    async def repair(self) -> None: ...

    async def replaced(self, gone: Sequence[Object], come: Sequence[Object]) -> None: ...

    def _take(self, new: Object, before: int | None) -> int:
        asked = (new.get("data") or {}).get("port")
        if asked is None:
            asked = next(str(port) for port in range(100, 200) if port not in self.taken)
            new["data"] = {**new.pop("data", {}), "port": asked}
        port = int(asked)
        if port != before:
            if port in self.taken:
                raise Forbidden.of("configmaps", "", new["metadata"]["name"], f"port {port} is taken")
            self.taken.add(port)
        return port


class ReservationCase(WriteTestCase):
    """Config maps that take ports; `ports.ended` is what became of each reservation."""

    def setUp(self) -> None:
        super().setUp()
        self.ports = Ports()
        self.maps.stored.strategy.reservations = self.ports
        self.addCleanup(lambda: self.assertEqual(self.ports.pending, []))

    def service(self, name: str = "x", **data: str) -> Object:
        return self.create({"metadata": {"name": name}, "data": data})

    def set_port(self, port: str, **more: Any) -> None:
        def change(live: Object | None) -> Object:
            assert live is not None
            live["metadata"].pop("resourceVersion")
            return {**live, "data": {**live["data"], "port": port}}

        self.update(change, from_live=True, **more)

    def ended(self) -> list[tuple[str, int | None, int | None]]:
        """Return the reservations that have ended since the last call."""
        ended, self.ports.ended = self.ports.ended, []
        return ended


class CreateTests(ReservationCase):
    def test_kept(self) -> None:
        """Filled-in fields are stored, validated and shown like others."""
        made = self.service(a="b")
        self.assertEqual(made["data"], {"a": "b", "port": "100"})
        self.assertEqual((self.ports.taken, self.ended()), ({100}, [("keep", 100, None)]))

    def test_same_at_rest(self) -> None:
        """Filled-in fields stand where the kind emits them: the cache and the store show the same bytes."""
        self.service()
        entry = self.maps.stored.get("a", "x")
        assert entry is not None
        value = self.world.store.items["/registry/configmaps/a/x"].value
        again = self.maps.stored.build(entry.key, value, entry.revision)
        self.assertEqual(self.maps.stored.json_tail(again), entry.json)

    def test_refused_reservation(self) -> None:
        """A failed reservation refuses the write, and nothing is held."""
        self.service(port="150")
        self.assertRaises(Forbidden, self.service, "y", port="150")
        self.assertEqual(self.ports.taken, {150})

    def test_invalid(self) -> None:
        """It is released when the object is not valid."""
        bad = {"metadata": {"name": "x", "labels": {"-": "x"}}}
        self.assertRaises(Invalid, self.create, bad)
        self.assertEqual((self.ports.taken, self.ended()), (set(), [("release", 100, None)]))

    def test_refused(self) -> None:
        """It is released when a validating plugin refuses, and not even made when a mutating one does."""
        with self.plugin.refusing("check"):
            self.assertRaises(Forbidden, self.service)
        self.assertEqual((self.ports.taken, self.ended()), (set(), [("release", 100, None)]))
        with self.plugin.refusing("mutate"):
            self.assertRaises(Forbidden, self.service)
        self.assertEqual(self.ended(), [])

    def test_exists(self) -> None:
        """It is released when the name is taken."""
        self.service()
        self.assertRaises(AlreadyExists, self.service)
        self.assertEqual((self.ports.taken, self.ended()[1:]), ({100}, [("release", 101, None)]))

    def test_dry_run(self) -> None:
        """A dry run shows what would be taken, and always releases it."""
        made = self.create({"metadata": {"name": "x"}}, dry_run=True)
        self.assertEqual(made["data"], {"port": "100"})
        self.assertEqual((self.ports.taken, self.ended()), (set(), [("release", 100, None)]))
        self.assertEqual(self.ports.dry_runs, [True])

    def test_fault(self) -> None:
        """It is released when the server itself fails."""
        self.patch(drafts, "check_parts", None)
        self.patch(drafts, "MAX_KEYS", 0)
        self.assertRaises(TypeError, self.service)
        self.assertEqual(self.ended(), [("release", 100, None)])

    def test_plugins_see_it(self) -> None:
        """Validating plugins see what was filled in."""
        seen: list[Object] = []
        self.plugin.check = lambda attributes: seen.append((attributes.obj or {})["data"])
        self.service()
        self.assertEqual(seen, [{"port": "100"}])


class UpdateTests(ReservationCase):
    def setUp(self) -> None:
        super().setUp()
        self.service()
        self.ended()

    def test_kept(self) -> None:
        """The new port is kept and the old one free once the change is stored."""
        self.set_port("150")
        self.assertEqual((self.ports.taken, self.ended()), ({150}, [("keep", 150, 100)]))

    def test_released(self) -> None:
        """The old port stays taken, and the new one is free, when the change is refused or a dry run."""
        self.set_port("150", dry_run=True)
        with self.plugin.refusing("check"):
            self.assertRaises(Forbidden, self.set_port, "150")
        self.assertEqual((self.ports.taken, self.ended()), ({100}, [("release", 150, 100)] * 2))

    def test_nothing_to_do(self) -> None:
        """A write that changes nothing holds nothing."""
        self.set_port("100")
        self.assertEqual((self.ports.taken, self.ended()), ({100}, [("release", 100, 100)]))

    def test_lost_race(self) -> None:
        """Each try has its own: that of the lost one is released, and the next one starts from the newer object."""
        rival = Rival(lambda: self.label(by="rival"))
        self.plugin.check = rival
        self.set_port("150")
        self.assertEqual(
            (self.ports.taken, self.ended()),
            ({150}, [("keep", 100, 100), ("release", 150, 100), ("keep", 150, 100)]),
        )

    def test_lost_for_good(self) -> None:
        """It is released when the write cannot be repeated."""
        made = self.live()
        assert made is not None
        self.plugin.check = Rival(lambda: self.label(by="rival"))
        changed = {**made, "data": {"port": "150"}}
        self.assertRaises(Conflict, self.put, changed)
        self.assertEqual((self.ports.taken, self.ended()[1:]), ({100}, [("release", 150, 100)]))

    def test_create_by_update(self) -> None:
        """A write that becomes a create reserves for one."""
        made = self.update(lambda live: self.canonical(self.maps, {"metadata": {"name": "y"}}), "y", applies=True)
        self.assertTrue(made.created)
        self.assertEqual(self.ended(), [("keep", 101, None)])


class RemovalTests(ReservationCase):
    def finalized(self) -> None:
        self.create({"metadata": {"name": "x", "finalizers": ["example.com/wait"]}})
        self.ended()

    def test_delete(self) -> None:
        """A deleted object's reservations are free once it is gone: a refused or dry-run delete frees nothing."""
        self.service()
        self.ended()
        self.delete(dry_run=True)
        with self.plugin.refusing():
            self.assertRaises(Forbidden, self.delete)
        self.assertEqual((self.ports.taken, self.ended()), ({100}, []))
        self.assertTrue(self.delete())
        self.assertEqual((self.ports.taken, self.ended()), (set(), [("keep", None, 100)]))

    def test_terminating(self) -> None:
        """An object that waits for its end keeps what it took; the update that ends it frees it."""
        self.finalized()
        self.assertFalse(self.delete())
        self.assertEqual((self.ports.taken, self.ended()), ({100}, [("keep", 100, 100)]))

        def freed(live: Object | None) -> Object:
            assert live is not None
            live["metadata"].pop("finalizers")
            return live

        self.update(freed, dry_run=True)
        self.assertEqual(self.ended(), [("release", 100, 100)])
        self.update(freed)
        self.assertEqual((self.ports.taken, self.ended()), (set(), [("release", 100, 100), ("keep", None, 100)]))

    def test_lost_race(self) -> None:
        """A delete that was overtaken frees nothing, and frees what the newer object takes when it succeeds."""
        self.service()
        self.ended()
        self.plugin.check = Rival(lambda: self.rival_port("150"))
        self.assertTrue(self.delete())
        self.assertEqual(
            (self.ports.taken, self.ended()),
            (set(), [("keep", 150, 100), ("release", None, 100), ("keep", None, 150)]),
        )

    async def rival_port(self, port: str) -> None:
        client, maps = self.world.client, self.world.resource("configmaps")
        await client.patch(maps, "a", "x", {"data": {"port": port}})

    def test_gone_already(self) -> None:
        """Of two deletes one frees, and the other finds nothing."""
        self.service()
        self.ended()
        client, maps = self.world.client, self.world.resource("configmaps")
        self.plugin.check = Rival(lambda: client.delete(maps, "a", "x"))
        self.assertRaises(NotFound, self.delete)
        self.assertEqual((self.ports.taken, self.ended()), (set(), [("keep", None, 100), ("release", None, 100)]))


class EndTests(ReservationCase):
    """Writes whose end nobody waits for, or that the store cannot do."""

    def begin(self) -> Deferred[Any]:
        """A create that has reserved and has not been stored yet."""
        write = self.write(self.maps)
        obj = self.canonical(self.maps, {"metadata": {"name": "x"}})
        running = Deferred.fromCoroutine(self.writes.create(write, obj))
        self.assertNoResult(running)
        return running

    def test_cancelled_before_the_store(self) -> None:
        """It is released when the write is cancelled while admission waits."""
        never: Deferred[None] = Deferred()
        self.plugin.check = lambda attributes: never
        running = self.begin()
        running.cancel()
        self.failureResultOf(running, CancelledError)
        self.assertEqual((self.ports.taken, self.ended()), (set(), [("release", 100, None)]))

    def test_cancelled_in_the_store(self) -> None:
        """A write that is cancelled while the store is at it goes on, and keeps what it took."""
        running = self.begin()
        running.cancel()
        self.failureResultOf(running, CancelledError)
        self.assertEqual((self.ports.taken, self.ended()), ({100}, []))
        self.world.settle()
        self.assertEqual((self.ports.taken, self.ended()), ({100}, [("keep", 100, None)]))
        self.assertEqual(self.data(), {"port": "100"})

    def test_store_failure(self) -> None:
        """Nothing is free when the store fails: the write may have happened. The writer is told."""
        answer: Deferred[WriteOutcome] = Deferred()
        self.patch(self.world.store, "commit", lambda op: answer)
        running = self.begin()
        answer.errback(InternalError.of("disk full"))
        self.failureResultOf(running, InternalError)
        self.assertEqual((self.ports.taken, self.ended()), ({100}, [("doubt", 100, None)]))

    def test_store_raises(self) -> None:
        """The same of a store that raises at once."""

        def commit(op: Op) -> Deferred[WriteOutcome]:
            raise InternalError.of("closed")

        self.patch(self.world.store, "commit", commit)
        self.assertRaises(InternalError, self.service)
        self.assertEqual(self.ended(), [("doubt", 100, None)])

    def test_failure_that_nobody_hears(self) -> None:
        """A store that fails after the writer has left leaves it open too, and the failure is in the log."""
        answer: Deferred[WriteOutcome] = Deferred()
        self.patch(self.world.store, "commit", lambda op: answer)
        running = self.begin()
        running.cancel()
        self.failureResultOf(running, CancelledError)
        answer.errback(InternalError.of("disk full"))
        self.assertEqual((self.ports.taken, self.ended()), ({100}, [("doubt", 100, None)]))
        self.assertEqual(len(self.flushLoggedErrors(InternalError)), 1)

    def test_settling_fails(self) -> None:
        """A reservation that cannot be settled is logged; the write has happened, and its writer hears so."""

        def keep(port: Port) -> None:
            port.end("keep")
            raise RuntimeError("no")

        self.patch(Port, "keep", keep)
        self.assertEqual(self.service()["data"], {"port": "100"})
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
