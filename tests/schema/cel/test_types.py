"""Types of expressions: joined, unified with type variables, and substituted."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.cel.types import (
    DYN,
    INT,
    NOTHING,
    NULL,
    STRING,
    Type,
    holds_objects,
    join,
    list_of,
    map_of,
    substitute,
    unify,
)

A, B = Type("A"), Type("B")


class TypeTests(SynchronousTestCase):
    """Types of values, alone and together."""

    def test_text(self) -> None:
        """A type is written with its parameters."""
        self.assertEqual(str(map_of(STRING, list_of(INT))), "map(string, list(int))")

    def test_join(self) -> None:
        """Null and the elements of an empty list go with any type; different types have no type in common."""
        for one, other, expected in (
            (INT, INT, INT),
            (INT, STRING, None),
            (NULL, INT, INT),
            (list_of(NOTHING), list_of(INT), list_of(INT)),
            (list_of(INT), list_of(DYN), list_of(DYN)),
            (list_of(INT), list_of(STRING), None),
            (list_of(INT), map_of(INT, INT), None),
            (DYN, INT, DYN),
        ):
            self.assertEqual((join(one, other), join(other, one)), (expected, expected), (one, other))

    def test_unify(self) -> None:
        """A variable stands for one type wherever it occurs."""
        bound: dict[str, Type] = {}
        self.assertTrue(unify(map_of(A, list_of(B)), map_of(STRING, list_of(INT)), bound))
        self.assertEqual(bound, {"A": STRING, "B": INT})
        self.assertFalse(unify(A, INT, bound))
        self.assertTrue(unify(A, NULL, bound))
        self.assertEqual(bound["A"], STRING)

    def test_substitute(self) -> None:
        """Variables are replaced at any depth; one that is not bound is of unknown type."""
        self.assertEqual(substitute(map_of(A, list_of(B)), {"A": STRING}), map_of(STRING, list_of(DYN)))
        self.assertIs(substitute(INT, {"A": STRING}), INT)

    def test_objects(self) -> None:
        """A list of objects holds objects; a type with the same name and no members does not."""
        struct = Type("struct", members=dict)
        self.assertEqual(struct, Type("struct"))
        self.assertTrue(holds_objects(list_of(map_of(STRING, struct))))
        self.assertFalse(holds_objects(list_of(Type("struct"))))
