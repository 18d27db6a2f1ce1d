"""The etcd store while the cluster fails, and what it says of it (reference STORE-31, STORE-33)."""
# covers: orchtw.storage.etcd.health, orchtw.storage.etcd.reading
# covers: orchtw.storage.etcd.watching, orchtw.testing.etcd

from __future__ import annotations

import socket
from collections.abc import Awaitable
from typing import Any

import attrs
from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from orchtw import errors
from orchtw.outbound.destination import Destination
from orchtw.outbound.grpc import silence
from orchtw.outbound.policy import TLSPolicy
from orchtw.outbound.tls import ClientTLS
from orchtw.storage.etcd.store import EtcdStore
from orchtw.storage.store import Op, WriteOutcome
from orchtw.storage.testing import Recorder
from orchtw.testing.etcd import EtcdCluster, Files
from tests.storage.etcd.cluster import NO_ETCD, QUICK_ELECTIONS, destinations, new_store, shared_cluster
from tests.storage.etcd.gate import Gate
from tests.vocabularies import in_both

reactor: Any = installed_reactor

MIB = 1 << 20


class FaultCase(TestCase):
    """Stores, recorders and clusters that end with the test."""

    skip = NO_ETCD
    vocabulary = "orch"

    def new_store(self, cluster: EtcdCluster, **settings: Any) -> EtcdStore:
        """A store that has recorded this case's vocabulary."""
        return new_store(cluster, vocabulary=self.vocabulary, **settings)

    async def own_cluster(self, *flags: str, **options: Any) -> EtcdCluster:
        cluster = EtcdCluster(self.mktemp(), *QUICK_ELECTIONS, *flags, **options)
        self.addCleanup(cluster.end)
        await cluster.start(reactor)
        return cluster

    async def started(self, store: EtcdStore) -> EtcdStore:
        await store.start()
        self.addCleanup(lambda: Deferred.fromCoroutine(store.stop()))
        return store

    async def follow(self, store: EtcdStore) -> Recorder:
        recorder = Recorder()
        await store.subscribe(await store.revision(), recorder.deliver)
        return recorder

    async def failure(self, asked: Awaitable[Any], kind: type[Exception]) -> str:
        """The text with which `asked` fails."""
        with self.assertRaises(kind) as caught:
            await asked
        return str(caught.exception)

    async def put(self, store: EtcdStore, key: str, value: bytes = b"v", expected: int | None = None) -> int:
        outcome = await store.commit(Op(key, value, expected))
        self.assertGreater(outcome.revision, 0)
        return outcome.revision


@in_both
class RestartTests(FaultCase):
    """A member that ends and comes back."""

    async def test_killed_and_started_again(self) -> None:
        """Every acknowledged write is there, feeds have no gap and nothing twice, later writes are made."""
        cluster = await self.own_cluster()
        store = await self.started(self.new_store(cluster))
        recorder = await self.follow(store)
        acknowledged: dict[str, int] = {}

        async def write(name: str) -> None:
            for number in range(40):
                key = f"/{name}/{number}"
                try:
                    acknowledged[key] = await self.put(store, key)
                except errors.InternalError:
                    continue  # open whether it is there

        writers = [Deferred.fromCoroutine(write(name)) for name in "abcdefgh"]
        await deferLater(reactor, 0.05)
        cluster.members[0].kill()
        await deferLater(reactor, 0.2)
        await cluster.start(reactor)
        await gatherResults(writers)
        await recorder.reached(last := await self.put(store, "/last"))
        self.assertEqual(recorder.revisions, sorted(set(recorder.revisions)))
        page = await store.list("/")
        self.assertEqual({change.key for change in recorder.changes}, {item.key for item in page.items})
        found = {item.key: item.revision for item in page.items}
        self.assertEqual({**found, **acknowledged, "/last": last}, found)

    async def test_stopped_member_is_noticed(self) -> None:
        """A member that hangs is given up after a while, and asked again when it answers."""
        self.patch(silence, "ASKED_S", 0.1)
        self.patch(silence, "ANSWER_S", 0.3)
        cluster = await self.own_cluster()
        store = await self.started(self.new_store(cluster))
        recorder = await self.follow(store)
        member = cluster.members[0]
        member.signal("STOP")
        failure = await self.failure(store.commit(Op("/a", b"")), errors.InternalError)
        self.assertIn("keepalive", failure)
        member.signal("CONT")
        await recorder.reached(await self.put(store, "/b"))
        await store.check()

    async def test_another_member_is_asked(self) -> None:
        """Of three members one may stop: the store goes on with the others."""
        self.patch(silence, "ASKED_S", 0.1)
        self.patch(silence, "ANSWER_S", 0.3)
        cluster = await self.own_cluster(members=3)
        store = await self.started(self.new_store(cluster))
        recorder = await self.follow(store)
        await self.put(store, "/a")
        asked = next(member for member in cluster.members if member.endpoint == store.endpoint)
        asked.signal("STOP")
        await self.failure(store.commit(Op("/b", b"")), errors.InternalError)
        last = 0
        while not last:
            try:
                last = await self.put(store, "/c")
            except errors.InternalError:
                continue  # the members that are left may have to agree on a leader first
        self.assertNotEqual(store.endpoint, asked.endpoint)
        self.assertEqual(await store.revision(), last)
        await recorder.reached(last)
        asked.signal("CONT")


