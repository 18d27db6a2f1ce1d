"""The budget of bytes that all connections share."""

from __future__ import annotations

from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from orchtw.serving.budget import STALE_S, Holding, InflightBudget

LIMIT = 8000


class BudgetTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.now = 0.0
        self.budget = InflightBudget(LIMIT, lambda: self.now)
        self.ended: list[str] = []

    def holding(self, name: str = "", *, known: bool = True) -> Holding:
        end: Callable[[], None] = lambda: self.ended.append(name)  # noqa: E731
        return self.budget.holding(known=known, end=end)

    def test_shares(self) -> None:
        """Anonymous peers fill their eighth and nothing more; the rest is there for the others
        (reference LIMIT-9).
        """
        self.assertTrue(self.holding(known=False).hold(1000))
        self.assertFalse(self.holding(known=False).hold(1))
        self.assertTrue(self.holding().hold(7000))
        self.assertFalse(self.holding().hold(1))
        self.assertEqual((self.budget.used_bytes, self.budget.refused), (LIMIT, 2))

    def test_release(self) -> None:
        """Released bytes are free for others, after a shrink or an end; releasing twice is harmless."""
        one, other = self.holding(), self.holding()
        self.assertTrue(one.hold(7000))
        self.assertTrue(one.hold(3000) and other.hold(4000))
        for each in (one, other, one):
            each.release()
        self.assertEqual((self.budget.used_bytes, one.empty), (0, True))

    def test_the_longest_still_make_room(self) -> None:
        """The connections idle for longest end first, and only as many as needed."""
        holdings = [self.holding(name) for name in ("first", "second", "third")]
        for each in (*holdings, holdings[0]):
            self.assertTrue(each.hold(2000))
            each.move()
            self.now += 1.0
        self.now += STALE_S
        self.assertTrue(self.holding().hold(2500))
        self.assertEqual((self.ended, self.budget.ended), (["second"], 1))

    def test_those_that_move_stay(self) -> None:
        """While all others move, or wait for the server itself, who wants more is refused."""
        moving, served = self.holding("moving"), self.holding("served")
        self.assertTrue(moving.hold(3000) and served.hold(4000))
        self.now += 10 * STALE_S
        moving.move()
        self.assertFalse(self.holding().hold(1000))
        self.assertEqual(self.ended, [])

    def test_nobody_makes_room_for_itself(self) -> None:
        """A still connection that wants more is refused rather than ended amid its call."""
        one = self.holding("one")
        one.hold(5000)
        one.move()
        self.now += 2 * STALE_S
        self.assertFalse(one.hold(8000))
        self.assertEqual((self.ended, self.budget.used_bytes), ([], 5000))

    def test_an_empty_pool_takes_anything(self) -> None:
        """One answer larger than the budget can be sent, alone."""
        one = self.holding()
        self.assertTrue(one.hold(9000))
        self.assertFalse(self.holding().hold(1))

    def test_shared_pieces_count_once(self) -> None:
        """600 who wait for the same bytes hold them once; they are free when the last has them
        (reference LIMIT-9).
        """
        piece, other = b"x" * 3000, b"y" * 5000
        waiting = [self.holding() for _ in range(600)]
        self.assertTrue(all(each.pin([piece]) for each in waiting))
        self.assertEqual(self.budget.used_bytes, 3000)
        for each in waiting[1:]:
            each.release()
        self.assertEqual(self.budget.used_bytes, 3000)
        self.assertFalse(self.holding().pin([b"z" * 100, other]))
        self.assertEqual(self.budget.used_bytes, 3000)
        waiting[0].unpin()
        self.assertEqual((self.budget.used_bytes, waiting[0].empty), (0, True))
