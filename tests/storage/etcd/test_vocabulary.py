"""The vocabulary of the objects in a cluster: recorded, told by objects, refused (reference VOC-8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.trial.unittest import TestCase

from orchtw.errors import ConfigError
from orchtw.outbound.grpc.status import RpcError
from orchtw.storage.etcd.store import EtcdStore
from orchtw.storage.store import Op
from orchtw.storage.testing import Recorder
from tests.storage.etcd.cluster import NO_ETCD, new_store, shared_cluster
from tests.vocabularies import in_both, other


class Words:
    """Values below two prefixes that say their vocabulary, or nothing, or that they cannot be read."""

    prefixes: Sequence[str] = ("/a/", "/b/")

    async def vocabulary(self, key: str, value: bytes) -> str:
        """Return the evidence of a vocabulary, as `Evidence`."""
        if value == b"sealed":
            raise ValueError("there is no key")
        return value.decode()


@in_both
class VocabularyTests(TestCase):
    skip = NO_ETCD
    vocabulary = "orch"

    async def setUp(self) -> None:  # type: ignore[override]
        self.cluster = await shared_cluster()
        self.prefix = new_store(self.cluster).prefix  # nothing is started, so nothing is recorded

    def store(self, vocabulary: str, **settings: Any) -> EtcdStore:
        """A store in the part of the cluster that is this test's."""
        return new_store(self.cluster, prefix=self.prefix, vocabulary=vocabulary, evidence=Words, **settings)

    async def started(self, vocabulary: str) -> EtcdStore:
        """The same, started; stopped with the test."""
        store = self.store(vocabulary)
        await store.start()
        self.addCleanup(lambda: Deferred.fromCoroutine(store.stop()))
        return store

    async def refused(self, vocabulary: str) -> str:
        """Return the reason that a store of `vocabulary` does not start. It leaves nothing behind."""
        before = self.record()
        with self.assertRaises(ConfigError) as refusal:
            await self.store(vocabulary).start()
        self.assertEqual(self.record(), before)
        [problem] = refusal.exception.problems
        return str(problem)

    def record(self) -> str:
        """Return the recorded vocabulary."""
        return self.cluster.control("get", f"{self.prefix}/~vocabulary", "--print-value-only").strip()

    async def fill(self, *values: str) -> None:
        """Objects that a server has stored which recorded nothing."""
        store = await self.started("")
        for number, value in enumerate(values):
            await store.commit(Op(f"/{'ab'[number % 2]}/{number}", value.encode()))

    async def test_recorded_at_the_first_start(self) -> None:
        """A new store says its vocabulary from its first start on; it is opened again, and by several at a time."""
        for _ in range(3):
            store = await self.started(self.vocabulary)
            self.assertEqual(await store.vocabulary(), self.vocabulary)
        self.assertEqual(self.record(), self.vocabulary)

    async def test_the_other_one_is_refused(self) -> None:
        """In one line that names what the store is of."""
        await self.started(self.vocabulary)
        self.assertEqual(
            await self.refused(other(self.vocabulary)),
            f"--etcd-prefix: {self.prefix} was made with --vocabulary {self.vocabulary}, and objects in etcd are "
            "not rewritten; start with that, or use another --etcd-prefix",
        )

    async def test_one_of_two_who_come_at_once_is_refused(self) -> None:
        """Both find an empty store; the first to write the record decides (reference VOC-8)."""
        stores = {each: self.store(each) for each in ("orch", "kubernetes")}
        starts = [Deferred.fromCoroutine(each.start()) for each in stores.values()]
        results: Any = await DeferredList(starts, consumeErrors=True)
        self.assertEqual(sorted(good for good, _ in results), [False, True])
        for (name, store), (good, result) in zip(stores.items(), results, strict=True):
            if good:
                self.assertEqual(self.record(), name)
                await store.stop()
            else:
                result.trap(ConfigError)

    async def test_the_record_is_hidden(self) -> None:
        """No list, scan or feed shows it, and feeds come to its revision (reference STORE-30)."""
        store = await self.started("")
        recorder = Recorder()
        await store.subscribe(await store.revision(), recorder.deliver)
        await store.settle(self.vocabulary)
        written = await store.commit(Op("/a/x", b""))
        self.assertEqual([change.key for change in recorder.changes if change.key], ["/a/x"])
        self.assertEqual([item.key for item in (await store.list("")).items], ["/a/x"])
        pages = [page async for page in store.scan("")]
        self.assertEqual([item.key for page in pages for item in page.items], ["/a/x"])
        self.assertEqual(await store.revision(), written.revision)

    async def test_objects_tell(self) -> None:
        """Stores without a record are recognised, recorded, and refused to the other vocabulary."""
        await self.fill("", self.vocabulary, "sealed", self.vocabulary)
        self.assertIn(f"was made with --vocabulary {self.vocabulary}", await self.refused(other(self.vocabulary)))
        store = await self.started(self.vocabulary)
        self.assertEqual(self.record(), self.vocabulary)
        self.assertEqual(await store.vocabulary(), self.vocabulary)

    async def test_objects_do_not_tell(self) -> None:
        """Where no object is of one vocabulary alone, a server of either may go on."""
        await self.fill("", "")
        self.assertEqual(await self.store_vocabulary(), "")
        await self.started(self.vocabulary)
        self.assertEqual(self.record(), self.vocabulary)

    async def store_vocabulary(self) -> str:
        return await (await self.started("")).vocabulary()

    async def test_objects_of_both(self) -> None:
        """Servers of either vocabulary are refused until an operator has written the record."""
        await self.fill("orch", "kubernetes", "orch")
        why = (
            f"--etcd-prefix: {self.prefix} does not record its --vocabulary and holds objects of both, "
            "1 of kubernetes (such as /b/1) and 2 of orch (such as /a/0); "
            f"decide with `etcdctl put {self.prefix}/~vocabulary NAME`; "
            "objects of the other vocabulary stay unreadable"
        )
        self.assertEqual([await self.refused(each) for each in ("orch", "kubernetes")], [why, why])
        self.cluster.control("put", f"{self.prefix}/~vocabulary", self.vocabulary)
        await self.started(self.vocabulary)

    async def test_objects_that_cannot_be_read(self) -> None:
        """A server without the keys does not guess."""
        await self.fill("sealed", "")
        why = "and the objects that would show it cannot be read: /a/0: there is no key"
        self.assertIn(why, await self.refused(self.vocabulary))

    async def test_a_record_that_nobody_knows(self) -> None:
        """One of a later version, or one that is not a name at all, is refused in one line."""
        for record, shown in (("latin", "latin"), ("\x1b[1m\n" * 99, "\\x1b[1m"), (" ", "(empty)")):
            self.cluster.control("put", f"{self.prefix}/~vocabulary", record)
            problem = await self.refused(self.vocabulary)
            self.assertIn(f"--vocabulary {shown}", problem)
            self.assertTrue(problem.isprintable())
            self.assertLess(len(problem), 300)

    async def test_no_room_for_the_record(self) -> None:
        """A store whose objects tell is opened all the same; a new one is not, in one line."""

        def refuse(request: Any, done: Any) -> None:
            done(RpcError(8, "etcdserver: mvcc: database space exceeded"))

        new = self.store(self.vocabulary)
        self.patch(new._calls, "txn", refuse)
        with self.assertRaises(ConfigError) as refusal:
            await new.start()
        self.assertEqual(str(refusal.exception), "--etcd-servers: etcdserver: mvcc: database space exceeded")
        await self.fill(self.vocabulary)
        store = self.store(self.vocabulary)
        self.patch(store._calls, "txn", refuse)
        await store.start()
        await store.stop()
        self.assertEqual(self.record(), "")

    async def test_forgotten(self) -> None:
        """A prefix whose record is removed can be given to either vocabulary."""
        store = await self.started(self.vocabulary)
        await store.unsettle()
        await self.started(other(self.vocabulary))