@in_both
class GateTests(FaultCase):
    """The way to the cluster is closed for a while."""

    async def setUp(self) -> None:  # type: ignore[override]
        self.cluster = await shared_cluster()
        self.direct = await self.started(self.new_store(self.cluster))
        self.gate = Gate(reactor, destinations(self.cluster)[0])
        self.addCleanup(self.gate.close)
        prefix = self.direct.prefix
        self.store = await self.started(self.new_store(self.cluster, endpoints=[self.gate.open()], prefix=prefix))

    async def test_feed_goes_on(self) -> None:
        """A feed whose connection was lost goes on where it was."""
        recorder = await self.follow(self.store)
        first = await self.put(self.direct, "/a", b"1")
        await recorder.reached(first)
        await self.gate.close()
        await self.put(self.direct, "/a", b"2")
        last = await self.put(self.direct, "/b")
        self.gate.open()
        await recorder.reached(last)
        self.assertEqual([(change.key, change.value) for change in recorder.changes],
                         [("/a", b"1"), ("/a", b"2"), ("/b", b"v")])  # fmt: skip
        self.assertEqual(recorder.changes[1].previous and recorder.changes[1].previous.revision, first)

    async def test_reads_and_writes_wait_for_the_way(self) -> None:
        """Calls without a connection are answered once it is back."""
        await self.gate.close()
        write, read = self.store.commit(Op("/a", b"1")), Deferred.fromCoroutine(self.store.get("/b"))
        await deferLater(reactor, 0.2)
        self.assertFalse(write.called or read.called)
        self.gate.open()
        self.assertGreater((await write).revision, 0)
        self.assertIsNone(await read)

    async def test_compacted_meanwhile(self) -> None:
        """A feed whose history was compacted before it was told has what stands there now, and what is gone."""
        for key in ("/kept", "/gone", "/changed"):
            await self.put(self.direct, key, b"1")
        held = {item.key for item in (await self.store.list("/")).items}
        self.store.remembers(lambda: held)
        recorder = await self.follow(self.store)
        await self.gate.close()
        await self.put(self.direct, "/changed", b"2")
        changed = await self.put(self.direct, "/changed", b"3")
        await self.direct.commit(Op("/gone", None))
        made = await self.put(self.direct, "/made")
        await self.put(self.direct, "/passing")
        await self.direct.commit(Op("/passing", None))
        await self.direct.compact(await self.direct.revision())
        self.gate.open()
        await recorder.reached(made + 2)
        await recorder.reached(await self.put(self.direct, "/after"))
        told = [(change.key, change.value) for change in recorder.changes if change.key]
        self.assertEqual(told, [("/changed", b"3"), ("/made", b"v"), ("/gone", None), ("/after", b"v")])
        self.assertEqual(recorder.revisions[:2], [changed, made])
        self.flushLoggedErrors()


