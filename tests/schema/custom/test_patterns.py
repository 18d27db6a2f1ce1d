"""Patterns of schemas (reference CRD-27)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.custom.patterns import fault, matches
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
        """What would keep other engines busy for ever is told at once."""
        self.assertFalse(matches("^(a+)+$", "a" * 100_000 + "b"))

    def test_too_large(self) -> None:
        """A pattern that would take too much memory cannot be matched, and values are told why."""
        pattern = r"\pL{1000}"
        self.assertIn("too large", fault(pattern))
        told = value_complaints({"type": "string", "pattern": pattern}, "x")
        self.assertEqual(len(told), 1)
        self.assertIn(", but pattern is invalid: ", told[0])
