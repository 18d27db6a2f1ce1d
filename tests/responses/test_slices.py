"""Computations of requests in slices, on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from twisted.internet.defer import CancelledError, Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.responses.slices import COMPLETE_BYTES, PART_BYTES, Steps, begun, in_turns
from orchtw.watch.turns import SLICE_S, ReactorTurns


class SlicedCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.now = 0.0
        self.waiting: list[Callable[[], None]] = []
        self.turns = ReactorTurns(lambda: self.now, self.waiting.append)
        self.done = 0

    def turn(self) -> None:
        """One turn of the reactor."""
        due, self.waiting[:] = list(self.waiting), []
        for work in due:
            work()


class InTurnsTests(SlicedCase):
    def steps(self, count: int, each_s: float) -> Steps[str]:
        """So many steps of so many seconds."""
        for _ in range(count):
            self.now += each_s
            self.done += 1
            yield
        return "result"

    def begin(self, count: int, each_s: float) -> Deferred[str]:
        return Deferred.fromCoroutine(in_turns(self.turns, self.steps(count, each_s)))

    def test_short(self) -> None:
        """Work that fits in a slice is done at once."""
        self.assertEqual(self.successResultOf(self.begin(5, SLICE_S / 10)), "result")
        self.assertEqual(self.waiting, [])

    def test_long(self) -> None:
        """Longer work goes on in the next turns, a slice in each."""
        result = self.begin(6, SLICE_S / 2)
        self.assertEqual(self.done, 2)
        self.turn()
        self.assertEqual(self.done, 4)
        self.assertNoResult(result)
        self.turn()
        self.turn()
        self.assertEqual((self.successResultOf(result), self.done), ("result", 6))

    def test_failure(self) -> None:
        """An exception of a step, in any turn, reaches the request."""

        def failing() -> Steps[str]:
            self.now += SLICE_S
            yield
            raise ZeroDivisionError

        result = Deferred.fromCoroutine(in_turns(self.turns, failing()))
        self.assertNoResult(result)
        self.turn()
        self.failureResultOf(result, ZeroDivisionError)

    def test_client_leaves(self) -> None:
        """Nothing more is computed for a client that has gone, and its place in the queue does no harm."""
        result = self.begin(6, SLICE_S)
        result.cancel()
        self.failureResultOf(result, CancelledError)
        self.turn()
        self.turn()
        self.assertEqual(self.done, 1)

    def test_two_at_a_time(self) -> None:
        """Two long computations take turns."""
        one, two = self.begin(4, SLICE_S), self.begin(4, SLICE_S)
        for _ in range(12):
            self.turn()
        self.assertEqual([self.successResultOf(one), self.successResultOf(two)], ["result"] * 2)


class BegunTests(SlicedCase):
    def parts(self, count: int, each_s: float, part: bytes = b"x") -> Iterator[bytes]:
        """So many parts that take so many seconds each."""
        for _ in range(count):
            self.now += each_s
            self.done += 1
            yield part

    def test_short(self) -> None:
        """A body that is made within a slice comes whole."""
        self.assertEqual(begun(self.turns, self.parts(5, SLICE_S / 10)), b"xxxxx")

    def test_slow(self) -> None:
        """A body that takes longer comes in parts of a slice each, made when they are asked for."""
        body = begun(self.turns, self.parts(6, SLICE_S / 2))
        assert not isinstance(body, bytes)
        self.assertEqual(self.done, 2)
        found = []
        for piece in body:
            found.append((piece, self.done))
            self.turn()
        self.assertEqual(found, [(b"xx", 2), (b"xx", 4), (b"xx", 6)])

    def test_large(self) -> None:
        """So does one that is large, however quickly it is made."""
        body = begun(self.turns, self.parts(100, 0, b"y" * (PART_BYTES // 4)))
        assert not isinstance(body, bytes)
        first, *others = body
        self.assertEqual(sum(map(len, [first, *others])), 100 * (PART_BYTES // 4))
        self.assertLessEqual(len(first), COMPLETE_BYTES + PART_BYTES)
        self.assertEqual({len(each) for each in others[:-1]}, {PART_BYTES})

    def test_neighbours_are_short(self) -> None:
        """A slice that a body has used up leaves little for what else begins in the same turn."""
        whole = self.turns.end() - self.now
        begun(self.turns, self.parts(6, SLICE_S))
        self.assertLess(self.turns.end() - self.now, whole)
        self.turn()
        self.assertAlmostEqual(self.turns.end() - self.now, whole)
