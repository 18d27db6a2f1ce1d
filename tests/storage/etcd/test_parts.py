"""Keys, leases, versions and compaction of the etcd store (reference STORE-30, STORE-32, STORE-33)."""

from __future__ import annotations

from typing import Any

import attrs
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase, TestCase

from orchtw.errors import BadRequest, ConfigError
from orchtw.outbound.destination import Destination
from orchtw.outbound.tls import ClientTLS
from orchtw.storage.etcd import health
from orchtw.storage.etcd.expiry import Leases
from orchtw.storage.etcd.keys import EtcdKeys
from orchtw.storage.etcd.store import EtcdSettings, EtcdStore
from orchtw.storage.store import Op
from orchtw.storage.testing import Recorder
from tests.properties import examples
from tests.storage.etcd.cluster import NO_ETCD, new_store, shared_cluster

TAILS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)


class KeyTests(SynchronousTestCase):
    """Keys made by `EtcdKeys`."""

    def test_prefix(self) -> None:
        """`/registry` makes room for the prefix, and comes back (reference STORE-2)."""
        for prefix in ("/registry", "/other", "/a/b"):
            keys = EtcdKeys(prefix, "/registry")
            self.assertEqual(keys.stored("/registry/pods/a"), f"{prefix}/pods/a".encode())
            self.assertEqual(keys.shown(f"{prefix}/pods/a".encode()), "/registry/pods/a")
            first, end = keys.range("/registry/pods/", "")
            self.assertEqual((first, end), (f"{prefix}/pods/".encode(), f"{prefix}/pods0".encode()))
            self.assertEqual(keys.range("/registry/", ""), (keys.first, keys.end))
            self.assertEqual(keys.range("", ""), (keys.first, keys.end))
            self.assertEqual(keys.range("/elsewhere/", "")[0], keys.range("/elsewhere/", "")[1])

    def test_no_key(self) -> None:
        """Malformed and foreign keys are ignored."""
        for key in ("", "/registry", "/elsewhere/a", "/registry/\0", "/registry/\udc80"):
            self.assertRaises(BadRequest, EtcdKeys("/x", "/registry").stored, key)

    @examples(100)
    @given(TAILS, TAILS, TAILS)
    def test_order(self, first: str, second: str, prefix: str) -> None:
        """Keys keep their order, and ranges have what begins with a prefix."""
        for keys in (EtcdKeys("/x", "/registry"), EtcdKeys("/test-1", "")):
            root = "/registry/" if keys.first == b"/x/" else "/"
            a, b = root + first, root + second
            self.assertEqual(keys.stored(a) < keys.stored(b), a.encode() < b.encode())
            self.assertEqual(keys.shown(keys.stored(a)), a)
            low, high = keys.range(root + prefix, b)
            inside = low <= keys.stored(a) < high
            self.assertEqual(inside, a.startswith(root + prefix) and a.encode() >= b.encode())


@attrs.frozen(slots=True)
class _Granted:
    ID: int
    TTL: int


