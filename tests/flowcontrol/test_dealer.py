"""Shuffle sharding of flows over queues."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.flowcontrol.dealer import deal, entropy
from tests.properties import examples


class DealTests(SynchronousTestCase):
    """Hands of queues dealt to flows."""

    @examples(100)
    @given(st.integers(0, 2**64 - 1), st.integers(1, 500), st.integers(1, 8))
    def test_different_cards(self, bits: int, deck: int, hand: int) -> None:
        """A hand has its size, and different queues of those that there are (reference FLOW-4)."""
        hand = min(hand, deck)
        dealt = deal(bits, deck, hand)
        self.assertEqual((len(dealt), len(set(dealt))), (hand, hand))
        self.assertTrue(all(0 <= card < deck for card in dealt))

    def test_all_hands_are_equally_likely(self) -> None:
        """Each hand comes up once for each of as many numbers as there are hands."""
        hands = Counter(deal(bits, 5, 3) for bits in range(5 * 4 * 3))
        self.assertEqual(set(hands.values()), {1})
        self.assertEqual(len(hands), 5 * 4 * 3)

    def test_same_everywhere(self) -> None:
        """A flow has the same hand in every process and after every start."""
        self.assertEqual(deal(entropy("global-default", "alice"), 128, 6), (55, 62, 126, 125, 105, 1))
        self.assertNotEqual(entropy("a", "bc"), entropy("ab", "c"))
