"""Signatures of functions in expressions, and the function that a call means (reference CRD-28)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.cel.overloads import Overload, matching, overload
from orchtw.schema.cel.types import BOOL, DYN, INT, NOTHING, NULL, STRING, Type, list_of, map_of


def made(signature: str) -> Overload:
    """Return the function of a signature, which returns nothing."""
    return overload(signature, lambda *values: None)


class SignatureTests(SynchronousTestCase):
    """Functions as their signatures describe them."""

    def test_method(self) -> None:
        """The target of a method is its first parameter; a function has none."""
        method, function = made("string.contains(string) -> bool"), made("size(string) -> int")
        self.assertEqual((method.name, method.method, method.parameters), ("contains", True, (STRING, STRING)))
        self.assertEqual((function.name, function.method, function.parameters), ("size", False, (STRING,)))
        self.assertEqual((method.result, function.result), (BOOL, INT))

    def test_nested_types(self) -> None:
        """Commas within parentheses do not separate parameters."""
        found = made("map(string, list(A)).f(list(map(A, B)), dyn, null_type) -> list(B)")
        a, b = Type("A"), Type("B")
        self.assertEqual(found.parameters, (map_of(STRING, list_of(a)), list_of(map_of(a, b)), DYN, NULL))
        self.assertEqual(found.result, list_of(b))
        self.assertEqual(made("now() -> int").parameters, ())

    def test_malformed(self) -> None:
        """A text without a result is a ValueError that shows it."""
        error = self.assertRaises(ValueError, made, "size(string)")
        self.assertIn("size(string)", str(error))


class MatchingTests(SynchronousTestCase):
    """Functions that take arguments of given types."""

    def setUp(self) -> None:
        self.functions = (
            made("size(string) -> int"),
            made("size(list(A)) -> int"),
            made("list(A).indexOf(A) -> int"),
            made("string.indexOf(string) -> int"),
        )

    def found(self, method: bool, *arguments: Type) -> list[tuple[int, dict[str, Type]]]:
        """Return the places of the functions that take the arguments, and what their variables are."""
        return [(self.functions.index(each), bound) for each, bound in matching(self.functions, method, arguments)]

    def test_by_type(self) -> None:
        """Functions differ by the types of their arguments, and a method is not a function."""
        self.assertEqual(self.found(False, STRING), [(0, {})])
        self.assertEqual(self.found(False, list_of(INT)), [(1, {"A": INT})])
        self.assertEqual(self.found(True, STRING), [])
        self.assertEqual(self.found(False, STRING, STRING), [])
        self.assertEqual(self.found(True, STRING, STRING), [(3, {})])

    def test_variable(self) -> None:
        """A type variable is one type in the whole call: the element that is searched is of the list's type."""
        self.assertEqual(self.found(True, list_of(INT), INT), [(2, {"A": INT})])
        self.assertEqual(self.found(True, list_of(INT), STRING), [])

    def test_unknown_types(self) -> None:
        """An argument of unknown type may mean several functions; an empty list goes with any element."""
        self.assertEqual([place for place, _ in self.found(False, DYN)], [0, 1])
        self.assertEqual([place for place, _ in self.found(True, list_of(NOTHING), STRING)], [2])
