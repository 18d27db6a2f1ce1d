"""The order of merged lists (reference PATCH-15, PATCH-16)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply.list_order import in_order, is_subsequence
from tests.properties import examples

_LISTS = st.lists(st.sampled_from("abcdef"), unique=True)


def ordered(merged: str, wanted: str, live: str) -> str:
    """Elements that are their own identity, a letter each."""
    return "".join(in_order(list(merged), wanted, live, lambda item: item))


class SubsequenceTests(SynchronousTestCase):
    def test_parts(self) -> None:
        """Others may stand between, at the start and at the end; nothing is part of everything."""
        for part in ("", "a", "ac", "bd", "abcd"):
            self.assertTrue(is_subsequence(part, "abcd"), part)

    def test_others(self) -> None:
        """Another order, an element too often and one that is not there are no part."""
        for part in ("ba", "aa", "x", "abcde"):
            self.assertFalse(is_subsequence(part, "abcd"), part)


class OrderTests(SynchronousTestCase):
    def test_as_wanted(self) -> None:
        """Items that the client names come in the client's order."""
        self.assertEqual(ordered("abc", "cab", "abc"), "cab")

    def test_others_keep_their_places(self) -> None:
        """Items that the client does not name stay ahead of the item they preceded."""
        self.assertEqual(ordered("abcd", "db", "abcd"), "acdb")
        self.assertEqual(ordered("xab", "ba", "xab"), "xba")

    def test_new_elements(self) -> None:
        """New elements take their place from the client's order, among the existing ones."""
        self.assertEqual(ordered("abn", "anb", "ab"), "anb")
        self.assertEqual(ordered("abn", "n", "ab"), "nab")

    def test_nothing_wanted(self) -> None:
        """Without a requested order everything stays as it is."""
        self.assertEqual(ordered("bca", "", "abc"), "bca")

    def test_repeated_names(self) -> None:
        """Of elements with one identity the first place counts, and none is lost."""
        items: list[Any] = [("a", 1), ("b", 2), ("a", 3)]
        found = in_order(items, ["b", "a", "b"], [], lambda item: item[0])
        self.assertEqual(found, [("b", 2), ("a", 1), ("a", 3)])

    @examples(200)
    @given(_LISTS, _LISTS, _LISTS)
    def test_whatever_the_lists(self, merged: list[str], wanted: list[str], live: list[str]) -> None:
        """Nothing is added or lost; what is wanted comes as wanted, all others as they were."""
        found = in_order(merged, wanted, live, lambda item: item)
        self.assertEqual(sorted(found), sorted(merged))
        self.assertEqual([item for item in found if item in wanted], [item for item in wanted if item in merged])
        others = [item for item in merged if item not in wanted]
        self.assertEqual([item for item in found if item not in wanted], others)
