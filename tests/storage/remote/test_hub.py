# mypy: disallow-untyped-calls=False
"""Owner of a store and its workers: deliveries and partings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from orchtw import errors
from orchtw.storage.remote import server as server_module
from orchtw.storage.remote.client import RemoteStore
from orchtw.storage.remote.hub import TICK_S
from orchtw.storage.remote.messages import MessageKind
from orchtw.storage.remote.server import PATIENCE_S, StoreServer
from orchtw.storage.store import KeyValue, Op, WriteOutcome
from orchtw.storage.testing import Recorder
from tests.storage.remote.owned import Owned
from tests.storage.store_files import reactor


class HubCase(TestCase):
    """An owner with two workers."""

    async def setUp(self) -> None:  # type: ignore[override]
        self.owned = Owned(self.mktemp())
        await self.owned.start()
        self.workers = [await self.joined() for _ in range(2)]
        self.addCleanup(lambda: Deferred.fromCoroutine(self.end()))

    async def joined(self) -> RemoteStore:
        """One more worker, which serves."""
        worker = self.owned.worker()
        await worker.start()
        await worker.ready()
        return worker

    async def end(self) -> None:
        """Stop owner and workers."""
        for worker in self.workers:
            await worker.stop()
        await self.owned.hub.stop()

    def held_up(self, worker: RemoteStore) -> None:
        """Have a worker take in what comes only when `go_on` is called."""
        transport: Any = worker._link.transport
        assert transport is not None
        transport.pauseProducing()

    def go_on(self, worker: RemoteStore) -> None:
        """Hold up the stream, as `held_up`."""
        transport: Any = worker._link.transport
        assert transport is not None
        transport.resumeProducing()

    async def time(self) -> None:
        """Let everything happen that can."""
        for _ in range(10):
            await deferLater(reactor, 0.005)

    def answers(self, waiting: Iterable[Deferred[Any]]) -> list[Any]:
        """Fills with what comes."""
        found: list[Any] = []

        def take(answer: Any) -> Any:
            found.append(answer)
            return answer

        for each in waiting:
            each.addCallback(take)
        return found


class ReleaseTests(HubCase):
    """Nobody is told of a write that another process has yet to hear of (reference STORE-28)."""

    async def test_all_or_nobody(self) -> None:
        """While one worker has not got it, no follower is told and no writer answered, wherever they are."""
        slow, quick = self.workers
        recorder = Recorder()
        await quick.subscribe(await quick.revision(), recorder.deliver)
        self.held_up(slow)
        write = self.owned.hub.commit(Op("/a", b"1"))
        answers = self.answers([write])
        await self.time()
        self.assertEqual((answers, recorder.changes), ([], []))
        self.assertFalse(quick.current())
        self.assertFalse(self.owned.hub.current())
        self.go_on(slow)
        outcome = await write
        await recorder.reached(outcome.revision)
        self.assertTrue(self.owned.hub.current())

    async def test_reads_wait(self) -> None:
        """Reads from the store itself show no state too early."""
        slow, quick = self.workers
        self.held_up(slow)
        write = quick.commit(Op("/a", b"1"))
        await self.time()
        reads = [Deferred.fromCoroutine(each.get("/a")) for each in (quick, self.owned.hub)]
        answers = self.answers(reads)
        await self.time()
        self.assertEqual(answers, [])
        self.go_on(slow)
        for found in [await each for each in reads]:
            self.assertEqual(found and found.value, b"1")
        self.assertTrue((await write).revision)

    async def test_conflict_waits(self) -> None:
        """A refusal shows what is there, so it waits as well."""
        slow, quick = self.workers
        self.held_up(slow)
        writes = [quick.commit(Op("/a", b"1", 0)), quick.commit(Op("/a", b"2", 0))]
        answers = self.answers(writes)
        await self.time()
        self.assertEqual(answers, [])
        self.go_on(slow)
        self.assertEqual([bool((await each).revision) for each in writes], [True, False])

    async def test_who_loads_is_not_waited_for(self) -> None:
        """A worker that does not serve yet holds up nobody; when it may serve it knows all."""
        loading = self.owned.worker()
        await loading.start()
        self.workers.append(loading)
        self.held_up(loading)
        revision = (await self.owned.hub.commit(Op("/a", b"1"))).revision
        ready = Deferred.fromCoroutine(loading.ready())
        await self.time()
        self.assertFalse(ready.called)
        self.go_on(loading)
        await ready
        self.assertEqual((await loading.revision(), loading.current()), (revision, True))


class OneWorkerTests(HubCase):
    """Where one worker serves, a batch that it is sent is known to all others (reference STORE-28)."""

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        await self.workers.pop().stop()
        await self.time()

    async def test_released_as_it_comes(self) -> None:
        """The worker tells its own without hearing from the owner again, whose readers and writers wait for it."""
        (worker,) = self.workers
        recorder = Recorder()
        await self.owned.hub.subscribe(await self.owned.hub.revision(), recorder.deliver)
        before = await self.owned.hub.revision()
        transport: Any = self.owned.servers[0].link.transport
        transport.pauseProducing()
        write = self.owned.hub.commit(Op("/b", b"1"))
        told = self.answers([write])
        await self.time()
        self.assertEqual((worker.current(), await worker.revision()), (True, before + 1))
        self.assertEqual((told, recorder.changes), ([], []))
        self.assertFalse(self.owned.hub.current())
        transport.resumeProducing()
        await recorder.reached(before + 1)
        self.assertEqual((await write).revision, before + 1)
        self.assertTrue(self.owned.hub.current())

    async def test_refusal(self) -> None:
        """A refusal shows what is there, which the worker has then."""
        (worker,) = self.workers
        writes = [worker.commit(Op("/a", b"1", 0)), worker.commit(Op("/a", b"2", 0))]
        made, refused = [await each for each in writes]
        self.assertEqual(refused, WriteOutcome(0, KeyValue("/a", b"1", made.revision, made.revision)))

    async def test_second_worker(self) -> None:
        """One that begins to serve is waited for from then on, and the first one hears of releases again."""
        first = await self.workers[0].commit(Op("/a", b"1"))
        self.workers.append(await self.joined())
        self.held_up(self.workers[1])
        write = self.workers[0].commit(Op("/a", b"2"))
        answers = self.answers([write])
        await self.time()
        self.assertEqual(answers, [])
        self.go_on(self.workers[1])
        self.assertEqual((await write).revision, first.revision + 1)


class PartingTests(HubCase):
    """A worker that does not keep up ends; the others go on (reference STORE-29)."""

    async def test_silent(self) -> None:
        """A worker that serves and says nothing for PATIENCE_S is ended; then writers are answered."""
        slow, _ = self.workers
        self.held_up(slow)
        write = self.owned.hub.commit(Op("/a", b"1"))
        answers = self.answers([write])
        for _ in range(int(PATIENCE_S / TICK_S)):
            self.owned.clock.advance(TICK_S)
            await self.time()
        self.assertEqual((answers, self.owned.fenced), ([], []))
        for _ in range(2):
            self.owned.clock.advance(TICK_S)
        self.assertEqual(self.owned.fenced, [1])
        self.assertTrue((await write).revision)
        self.workers.remove(slow)

    async def test_bounded(self) -> None:
        """Data that waits for one worker is bounded."""
        self.patch(server_module, "MAX_UNCONFIRMED_BYTES", 1 << 20)
        slow, quick = self.workers
        self.held_up(slow)
        writes: list[Deferred[WriteOutcome]] = []
        while not self.owned.fenced:
            writes.append(quick.commit(Op(f"/{len(writes)}", bytes(1 << 18))))
            await self.time()
        for write in writes:
            await write
        self.assertEqual(self.owned.fenced, [1])
        self.workers.remove(slow)

    async def test_end_of_the_owner(self) -> None:
        """A worker without its owner fails what waits, and is told."""
        worker = self.workers[0]
        self.held_up(self.workers[1])
        write = worker.commit(Op("/a", b"1"))
        for each in self.owned.servers:
            each.link.abort()
        await self.assertFailure(write, errors.InternalError)
        self.assertEqual(self.owned.lost[:1], ["the connection was lost"])
        await self.assertFailure(Deferred.fromCoroutine(worker.get("/a")), errors.ServiceUnavailable)
        self.workers.clear()


class NonsenseTests(HubCase):
    """Malformed messages end the stream, never the process (reference STORE-29)."""

    async def parted(self, worker: RemoteStore, kind: int, content: bytes) -> StoreServer:
        """Send a message as it is; the owner parts from the worker."""
        number = self.workers.index(worker)
        worker._link.send(kind, content)  # type: ignore[arg-type]
        await self.time()
        self.assertEqual(self.owned.fenced, [number + 1])
        self.workers.remove(worker)
        return self.owned.servers[number]

    async def test_unknown_kind(self) -> None:
        """A kind of message that there is not."""
        await self.parted(self.workers[0], 200, b"")

    async def test_short(self) -> None:
        """A write that is cut off."""
        await self.parted(self.workers[0], MessageKind.COMMIT, b"\1\2\3")

    async def test_confirmed_too_early(self) -> None:
        """A revision that has yet to happen."""
        await self.parted(self.workers[0], MessageKind.RECEIVED, (1 << 40).to_bytes(8, "little"))

    async def test_others_go_on(self) -> None:
        """The other worker has not noticed."""
        await self.parted(self.workers[0], MessageKind.LIST, b"")
        self.assertTrue((await self.workers[0].commit(Op("/a", b"1"))).revision)
