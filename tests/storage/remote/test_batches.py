# mypy: disallow-untyped-calls=False
"""Writes that cross to the owner together: their order, their outcomes, and faults in the middle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from twisted.internet.defer import Deferred, DeferredList, gatherResults

from orchtw import errors
from orchtw.storage.remote import client as client_module
from orchtw.storage.remote.client import RemoteStore
from orchtw.storage.remote.messages import MessageKind
from orchtw.storage.store import Change, KeyValue, Op, Terms, WriteOutcome
from orchtw.storage.testing import Recorder
from tests.storage.remote.test_hub import HubCase


class Told:
    """Note of a write, with something for other processes."""

    terms = b"told"


def creates(worker: Any, names: Iterable[str]) -> list[Deferred[WriteOutcome]]:
    """Create keys in one turn of the reactor."""
    return [worker.commit(Op(f"/{name}", name.encode(), 0, Told())) for name in names]


class BatchCase(HubCase):
    """Counts what a worker sends."""

    def sent(self, worker: RemoteStore) -> list[int]:
        """Return the kinds of messages that a worker sends from now on."""
        kinds: list[int] = []
        send = worker._link.send

        def noted(kind: MessageKind, *parts: Any) -> None:
            kinds.append(kind)
            send(kind, *parts)

        self.patch(worker._link, "send", noted)
        return kinds


class HandoverTests(BatchCase):
    """Writes of one turn cross together."""

    async def test_one_message(self) -> None:
        """The writes of a turn are one message, and one batch."""
        worker = self.workers[0]
        kinds = self.sent(worker)
        outcomes = await gatherResults(creates(worker, "abcde"))
        self.assertEqual(kinds.count(MessageKind.COMMIT), 1)
        first = outcomes[0].revision
        self.assertEqual([each.revision for each in outcomes], list(range(first, first + 5)))

    async def test_bounded(self) -> None:
        """So many, or so many bytes, do not wait for the end of the turn."""
        worker = self.workers[0]
        kinds = self.sent(worker)
        many = creates(worker, map(str, range(client_module.ENOUGH + 1)))
        self.assertEqual(kinds.count(MessageKind.COMMIT), 1)
        large = worker.commit(Op("/large", bytes(client_module.ENOUGH_BYTES)))
        self.assertEqual(kinds.count(MessageKind.COMMIT), 2)
        await gatherResults([*many, large])

    async def test_conflict_and_success(self) -> None:
        """Each write of a message has its own outcome, a refusal with the state that it met."""
        worker = self.workers[0]
        ops = [
            Op("/a", b"1", 0),
            Op("/b", b"1", 0),
            Op("/b", b"2", 0),
            Op("/c", b"1", 0, guard=("/none", 7)),
            Op("/" + "\0", b""),
            Op("/d", b"1", 0),
        ]
        results: Any = await DeferredList([worker.commit(op) for op in ops], consumeErrors=True)
        (_, a), (_, b), (_, again), (_, fenced), (succeeded, bad), (_, d) = results
        self.assertEqual([b.revision, d.revision], [a.revision + 1, a.revision + 2])
        self.assertEqual(again, WriteOutcome(0, KeyValue("/b", b"1", b.revision, b.revision)))
        self.assertEqual(fenced, WriteOutcome(0, fenced=True))
        self.assertFalse(succeeded)
        bad.trap(errors.BadRequest)
        self.assertEqual(worker._waiting_bytes, 0)

    async def test_order(self) -> None:
        """Writes of one process happen in the order in which it makes them, also those of one key."""
        worker, other = self.workers
        recorder = Recorder()
        await other.subscribe(await other.revision(), recorder.deliver)
        outcomes = []
        for number in range(5):
            turn = [worker.commit(Op("/key", b"%d-%d" % (number, each))) for each in range(20)]
            outcomes += await gatherResults(turn)
        revisions = [each.revision for each in outcomes]
        self.assertEqual(revisions, sorted(revisions))
        await recorder.reached(revisions[-1])
        values = [b"%d-%d" % (number, each) for number in range(5) for each in range(20)]
        self.assertEqual([change.value for change in recorder.changes], values)

    async def test_terms(self) -> None:
        """The others are told what the note says; the writer has its note."""
        worker, other = self.workers
        seen: list[list[Change]] = [[], [], []]
        for store, found in zip((worker, other, self.owned.hub), seen, strict=True):
            await store.subscribe(await store.revision(), found.extend)
        (by_worker,) = creates(worker, "a")
        await by_worker
        by_owner = await self.owned.hub.commit(Op("/b", b"", 0, Told()))
        await self.owned.hub.commit(Op("/c", b""))
        while seen[1][-1].key != "/c" or seen[0][-1].key != "/c":
            await self.time()
        notes = [[change.note for change in found] for found in seen]
        self.assertIsInstance(notes[0][0], Told)
        self.assertEqual(notes[0][1:], [Terms(b"told"), None])
        self.assertEqual(notes[1], [Terms(b"told"), Terms(b"told"), None])
        self.assertEqual(notes[2][0], Terms(b"told"))
        self.assertIsInstance(notes[2][1], Told)
        self.assertTrue(by_owner.revision)


class FaultTests(BatchCase):
    """Ends in the middle of a batch (reference STORE-29)."""

    async def test_worker_ends(self) -> None:
        """A worker that ends with writes under way takes no other's writes along, and its own are there or not."""
        ending, other = self.workers
        lost = creates(ending, "abc")
        kept = creates(other, "xyz")
        mine = creates(self.owned.hub, "o")
        ending._link.abort()
        outcomes = await gatherResults([*kept, *mine])
        self.assertTrue(all(each.revision for each in outcomes))
        ending._lost("the connection was lost")
        for each in lost:
            await self.assertFailure(each, errors.InternalError)
        self.assertEqual(self.owned.fenced, [1])
        found = await other.list("/")
        names = [item.key for item in found.items]
        self.assertEqual([name for name in names if name in ("/o", "/x", "/y", "/z")], ["/o", "/x", "/y", "/z"])
        first = await other.commit(Op("/after", b""))
        self.assertEqual(first.revision, found.revision + 1)
        self.workers.remove(ending)

    async def test_held_batch_of_a_worker_that_ends(self) -> None:
        """Writes that wait for a worker's word go on when it is gone, in their order."""
        silent, other = self.workers
        self.held_up(silent)
        first = creates(other, "a")
        await self.time()
        later = [*creates(other, "bc"), *creates(self.owned.hub, "d")]
        answers = self.answers([*first, *later])
        await self.time()
        self.assertEqual(answers, [])
        self.owned.servers[0].part("it is told to")
        outcomes = await gatherResults([*first, *later])
        self.assertEqual(sorted(each.revision for each in outcomes), [2, 3, 4, 5])
        self.assertEqual(outcomes[0].revision, 2)
        self.workers.remove(silent)

    async def test_owner_ends(self) -> None:
        """Writes on their way, and those that have yet to be sent, fail; what is open is said to be."""
        worker = self.workers[0]
        self.held_up(self.workers[1])
        waiting = creates(worker, "abc")
        for each in self.owned.servers:
            each.link.abort()
        for write in waiting:
            await self.assertFailure(write, errors.InternalError)
        self.assertEqual(worker._waiting_bytes, 0)
        await self.time()
        await self.assertFailure(worker.commit(Op("/late", b"")), errors.ServiceUnavailable)
        self.workers.clear()

    async def test_owner_ends_in_order(self) -> None:
        """All that the owner has accepted is answered before its store closes."""
        worker = self.workers[0]
        waiting = [*creates(self.owned.hub, "abc"), *creates(worker, "x")]
        await self.time()
        await worker.stop()
        await self.owned.hub.stop()
        outcomes = await gatherResults(waiting)
        self.assertTrue(all(each.revision for each in outcomes))
        await self.workers.pop().stop()
        self.workers.clear()
