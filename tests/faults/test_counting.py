"""Counting of matches: the first ones pass, so many are struck, by a sequence that the seed determines."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.faults.counting import FaultCount
from orchtw.faults.rule import FaultRule
from tests.properties import examples

RULES = st.builds(
    FaultRule,
    kind=st.just("late"),
    times=st.integers(0, 10),
    after=st.integers(0, 10),
    gap=st.integers(0, 5),
    probability=st.floats(0.05, 1),
    seed=st.integers(0, 1000),
)
MATCHES = 120


def struck(rule: FaultRule) -> list[int]:
    """The numbers of the matches that a rule strikes, each of which comes about at once."""
    count, found = FaultCount(rule), []
    for number in range(MATCHES):
        if count.choose():
            count.strike()
            found.append(number)
    assert count.matched == MATCHES
    return found


class SequenceTests(SynchronousTestCase):
    """Sequences of strikes (`FaultCount`)."""

    @examples(200)
    @given(RULES)
    def test_bounds(self, rule: FaultRule) -> None:
        """None of the first `after` is struck, `times` at most, and `gap` pass between two of them."""
        found = struck(rule)
        self.assertTrue(all(number >= rule.after for number in found))
        self.assertTrue(not rule.times or len(found) <= rule.times)
        self.assertTrue(all(later - sooner > rule.gap for sooner, later in pairwise(found)))

    @examples(100)
    @given(RULES)
    def test_deterministic(self, rule: FaultRule) -> None:
        """Equal rules strike the same matches."""
        self.assertEqual(struck(rule), struck(rule))

    @examples(100)
    @given(RULES)
    def test_draws(self, rule: FaultRule) -> None:
        """Each match draws once, so that neither `times` nor `gap` shifts the sequence."""
        free = FaultRule(kind="late", after=rule.after, probability=rule.probability, seed=rule.seed)
        self.assertLessEqual(set(struck(rule)), set(struck(free)))

    def test_certain(self) -> None:
        """Without a probability every match after the first ones is struck, as often as allowed."""
        self.assertEqual(struck(FaultRule(kind="late", after=3, times=2)), [3, 4])
        self.assertEqual(struck(FaultRule(kind="late", gap=2, times=3)), [0, 3, 6])

    def test_seeds(self) -> None:
        """Different seeds make different sequences, near the probability."""
        sequences = {tuple(struck(FaultRule(kind="late", probability=0.5, seed=seed))) for seed in range(20)}
        self.assertEqual(len(sequences), 20)
        hits = sum(map(len, sequences)) / (20 * MATCHES)
        self.assertTrue(0.4 < hits < 0.6, hits)


class GivenBackTests(SynchronousTestCase):
    """Faults that were chosen and have not come about."""

    def test_given_back(self) -> None:
        """A fault that did not come about may strike another request; until then it counts."""
        count = FaultCount(FaultRule(kind="cut", times=1))
        self.assertTrue(count.choose())
        self.assertFalse(count.choose())
        self.assertFalse(count.exhausted)
        count.give_back()
        self.assertTrue(count.choose())
        count.strike()
        self.assertTrue(count.exhausted)
        self.assertEqual((count.matched, count.struck), (3, 1))

    def test_never_exhausted(self) -> None:
        """A rule without `times` is never exhausted."""
        count = FaultCount(FaultRule(kind="cut"))
        for _ in range(1000):
            self.assertTrue(count.choose())
            count.strike()
        self.assertFalse(count.exhausted)
