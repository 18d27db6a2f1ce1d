"""Processes with different roles, alone and on one store."""
# covers: orchtw.assembly.api, orchtw.assembly.front, orchtw.assembly.lifecycle, orchtw.assembly.membership

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import attrs
import msgspec
import orjson
from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.front import Front
from orchtw.assembly.membership import ServerKeys
from orchtw.bootstrap.server_leases import ServerPlace
from orchtw.config import Config
from orchtw.config.cluster import ClusterOptions
from orchtw.naming.naming import Naming
from orchtw.pki.cluster_signing import ClusterSigning
from orchtw.pki.followed_files import INTERVAL_S
from orchtw.registry import reservations, strategies
from orchtw.registry.offload import Offload
from orchtw.request import Peer, Request
from orchtw.schema.kinds import GroupKind
from orchtw.server import Server
from orchtw.storage.store import Change, Subscription
from orchtw.wire.objects import Object
from tests.client.world import MemoryStore

PLACE, KEYS = ServerPlace("127.0.0.1", 1), ServerKeys(secret=b"s" * 32)

NAMESPACES = "/api/v1/namespaces"
MAPS = f"{NAMESPACES}/default/configmaps"


class SharedStore(MemoryStore):
    """A store of several processes: nobody is given another's notes, and no process ends it."""

    async def subscribe(self, after_revision: int, deliver: Callable[[Sequence[Change]], None]) -> Subscription:
        def without_notes(changes: Sequence[Change]) -> None:
            deliver([msgspec.structs.replace(change, note=None) for change in changes])

        return await super().subscribe(after_revision, without_notes)