class _Calls:
    """Grants leases when it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, Deferred[Any]]] = []

    def grant(self, ttl_s: int) -> Deferred[Any]:
        waiting: Deferred[Any] = Deferred()
        self.asked.append((ttl_s, waiting))
        return waiting

    def answer(self) -> None:
        ttl_s, waiting = self.asked[-1]
        waiting.callback(_Granted(len(self.asked), ttl_s))


class LeaseTests(SynchronousTestCase):
    """`Leases`: a value ends no sooner than asked, and at most the reuse time later."""

    def setUp(self) -> None:
        self.clock, self.calls = Clock(), _Calls()
        self.leases = Leases(self.calls, self.clock.seconds, 60, 3)  # type: ignore[arg-type]

    def lease(self, ttl_s: float) -> Deferred[int]:
        return Deferred.fromCoroutine(self.leases.lease(ttl_s))

    def test_shared(self) -> None:
        """Values of about the same end share a lease, as many as it takes; then there is another one."""
        waiting = [self.lease(3600) for _ in range(4)]
        self.assertEqual([ttl_s for ttl_s, _ in self.calls.asked], [3660])
        self.calls.answer()
        self.assertEqual([self.successResultOf(each) for each in waiting[:3]], [1, 1, 1])
        self.calls.answer()
        self.assertEqual(self.successResultOf(waiting[3]), 2)
        self.assertEqual(self.leases.counts.count, 1)

    def test_age(self) -> None:
        """A lease that would end too soon, or much too late, is not shared."""
        first = self.lease(3600)
        self.calls.answer()
        self.assertEqual(self.successResultOf(first), 1)
        self.clock.advance(59)
        self.assertEqual(self.leases.held(3600), 1)
        self.assertEqual(self.leases.held(60), 0)
        self.clock.advance(2)
        self.assertEqual(self.leases.held(3600), 0)

    def test_short(self) -> None:
        """Values that end soon share for a second only."""
        self.lease(10)
        self.assertEqual(self.calls.asked[0][0], 11)

    def test_forgotten(self) -> None:
        """A lease that the cluster does not know is not used again."""
        self.lease(3600)
        self.calls.answer()
        self.leases.forget(1)
        self.assertEqual(self.leases.held(3600), 0)


class VersionTests(SynchronousTestCase):
    """Members that can be asked for progress."""

    def test_versions(self) -> None:
        for version, expected in (
            ("3.4.24", False), ("3.4.25", True), ("3.5.1", False), ("3.5.8", True), ("3.6.0", True), ("4.0.1", True),
            ("3.3.99", False), ("?", False),
        ):  # fmt: skip
            self.assertEqual(health.orderly(version), expected, version)


class StartTests(SynchronousTestCase):
    def test_patience(self) -> None:
        """A start waits for a cluster for 20 seconds, longer than any call (reference STORE-33)."""
        reactor = MemoryReactorClock()
        nowhere = Destination(scheme="http", host="127.0.0.1", port=1, tls=ClientTLS(), timeout_s=60.0)
        store = EtcdStore(EtcdSettings(endpoints=[nowhere]), reactor)
        started = Deferred.fromCoroutine(store.start())
        reactor.pump([0.1] * 199)
        self.assertNoResult(started)
        reactor.pump([0.1] * 3)
        failure = self.failureResultOf(started, ConfigError)
        self.assertEqual(failure.getErrorMessage(), "--etcd-servers: context deadline exceeded")


class SharedTests(TestCase):
    """Several servers on one cluster."""

    skip = NO_ETCD

    async def started(self, **settings: Any) -> EtcdStore:
        store = new_store(await shared_cluster(), **settings)
        await store.start()

        def stop() -> Deferred[None]:
            return Deferred.fromCoroutine(store.stop())

        self.addCleanup(stop)
        return store

    async def test_one_of_two_compacts(self) -> None:
        """Of two servers one forgets the past, up to what was there a turn before (reference STORE-32)."""
        stores = [await self.started(), await self.started()]
        turns = [store.compactor.turn for store in stores]
        for turn in turns:
            await turn()
        first = await stores[0].revision()
        self.assertEqual(sum([await turn() for turn in turns]), 1)
        self.assertEqual(sum([await turn() for turn in turns]), 1)
        self.assertGreater(await stores[0].revision(), first)

    async def test_writes_of_others(self) -> None:
        """A feed has the writes of other servers, without notes; each server's own ones are told with theirs."""
        one = await self.started()
        other = await self.started(prefix=one.prefix)
        recorder, note = Recorder(), object()
        await one.subscribe(await one.revision(), recorder.deliver)
        await other.commit(Op("/a", b"1", 0, note))
        last = (await one.commit(Op("/a", b"2", None, note))).revision
        await recorder.reached(last)
        self.assertEqual([change.note for change in recorder.changes], [None, note])

    async def test_progress(self) -> None:
        """A feed comes to the revision though what is written lies elsewhere: it is told so, without a change
        (reference STORE-30). Members that can be asked for progress are asked, others are written to.
        """
        for asks in (False, True):
            self.patch(health, "orderly", lambda version, asks=asks: asks)
            one, other = await self.started(), await self.started()
            recorder = Recorder()
            await one.subscribe(await one.revision(), recorder.deliver)
            written = (await other.commit(Op("/a", b"1"))).revision
            revision = await one.revision()
            self.assertGreaterEqual(revision, written)
            await recorder.reached(revision)
            self.assertEqual({change.key for change in recorder.changes}, {""})
            self.assertEqual(recorder.revisions[-1] > revision, not asks)
            self.assertEqual((await one.list("/")).items, [])

    async def test_sizes_and_metrics(self) -> None:
        """The size of the member's data is known by its endpoint (reference METRIC-5)."""
        store = await self.started()
        while not store.sizes():  # the member is asked when the connection is made, and nothing waits for its answer
            await store.check()
        self.assertEqual(list(store.sizes()), [store.endpoint])
        self.assertGreater(store.sizes()[store.endpoint], 0)
        names = {family.name for family in store.metrics()}
        self.assertIn("etcd_lease_object_counts", names)
