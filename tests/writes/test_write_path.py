"""Entrance of all writes: the gate, and changes that come into force later than they are stored."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from twisted.internet.defer import Deferred, ensureDeferred

from orchtw.errors import TooManyRequests
from orchtw.registry.field_ownership import FieldOwnership
from orchtw.registry.offload import Offload
from orchtw.registry.write import Written
from orchtw.request import Peer, Request
from orchtw.rules.delete_options import DeleteOptions
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from orchtw.writes.delete import Deletion
from orchtw.writes.gate import WriteGate
from orchtw.writes.write_path import WritePath
from tests.registry.writing import WriteTestCase


class GateTests(WriteTestCase):
    """Creates, updates and deletions before and after the state of the store is brought back."""

    def setUp(self) -> None:
        """A write path behind a gate, and two objects."""
        super().setUp()
        self.config_map("x")
        self.config_map("z")
        self.gate = WriteGate(self.world.clock)
        world, plain = self.world, self.writes
        ownership, offload = FieldOwnership(world.targets, world.naming), Offload(world.clock)
        self.writes = WritePath(
            world.store, plain._admissions, plain._stamp, world.random, ownership, offload, gate=self.gate
        )
        self.deletion = Deletion(self.writes, collects_garbage=True)

    def begin_create(self) -> Deferred[Entry]:
        """Begin to create a second object."""
        obj = self.canonical(self.maps, {"metadata": {"name": "y"}})
        return ensureDeferred(self.writes.create(self.write(self.maps), obj))

    def begin_update(self) -> Deferred[Written]:
        """Begin to change the object."""
        write = self.write(self.maps, "x", from_live=True)
        return ensureDeferred(self.writes.update(write, lambda live: {**(live or {}), "data": {"key": "new"}}))

    def test_closed(self) -> None:
        """Behind a closed gate nothing is created, changed or deleted; once it opens the writes go on."""
        self.successResultOf(ensureDeferred(self.gate.close(1)))
        before = self.world.store.now
        deleting = ensureDeferred(self.deletion.delete(self.write(self.maps, "z"), DeleteOptions()))
        writing: list[Deferred[Any]] = [self.begin_create(), self.begin_update(), deleting]
        self.world.settle()
        self.assertEqual(self.world.store.now, before)
        self.gate.open()
        self.world.settle()
        for each in writing:
            self.successResultOf(each)
        self.assertEqual((self.data(), self.live("z"), self.world.store.now), ({"key": "new"}, None, before + 3))

    def test_opened_meanwhile(self) -> None:
        """A create that the state was brought back under is a 429: its checks were of another state."""
        waiting: Deferred[None] = Deferred()
        self.plugin.check = lambda attributes: waiting
        creating = self.begin_create()
        closing = ensureDeferred(self.gate.close(1))
        self.world.settle(2)
        self.successResultOf(closing)
        self.gate.open()
        waiting.callback(None)
        self.failureResultOf(creating, TooManyRequests)
        self.assertIsNone(self.live("y"))


class InForceTests(WriteTestCase):
    """Kinds whose objects take effect on this server later than they are stored."""

    def setUp(self) -> None:
        """A kind whose changes are in force when the test says so."""
        super().setUp()
        self.config_map()
        self.waiting: list[Deferred[None]] = []
        self.maps.stored.in_force = self.in_force
        self.addCleanup(setattr, self.maps.stored, "in_force", None)

    def in_force(self, entry: Entry) -> Awaitable[None]:
        """Return when an object is in force."""
        self.waiting.append(Deferred())
        return self.waiting[-1]

    def changing(self, **more: Any) -> Deferred[Written]:
        """Begin to change the object."""

        def change(live: Object | None) -> Object:
            assert live is not None
            return {**live, "data": {"key": "new"}}

        return ensureDeferred(self.writes.update(self.write(self.maps, "x", from_live=True, **more), change))

    def test_client(self) -> None:
        """A client's update is stored at once and answered when it is in force."""
        request = Request(method="PUT", path="/", query="", headers={}, body=b"", peer=Peer(address="test", port=0))
        changing = self.changing(request=request)
        self.world.settle()
        self.assertNoResult(changing)
        self.assertEqual(self.data(), {"key": "new"})
        self.waiting[0].callback(None)
        self.successResultOf(changing)

    def test_others(self) -> None:
        """The server's own updates and dry runs do not wait."""
        request = Request(method="PUT", path="/", query="", headers={}, body=b"", peer=Peer(address="test", port=0))
        for more in ({}, {"request": request, "dry_run": True}):
            changing = self.changing(**more)
            self.world.settle()
            self.successResultOf(changing)
        self.assertEqual(self.waiting, [])