class RoleTests(SynchronousTestCase):
    """`Server` with and without bootstrap and controllers."""

    def setUp(self) -> None:
        self.patch(Offload, "start", lambda offload: None)  # no threads: what takes long is done at once as well
        self.clock: Any = MemoryReactorClock()
        self.store = SharedStore(self.clock)
        self.tokens = Path(self.mktemp())
        self.tokens.write_text('t,admin,1,"system:masters"\n')
        self.running: list[Server] = []
        self.addCleanup(self.end_all)

    def run_to_end(self, work: Coroutine[Any, Any, Any]) -> Any:
        done = Deferred.fromCoroutine(work)
        for _ in range(1000):
            if done.called:
                break
            self.clock.advance(0.001)
        return self.successResultOf(done)

    def process(self, **settings: Any) -> Server:
        config = Config.of(token_auth_file=self.tokens, **settings)
        instance = Server(
            config, Naming.orch(), self.clock, store=self.store, place=PLACE, keys=KEYS
        )
        self.run_to_end(instance.lifecycle.start())
        self.running.append(instance)
        return instance

    def end(self, instance: Server) -> None:
        self.running.remove(instance)
        self.run_to_end(instance.lifecycle.stop())

    def end_all(self) -> None:
        for each in tuple(self.running):
            self.end(each)

    def ask(self, instance: Server, method: str, url: str, body: Any = None) -> tuple[int, Any]:
        path, _, query = url.partition("?")
        headers = {"authorization": "Bearer t", "content-type": "application/json"}
        data = b"" if body is None else orjson.dumps(body)
        request = Request(
            method=method, path=path, query=query, headers=headers, body=data, peer=Peer(address="", port=0)
        )
        front: Front = instance.front
        response = self.run_to_end(front.app(request))
        body = response.body if isinstance(response.body, bytes) else b"".join(response.body)
        return response.code, orjson.loads(body) if response.content_type == "application/json" else body.decode()

    def names(self, instance: Server, url: str) -> list[str]:
        return [each["metadata"]["name"] for each in self.ask(instance, "GET", url)[1]["items"]]

    def test_everything(self) -> None:
        """A process with the defaults makes what every cluster has and runs all controllers."""
        instance = self.process()
        self.assertIn("default", self.names(instance, NAMESPACES))
        checks = self.ask(instance, "GET", "/readyz?verbose")[1]
        for name in ("poststarthook/bootstrap-controller", "controller/namespace", "controller/garbagecollector"):
            self.assertIn(f"[+]{name} ok", checks)

    def test_neither(self) -> None:
        """A process without bootstrap and controllers serves, is ready, and writes nothing of its own."""
        instance = self.process(bootstrap=False, controllers=("-*",))
        code, checks = self.ask(instance, "GET", "/readyz?verbose")
        self.assertEqual((code, self.names(instance, NAMESPACES), self.store.now), (200, [], 1))
        self.assertNotIn("bootstrap-controller", checks)
        self.assertNotIn("controller/", checks)
        self.run_to_end(instance.membership.withdraw())
        self.assertEqual(self.store.now, 1)

    def test_idle_controllers(self) -> None:
        """Without its finalizers there is no garbage collector, whatever --controllers says."""
        checks = self.ask(self.process(enable_garbage_collector=False), "GET", "/readyz?verbose")[1]
        self.assertIn("controller/namespace", checks)
        self.assertNotIn("controller/garbagecollector", checks)

    def test_no_requests(self) -> None:
        """Without a server for certificate requests, no controller follows them."""
        group = "certificates.orch.io/v1"
        checks = self.ask(self.process(runtime_config=((group, "false"),)), "GET", "/readyz?verbose")[1]
        self.assertNotIn("controller/csr", checks)
        self.assertIn("controller/csrsigning", self.ask(self.process(), "GET", "/readyz?verbose")[1])

    def test_authorities_that_sign(self) -> None:
        """The files of authorities that sign are read again within a minute of a change (reference CSR-15)."""
        reads: list[ClusterSigning] = []
        self.patch(ClusterSigning, "read", lambda signing: reads.append(signing))
        files = Path(self.mktemp()), Path(self.mktemp())
        for each in files:
            each.write_text("one")
        self.process(cluster_signing_cert_file=files[0], cluster_signing_key_file=files[1])
        self.clock.advance(INTERVAL_S)
        self.assertEqual(len(reads), 1)
        files[1].write_text("another")
        self.clock.advance(INTERVAL_S)
        self.assertEqual(len(reads), 2)

    def test_two_on_one_store(self) -> None:
        """Writes of one process are served by the others; controllers of one process work for all."""
        first = self.process()
        second = self.process(bootstrap=False, controllers=("-*",))
        self.assertEqual(self.names(second, NAMESPACES), self.names(first, NAMESPACES))
        for name in ("a", "b"):
            self.assertEqual(self.ask(second, "POST", MAPS, {"metadata": {"name": name}})[0], 201)
        self.assertEqual(self.names(first, MAPS), ["a", "b"])
        token = self.ask(first, "GET", f"{MAPS}?limit=1")[1]["metadata"]["continue"]
        self.assertEqual(self.names(second, f"{MAPS}?continue={token}"), ["b"])
        self.ask(second, "POST", NAMESPACES, {"metadata": {"name": "mine"}})
        self.ask(second, "DELETE", f"{NAMESPACES}/mine")
        for _ in range(1000):
            self.clock.advance(0.01)
        self.assertNotIn("mine", self.names(second, NAMESPACES))

    def test_reservations(self) -> None:
        """A kind whose record says how gets its reservations, which every write of its objects goes through."""
        held = Mock(spec_set=("keep", "release", "doubt"))
        taken: list[tuple[bool, bool]] = []

        class Account:
            async def reserve(
                self, new: Object | None, old: Object | None, *, dry_run: bool
            ) -> reservations.Reservation:
                taken.append((new is not None, old is not None))
                return held

            async def repair(self) -> None: ...

            async def replaced(self, gone: Sequence[Object], come: Sequence[Object]) -> None: ...

        config_map = GroupKind("", "ConfigMap")
        hosts: list[reservations.ReservationHost] = []

        def make(host: reservations.ReservationHost, options: ClusterOptions) -> Account:
            hosts.append(host)
            return Account()

        record = attrs.evolve(strategies.KINDS[config_map], reservations=make)
        self.patch(strategies, "KINDS", {**strategies.KINDS, config_map: record})
        instance = self.process()
        own = instance.resources.targets.stored("", "v1", "configmaps")
        self.assertEqual([host.stored("", "v1", "configmaps") for host in hosts], [own])
        before = held.keep.call_count
        taken.clear()
        self.assertEqual(self.ask(instance, "POST", MAPS, {"metadata": {"name": "a"}})[0], 201)
        self.ask(instance, "DELETE", f"{MAPS}/a")
        self.assertEqual(taken, [(True, False), (False, True)])
        self.assertEqual((held.keep.call_count - before, held.release.call_count), (2, 0))

    def test_one_leaves(self) -> None:
        """The end of one process is not that of the others."""
        first = self.process()
        second = self.process(bootstrap=False, controllers=("-*",))
        first.lifecycle.begin_shutdown()
        self.end(first)
        self.assertEqual(self.ask(second, "POST", MAPS, {"metadata": {"name": "a"}})[0], 201)
        self.assertEqual(self.names(second, MAPS), ["a"])
