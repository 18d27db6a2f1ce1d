"""Patterns of schemas (reference CRD-27)."""

from __future__ import annotations

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.custom.patterns import are_heavy, fault, matches, size
from tests.schema.custom.made import value_complaints


class PatternTests(SynchronousTestCase):
    def test_found(self) -> None:
        """A pattern is searched for, in characters; a dollar is the very end."""
        self.assertTrue(matches("b", "abc"))
        self.assertTrue(matches("^.$", "é"))
        self.assertTrue(matches("^.$", "\U0001f600"))
        self.assertFalse(matches("^a$", "a\n"))
        self.assertTrue(matches(r"\p{Greek}", "x" * 100 + "λ"))

    def test_hostile(self) -> None:
        """Patterns that take other engines for ever match at once."""
        self.assertFalse(matches("^(a+)+$", "a" * 100_000 + "b"))

    def test_too_large(self) -> None:
        """A pattern that would take too much memory cannot be matched, and values are told why."""
        pattern = r"\pL{1000}"
        self.assertIn("too large", fault(pattern))
        told = value_complaints({"type": "string", "pattern": pattern}, "x")
        self.assertEqual(len(told), 1)
        self.assertIn(", but pattern is invalid: ", told[0])

    def test_too_long(self) -> None:
        """Nothing is kept of a pattern that is longer than any (reference CRD-64)."""
        pattern = "a|" * 20_000
        self.assertIn("too large", fault(pattern))
        self.assertFalse(matches(pattern, "a"))
        self.assertEqual(size(pattern), 0)

    def test_states(self) -> None:
        """The cost of compiling a pattern follows its states (reference CRD-64)."""
        self.assertGreater(size(r"^\pL{20}$"), 10_000)
        self.assertLess(size("^[a-z]+$"), 100)
        self.assertEqual(size("["), 0)

    def test_heavy(self) -> None:
        """Schemas with patterns that take long are told by their JSON, those of names are not among them."""
        for pattern in (r"\pL", r"\P{Greek}", "a{1,300}", "a{300}", "a{300,}", "(ab){20}", "(ab){1,20}"):
            self.assertTrue(are_heavy(orjson.dumps({"pattern": pattern})), pattern)
        for pattern in (r"^[a-z]{1,63}$", "(ab){2}", r"\d{3}", "", r"\\p"):
            self.assertFalse(are_heavy(orjson.dumps({"pattern": pattern, "description": r"\pL"})), pattern)
        self.assertTrue(are_heavy(orjson.dumps([{"pattern": f"a{number}"} for number in range(100)])))
        self.assertFalse(are_heavy(orjson.dumps([{"pattern": "a"}] * 100)))
