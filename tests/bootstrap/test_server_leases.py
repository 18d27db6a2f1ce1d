"""Endpoints of the servers' own Service: the live servers (reference CTRL-7)."""
# covers: orchtw.assembly.bootstrap, orchtw.assembly.readiness, orchtw.bootstrap.server_service

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, fail
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.membership import ServerKeys
from orchtw.bootstrap.server_leases import LIFE_S, RENEWAL_S, SERVERS, ServerLeases, ServerPlace
from orchtw.config import Config
from orchtw.errors import InternalError
from orchtw.naming.naming import Naming
from orchtw.pki.certificates import new_key
from orchtw.registry.offload import Offload
from orchtw.request import Peer, Request
from orchtw.server import Server
from tests.client.shared_store import SharedStore
from tests.client.world import MemoryStore
from tests.host_clock import HostClock
from tests.registry.allocation.processes import Group, Link


class LeaseTests(SynchronousTestCase):
    """Two servers on one store."""

    def setUp(self) -> None:
        self.group = Group(0)
        self.one, self.two = (
            ServerLeases(Link(self.group.store, shared=True), ServerPlace(f"192.0.2.{number}", 6443), f"s{number}")
            for number in (1, 2)
        )

    def living(self, leases: ServerLeases) -> list[str]:
        """The addresses of those who live."""
        if leases.shared:
            return [each.place.address for each in self.group.wait(leases.records())]
        return [each.address for each in self.group.wait(leases.living())]

    def test_both(self) -> None:
        """Each sees the other."""
        for leases in (self.one, self.two):
            self.group.wait(leases.renew())
        self.assertEqual(self.living(self.one), ["192.0.2.1", "192.0.2.2"])
        self.assertEqual(self.living(self.two), ["192.0.2.1", "192.0.2.2"])

    def test_one_dies(self) -> None:
        """A server that has not renewed for the life of a lease is dead, and its record is gone (CTRL-39)."""
        for leases in (self.one, self.two):
            self.group.wait(leases.renew())
        for _ in range(2):
            self.group.clock.advance(LIFE_S / 2)
            self.group.wait(self.one.renew())
            found = self.living(self.one)
        self.assertEqual(found, ["192.0.2.1"])
        self.assertEqual([key for key in self.group.store.items if key.startswith(SERVERS)], [f"{SERVERS}s1"])

    def test_one_comes_back(self) -> None:
        """A server that was held up for longer than its record lasts enters itself again with its next renewal."""
        self.group.wait(self.one.renew())
        self.group.clock.advance(2 * LIFE_S)
        self.assertEqual(self.living(self.two), [])
        self.group.wait(self.one.renew())
        self.assertEqual(self.living(self.two), ["192.0.2.1"])

    def test_restart_at_the_same_place(self) -> None:
        """The record of a server that was killed is taken over by the one that is started in its place, which the old
        one's end does not remove.
        """
        self.group.wait(self.one.renew())
        again = ServerLeases(Link(self.group.store, shared=True), ServerPlace("192.0.2.1", 6443), "s1")
        self.group.wait(again.renew())
        self.group.wait(self.one.leave())
        self.assertEqual(self.living(self.two), ["192.0.2.1"])

    def test_one_leaves(self) -> None:
        """A server that leaves is gone at once, and does not come back by a renewal in flight."""
        for leases in (self.one, self.two):
            self.group.wait(leases.renew())
        self.group.wait(self.two.leave())
        self.group.wait(self.two.renew())
        self.assertEqual(self.living(self.one), ["192.0.2.1"])

    def test_leaving_while_entering(self) -> None:
        """A server that leaves while its record is being written is gone once that has been written."""
        entering = Deferred.fromCoroutine(self.one.renew())
        self.group.wait(self.one.leave())
        self.group.wait(entering)
        self.assertEqual(self.living(self.two), [])

    def test_store_of_one(self) -> None:
        """On a store that nobody shares nothing is written, and the server is the only one until it leaves."""
        link = Link(self.group.store, shared=False)
        leases = ServerLeases(link, ServerPlace("192.0.2.1", 6443), "s1")
        self.group.wait(leases.renew())
        self.assertEqual((self.living(leases), link.commits), (["192.0.2.1"], []))
        self.group.wait(leases.leave())
        self.assertEqual((self.living(leases), link.commits), ([], []))


