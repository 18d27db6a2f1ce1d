"""Writes that wait for earlier ones, so that one batch takes them."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.storage.sqlite.gathering import ENOUGH, ENOUGH_BYTES, Gathering
from orchtw.storage.sqlite.plan import Ticket
from orchtw.storage.store import Op, WriteOutcome
from tests.properties import examples


class GatheringTests(SynchronousTestCase):
    """Writes are numbered by their keys."""

    def setUp(self) -> None:
        self.batches: list[list[int]] = []
        self.soon: list[Callable[[], None]] = []
        self.gathering = Gathering(self.submit, self.soon.append)
        self.is_busy = False
        self.gathering.busy = lambda: self.is_busy
        self.given = 0

    def submit(self, writes: list[Ticket]) -> None:
        """Record the keys of a batch."""
        self.batches.append([int(op.key) for op, _ in writes])

    def turn(self) -> None:
        """End the turn of the reactor."""
        calls, self.soon[:] = list(self.soon), []
        for call in calls:
            call()

    def write(self, count: int = 1, value: bytes = b"") -> None:
        """Take in so many writes in a turn."""
        for _ in range(count):
            waiting: Deferred[WriteOutcome] = Deferred()
            self.gathering.add((Op(str(self.given), value), waiting))
            self.given += 1
            self.gathering.proceed()
        self.turn()

    def deliver(self) -> None:
        """Deliver the oldest batch, in a turn."""
        self.gathering.delivered(len(self.batches.pop(0)))
        self.gathering.proceed()
        self.turn()

    def test_next(self) -> None:
        """A write that follows no other goes with its turn, and the next ones are one batch when it is on disk."""
        self.write()
        self.assertEqual(self.batches, [[0]])
        for _ in range(3):
            self.write()
        self.assertEqual(self.batches, [[0]])
        self.deliver()
        self.assertEqual(self.batches, [[1, 2, 3]])

    def test_together(self) -> None:
        """Writes of one turn are one batch."""
        self.write(3)
        self.assertEqual(self.batches, [[0, 1, 2]])

    def test_until_told(self) -> None:
        """They also wait while a batch that is on disk has yet to be told elsewhere."""
        self.write()
        self.write()
        self.is_busy = True
        self.deliver()
        self.assertEqual(self.batches, [])
        self.is_busy = False
        self.gathering.proceed()
        self.turn()
        self.assertEqual(self.batches, [[1]])

    def test_flushed_within_the_turn(self) -> None:
        """Those that follow in a turn in which enough have gone wait for them."""
        self.write(ENOUGH + 1)
        self.assertEqual(self.batches, [list(range(ENOUGH))])
        self.deliver()
        self.assertEqual(self.batches, [[ENOUGH]])

    def test_at_once(self) -> None:
        """Writes gathered elsewhere need not wait for the end of the turn, only for what is under way."""
        for batches in ([[0]], [[0]]):
            waiting: Deferred[WriteOutcome] = Deferred()
            self.gathering.add((Op(str(self.given), b""), waiting))
            self.given += 1
            self.gathering.at_once()
            self.assertEqual(self.batches, batches)
        self.deliver()
        self.assertEqual(self.batches, [[1]])

    def test_enough(self) -> None:
        """So many do not wait, whatever is under way."""
        self.write()
        self.is_busy = True
        for _ in range(ENOUGH - 1):
            self.write()
        self.assertEqual(self.batches, [[0]])
        self.write()
        self.assertEqual(self.batches, [[0], list(range(1, ENOUGH + 1))])

    def test_enough_bytes(self) -> None:
        """Large writes do not wait, so that no batch grows by more than one of them; the next small one does."""
        self.write()
        self.write(value=bytes(ENOUGH_BYTES - 1))
        self.assertEqual(self.batches, [[0]])
        self.write(value=b"x")
        self.write(value=b"x")
        self.assertEqual(self.batches, [[0], [1, 2]])

    def test_flush(self) -> None:
        """At the end all go."""
        self.write()
        self.write()
        self.gathering.flush()
        self.gathering.flush()
        self.assertEqual(self.batches, [[0], [1]])

    @examples(100)
    @given(st.lists(st.sampled_from(["write", "three", "deliver", "busy", "idle"]), max_size=60))
    def test_none_is_lost(self, steps: list[str]) -> None:
        """However they come, each is submitted once, in order, and fewer than ENOUGH wait."""
        self.setUp()
        submitted = 0
        for step in steps:
            if step == "write":
                self.write()
            elif step == "three":
                self.write(3)
            elif step == "deliver" and self.batches:
                submitted += len(self.batches[0])
                self.deliver()
            elif step in ("busy", "idle"):
                self.is_busy = step == "busy"
                self.gathering.proceed()
                self.turn()
            found = [number for batch in self.batches for number in batch]
            self.assertEqual(found, list(range(submitted, submitted + len(found))))
            self.assertLess(self.given - submitted - len(found), ENOUGH)
        self.is_busy = False
        while self.batches:
            submitted += len(self.batches[0])
            self.deliver()
        self.gathering.proceed()
        self.turn()
        self.assertEqual(submitted + sum(map(len, self.batches)), self.given)
