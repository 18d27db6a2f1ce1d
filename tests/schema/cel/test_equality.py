"""Equality and addition of values by their types (reference CRD-29)."""

from __future__ import annotations

from typing import Any, Literal

import attrs
from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.cel.equality import equality, joining, key_of
from orchtw.schema.cel.types import DYN, INT, STRING, CelMember, Type, list_of, map_of


def merging(merge: Literal["set", "map"], element: Type = STRING, *keys: str) -> Type:
    """Return a type of lists that merge."""
    return attrs.evolve(list_of(element), merge=merge, keys=keys)


def struct(**members: CelMember) -> Type:
    """Return a type of objects with these members."""
    return Type("object", members=lambda: members)


TAGS = struct(tags=CelMember("tags", merging("set"), None), name=CelMember("name", STRING, None))
KEYED = merging("map", TAGS, "name")


class EqualityTests(SynchronousTestCase):
    """Comparisons of two values of one type."""

    def check(self, kind: Type, one: Any, other: Any, expected: bool) -> None:
        """Compare two values in both orders."""
        same = equality(kind)
        self.assertEqual((same(one, other), same(other, one)), (expected, expected), (one, other))

    def test_lists(self) -> None:
        """The order of a plain list counts; that of a set and of a list with keys does not."""
        keyed = [{"name": "a", "tags": []}, {"name": "b", "tags": []}]
        for kind, value, expected in (
            (list_of(STRING), ["a", "b"], False),
            (merging("set"), ["a", "b"], True),
            (KEYED, keyed, True),
        ):
            self.check(kind, value, value[::-1], expected)

    def test_sets(self) -> None:
        """Sets of different sizes differ, and elements are equal whatever the order of their keys."""
        self.check(merging("set"), ["a"], ["a", "b"], False)
        self.check(merging("set"), ["a", "b"], ["a", "c"], False)
        self.check(merging("set", TAGS), [{"a": 1, "b": 2}, {}], [{}, {"b": 2, "a": 1}], True)

    def test_nested(self) -> None:
        """A set within an object, a map or a list with keys has no order either."""
        one, other = {"name": "a", "tags": ["x", "y"]}, {"name": "a", "tags": ["y", "x"]}
        for kind, first, second in (
            (TAGS, one, other),
            (map_of(STRING, TAGS), {"k": one}, {"k": other}),
            (KEYED, [one], [other]),
            (list_of(TAGS), [one], [other]),
        ):
            self.check(kind, first, second, True)
        self.check(TAGS, one, {"name": "b", "tags": ["x", "y"]}, False)
        self.check(TAGS, one, {"name": "a"}, False)

    def test_read_members(self) -> None:
        """Members whose JSON becomes another value are compared by the value."""
        kind = struct(size=CelMember("size", INT, len))
        self.check(kind, {"size": "ab"}, {"size": "cd"}, True)
        self.check(kind, {"size": "ab"}, {"size": "abc"}, False)

    def test_other_types(self) -> None:
        """A value that is not of its type today, as an old one may be, equals only itself."""
        for kind in (TAGS, KEYED, merging("set"), map_of(STRING, TAGS), list_of(TAGS)):
            self.check(kind, "text", "text", True)
            self.check(kind, "text", [], False)
            self.check(kind, "text", {}, False)
        self.check(DYN, 1, 1.0, True)


class JoiningTests(SynchronousTestCase):
    """Addition of lists that merge, by their types."""

    def joined(self, kind: Type, one: list[Any], other: list[Any]) -> list[Any]:
        """Return the sum of two lists whose type has one of its own."""
        join = joining(kind)
        assert join is not None
        return join(one, other)

    def test_sets(self) -> None:
        """A set gets the elements that it does not have, in their order."""
        self.assertEqual(self.joined(merging("set"), ["b", "a"], ["c", "a", "d"]), ["b", "a", "c", "d"])

    def test_keys(self) -> None:
        """An element of the second list takes the place of that with its key; others come behind."""
        one = [{"name": "a", "n": 1}, {"name": "b", "n": 1}]
        other = [{"name": "c", "n": 2}, {"name": "a", "n": 2}]
        expected = [{"name": "a", "n": 2}, {"name": "b", "n": 1}, {"name": "c", "n": 2}]
        self.assertEqual(self.joined(KEYED, one, other), expected)

    def test_plain(self) -> None:
        """A plain list has no addition of its own."""
        self.assertIsNone(joining(list_of(STRING)))

    def test_odd_keys(self) -> None:
        """Keys of any JSON value can be compared, and an element that is not an object is its own key."""
        self.assertEqual(key_of({"a": {"y": 1, "x": [2]}}, ("a", "b")), key_of({"a": {"x": [2], "y": 1}}, ("a", "b")))
        self.assertNotEqual(key_of({"a": []}, ("a",)), key_of({"a": {}}, ("a",)))
        self.assertEqual(key_of("text", ("a",)), ("text",))