@in_both
class RefusalTests(FaultCase):
    """Refusals of the cluster."""

    async def test_no_space(self) -> None:
        """With an alarm for space writes are refused in etcd's words; reads go on, consistent ones too, and only
        `check` fails.
        """
        cluster = await self.own_cluster(f"--quota-backend-bytes={4 * MIB}")
        store = await self.started(self.new_store(cluster))
        cluster.control("put", "elsewhere", "1")
        await self.put(store, "/a")
        with self.assertRaises(errors.InternalError) as caught:
            for number in range(1000):  # a member looks at its size every 100 ms only
                await self.put(store, f"/{number}", bytes(MIB))
        self.assertEqual(caught.exception.message, "etcdserver: mvcc: database space exceeded")
        self.assertEqual(caught.exception.code, 500)
        self.assertIsNotNone(await store.get("/a"))
        await store.alive()
        failure = await self.failure(store.check(), errors.InternalError)
        self.assertEqual(failure, "etcdserver: mvcc: database space exceeded")
        recorder = await self.follow(store)
        cluster.control("del", "elsewhere")
        await recorder.reached(await store.revision())

    async def test_too_large(self) -> None:
        """A value over the members' limit is refused in etcd's words (reference STORE-13)."""
        cluster = await self.own_cluster()
        store = await self.started(self.new_store(cluster))
        for size in (1_600_000, 3 * MIB):
            failure = await self.failure(store.commit(Op("/a", bytes(size))), errors.InternalError)
            self.assertEqual(failure, "etcdserver: request is too large")
        await self.put(store, "/a", bytes(1_400_000))

    async def test_too_much_is_queued(self) -> None:
        """Writes beyond the bound are refused with 429, and the others are made."""
        store = await self.started(self.new_store(await shared_cluster(), max_queued_ops=10))
        writes = [store.commit(Op(f"/{number}", b"")) for number in range(11)]
        await self.assertFailure(writes.pop(), errors.TooManyRequests)
        outcomes: list[WriteOutcome] = await gatherResults(writes)
        self.assertEqual(len({outcome.revision for outcome in outcomes}), 10)

    async def test_certificates(self) -> None:
        """TLS with certificates on both sides; what is wrong with them is said at the start."""
        files = Files.made_in(self.mktemp())
        cluster = await self.own_cluster(files=files)
        good = TLSPolicy(
            authorities=files.authority.read_bytes(),
            certificate=files.client_certificate.read_bytes(),
            key=files.client_key.read_bytes(),
        )
        foreign = Files.made_in(self.mktemp()).authority.read_bytes()
        for policy, why in (
            (attrs.evolve(good, authorities=foreign), "x509: certificate signed by unknown authority"),
            (TLSPolicy(authorities=good.authorities), "remote error: tls: bad certificate"),
        ):
            store = self.new_store(cluster, endpoints=destinations(cluster, policy.tls()), start_s=1.0)
            failure = await self.failure(store.start(), errors.ConfigError)
            self.assertRegex(failure, why)
        store = await self.started(self.new_store(cluster, endpoints=destinations(cluster, good.tls())))
        await self.put(store, "/a", bytes(MIB))
        self.assertEqual((await store.list("/")).items[0].value, bytes(MIB))

    async def test_user_who_may_not(self) -> None:
        """A cluster with users refuses those who have no name, or no right, in its own words."""
        cluster = await self.own_cluster()
        cluster.control("user", "add", "root:secret")
        cluster.control("user", "grant-role", "root", "root")
        cluster.control("auth", "enable")
        store = self.new_store(cluster, start_s=1.0)
        failure = await self.failure(store.start(), errors.ConfigError)
        self.assertIn("etcdserver: user name is empty", failure)

    async def test_nobody_answers(self) -> None:
        """A start with somebody who takes connections and says nothing ends with that, not with our giving it up."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            where = Destination(scheme="http", host="127.0.0.1", port=port, tls=ClientTLS(), timeout_s=0.1)
            store = self.new_store(EtcdCluster(self.mktemp()), endpoints=[where], start_s=0.3)
            failure = await self.failure(store.start(), errors.ConfigError)
        self.assertIn("timeout", failure)

    async def test_nobody_is_there(self) -> None:
        """A start without a cluster ends after a while with what is in the way."""
        cluster = EtcdCluster(self.mktemp())
        store = self.new_store(cluster, start_s=0.3)
        failure = await self.failure(store.start(), errors.ConfigError)
        self.assertIn("connect: connection refused", failure)