class EndpointTests(SynchronousTestCase):
    """Whole servers on one store, the first of which bootstraps."""

    def setUp(self) -> None:
        self.clock: Any = HostClock()
        self.store: MemoryStore = SharedStore(self.clock)
        self.running: list[Server] = []
        self.key = new_key()
        self.patch(Offload, "start", lambda offload: None)  # no threads: what takes long is done at once as well
        self.addCleanup(lambda: [self.run_async(each.lifecycle.stop()) for each in self.running])

    def run_async(self, work: Any) -> Any:
        """The result of work."""
        found: list[Any] = []
        Deferred.fromCoroutine(work).addBoth(found.append)
        for _ in range(10_000):
            if found:
                break
            self.clock.advance(0)
        if hasattr(found[0], "raiseException"):
            found[0].raiseException()
        return found[0]

    def server(self, address: str, port: int = 6443, **settings: Any) -> Server:
        """A server that has started."""
        config = Config.of(controllers=(), **settings)
        made = Server(
            config,
            Naming.orch(),
            self.clock,
            store=self.store,
            place=ServerPlace(address, port),
            keys=ServerKeys(secret=b"s" * 32, account_key=self.key),
        )
        self.run_async(made.lifecycle.start())
        self.running.append(made)
        return made

    def endpoints(self) -> list[list[str]]:
        """Return the addresses of the Endpoints and the EndpointSlice."""
        targets = self.running[0].resources.targets
        stored = targets.stored_target("", "v1", "endpoints").stored
        old = stored.load(stored.get("default", "orch") or self.fail())
        stored = targets.stored_target("discovery.orch.io", "v1", "endpointslices").stored
        new = stored.load(stored.get("default", "orch") or self.fail())
        subsets = old.get("subsets") or [{"addresses": []}]
        return [
            [each["ip"] for each in subsets[0]["addresses"]],
            [address for each in new["endpoints"] or () for address in each["addresses"]],
        ]

    def wait(self, seconds: float) -> None:
        """Advance the clock by some seconds."""
        for _ in range(int(seconds)):
            self.clock.advance(1)
        for _ in range(20):
            self.clock.advance(0)

    def test_others_come_and_go(self) -> None:
        """A server that comes is named with its next renewal; one that ends, or dies, is not any more."""
        first = self.server("192.0.2.1")
        self.assertEqual(self.endpoints(), [["192.0.2.1"]] * 2)
        second = self.server("192.0.2.2", bootstrap=False)
        self.wait(RENEWAL_S)
        self.assertEqual(self.endpoints(), [["192.0.2.1", "192.0.2.2"]] * 2)
        second.lifecycle.begin_shutdown()
        self.run_async(second.membership.withdraw())
        self.wait(RENEWAL_S)
        self.assertEqual(self.endpoints(), [["192.0.2.1"]] * 2)
        third = self.server("192.0.2.3", bootstrap=False)
        self.wait(RENEWAL_S)
        self.assertEqual(self.endpoints(), [["192.0.2.1", "192.0.2.3"]] * 2)
        third.lifecycle.begin_shutdown()
        self.wait(LIFE_S + 2 * RENEWAL_S)
        self.assertEqual(self.endpoints(), [["192.0.2.1"]] * 2)
        first.lifecycle.begin_shutdown()
        self.run_async(first.membership.withdraw())
        self.assertEqual(self.endpoints(), [[], []])

    def test_store_that_takes_no_writes(self) -> None:
        """A lease that cannot be renewed does not keep a server from starting, nor is it the last try."""
        self.server("192.0.2.1")
        commit = self.store.commit
        self.patch(self.store, "commit", lambda op: fail(InternalError.of("full")))
        self.server("192.0.2.2", bootstrap=False)
        self.patch(self.store, "commit", commit)
        self.wait(2 * RENEWAL_S)
        self.assertEqual(self.endpoints(), [["192.0.2.1", "192.0.2.2"]] * 2)

    def ready(self, server: Server) -> tuple[int, str]:
        """Return the response of `/readyz`."""
        peer = Peer(address="192.0.2.9", port=1)
        request = Request(method="GET", path="/readyz", query="verbose", params={"verbose": [""]}, peer=peer)
        answer = self.run_async(server.front.app(request))
        return answer.code, answer.body.decode()

    def test_servers_that_disagree(self) -> None:
        """The later of two servers with other keys is not ready, is not an endpoint, and says why; it makes nothing.
        When the earlier one has gone it is ready, and makes what is missing (CTRL-52).
        """
        first = self.server("192.0.2.1")
        self.key = new_key()
        second = self.server("192.0.2.2", 6443)
        before = dict(self.store.items)
        self.wait(2 * RENEWAL_S + 60)
        self.assertEqual(self.endpoints(), [["192.0.2.1"]] * 2)
        changed = {key for key, item in self.store.items.items() if before.get(key) != item}
        self.assertEqual({key for key in changed if not key.startswith(SERVERS)}, set())
        code, text = self.ready(second)
        self.assertEqual(code, 500)
        why = "differs from server 192.0.2.1:6443 ("
        self.assertIn(f"[-]servers-agree failed: {why}", text)
        self.assertIn("in keys of service accounts\n", text)
        code, text = self.ready(first)
        self.assertEqual(code, 200, text)
        self.assertIn("[+]servers-agree ok: differs from server 192.0.2.2:6443", text)
        first.lifecycle.begin_shutdown()
        self.run_async(first.membership.withdraw())
        self.wait(2 * RENEWAL_S)
        self.assertEqual(self.ready(second)[0], 200, self.ready(second))
        self.assertEqual(self.endpoints(), [["192.0.2.2"]] * 2)

    def test_settings_that_differ(self) -> None:
        """Servers with other settings of admission and authorization serve, and say so (CTRL-52)."""
        first = self.server("192.0.2.1")
        plugins = ("ServiceAccount",)
        second = self.server("192.0.2.2", enable_bootstrap_token_auth=True, disable_admission_plugins=plugins)
        self.wait(RENEWAL_S)
        for server, other in ((first, "192.0.2.2"), (second, "192.0.2.1")):
            code, text = self.ready(server)
            self.assertEqual(code, 200)
            self.assertIn(f"[+]servers-agree ok: differs from server {other}:6443", text)
            self.assertIn("in --disable-admission-plugins, --enable-bootstrap-token-auth\n", text)
        self.assertEqual(self.endpoints(), [["192.0.2.1", "192.0.2.2"]] * 2)
        counts = next(first.membership.agreement.families()).series()
        shown = {values: count.value for values, count in counts if count.value}
        self.assertEqual(shown, {("--disable-admission-plugins",): 1, ("--enable-bootstrap-token-auth",): 1})

    def test_other_ports(self) -> None:
        """Servers on different ports write the same endpoints, and then nothing more: the slice has the lowest port,
        for it can have but one (CTRL-7).
        """
        self.server("192.0.2.1", 7443)
        self.server("192.0.2.1", 6443)
        self.wait(2 * RENEWAL_S)
        renewals = [key for key in self.store.items if key.startswith(SERVERS)]
        others = {key: item for key, item in self.store.items.items() if key not in renewals}
        self.wait(120)
        self.assertEqual({key: item for key, item in self.store.items.items() if key not in renewals}, others)
        self.assertEqual(self.endpoints()[1], ["192.0.2.1"])

    def test_another_family(self) -> None:
        """A server that advertises an address of the other family makes the slice anew."""
        self.server("192.0.2.1")
        self.server("2001:db8::1")
        self.wait(RENEWAL_S)
        self.assertIn("2001:db8::1", self.endpoints()[0])
