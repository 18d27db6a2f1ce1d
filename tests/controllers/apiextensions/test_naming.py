"""Distribution of names among definitions."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.controllers.apiextensions.definition import Definition
from orchtw.controllers.apiextensions.naming import NameIndex, accept
from tests.properties import examples

NAMES = st.fixed_dictionaries(
    {"plural": st.sampled_from("abc"), "singular": st.sampled_from("abc"), "kind": st.sampled_from("ABC")},
    optional={"shortNames": st.lists(st.sampled_from("abc"), max_size=2), "listKind": st.sampled_from("ABC")},
)


def asking(name: str, names: dict[str, Any], accepted: dict[str, Any] | None = None) -> Definition:
    """A definition that asks for names, and has some."""
    return Definition(
        name=name, uid=name, generation=1, group="ex.io", names=names, accepted=accepted or {}, conditions=(),
        annotations={}, finalizers=(), terminating=False,
    )  # fmt: skip


class NameIndexTests(SynchronousTestCase):
    def test_own_names_are_free(self) -> None:
        """A definition is not in its own way; singular and plural may be the same."""
        index = NameIndex()
        names = {"plural": "sheep", "singular": "sheep", "kind": "Sheep", "listKind": "SheepList"}
        index.hold("a", "ex.io", names)
        found, finding = accept(asking("a", {**names, "shortNames": ["sheep"]}, names), index)
        self.assertEqual((found["shortNames"], finding.reason), (["sheep"], "NoConflicts"))

    def test_groups_and_kinds_apart(self) -> None:
        """Groups do not get in each other's way, nor do kinds and resources."""
        index = NameIndex()
        index.hold("a", "other.io", {"plural": "foos", "kind": "Foo"})
        index.hold("b", "ex.io", {"plural": "x", "kind": "foos"})
        self.assertEqual(accept(asking("c", {"plural": "foos", "kind": "Foo"}), index)[1].reason, "NoConflicts")

    def test_given_back(self) -> None:
        """A release of names is reported, and no state of removed definitions remains."""
        index = NameIndex()
        self.assertFalse(index.hold("a", "ex.io", {"plural": "a"}))
        self.assertFalse(index.hold("a", "ex.io", {"plural": "a"}, {"plural": "b"}))
        self.assertTrue(index.hold("a", "ex.io", {"plural": "b"}))
        self.assertTrue(index.is_taken(("ex.io", False, "b"), "c"))
        index.release("a")
        self.assertFalse(index.is_taken(("ex.io", False, "b"), "c"))
        self.assertEqual((index._owners, index._held), ({}, {}))

    def test_several_short_names(self) -> None:
        """The message lists all short names already taken."""
        index = NameIndex()
        index.hold("a", "ex.io", {"shortNames": ["x", "y"]})
        message = accept(asking("b", {"shortNames": ["x", "z", "y"]}), index)[1].message
        self.assertEqual(message, '["x" is already in use, "y" is already in use]')

    @examples(50)
    @given(st.lists(NAMES, max_size=6))
    def test_no_name_twice(self, asked: list[dict[str, Any]]) -> None:
        """However many ask for the same names, each has one owner at most, and asking again changes nothing."""
        index, given_names = NameIndex(), dict[str, Any]()
        for number, names in enumerate(asked):
            who = f"d{number}"
            given_names[who], _ = accept(asking(who, names), index)
            index.hold(who, "ex.io", given_names[who])
        self.assertLessEqual(max(map(len, index._owners.values()), default=0), 1)
        for number, names in enumerate(asked):
            who = f"d{number}"
            again, _ = accept(asking(who, names, given_names[who]), index)
            self.assertEqual(again, given_names[who])
