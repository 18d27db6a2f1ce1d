"""The table of keywords: tests that are evaluated and tests that are written into functions."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.custom.rules import ENUM, FORMAT, GIVEN, ITEMS, NUMBERS, PROPERTIES, TEXTS, TYPES, Rule
from tests.properties import examples

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=3), parts, max_size=3),
    max_leaves=5,
)
LIMITS: dict[str, Any] = {
    "pattern": "^a+$", "format": "date", "uniqueItems": True, "multipleOf": 3, "enum": ["a", "b", 1, [2]],
}  # fmt: skip
RULES = (*TEXTS, FORMAT, *NUMBERS, *ITEMS, *PROPERTIES, ENUM)
SAMPLES: tuple[tuple[tuple[Rule, ...], tuple[Any, ...]], ...] = (
    ((*TEXTS, FORMAT), ("", "a", "aaaa", "2026-01-01", "bb")),
    (NUMBERS, (0, 1, 2, 3, 4.0, 2.5, -3, 10**20)),
    (ITEMS, ([], [1], [1, 1], [1, True, 1.5], [[1], [1]])),
    (PROPERTIES, ({}, {"a": 1}, {"a": 1, "b": 2, "c": 3})),
    ((ENUM,), ("a", "c", 1, True, [2], None)),
)


class RuleTests(SynchronousTestCase):
    def test_written(self) -> None:
        """A test gives the same answer evaluated and as text in a function."""
        for rules, values in SAMPLES:
            for rule in rules:
                for extra in ({}, {"exclusiveMinimum": True, "exclusiveMaximum": True}, {"type": "string"}):
                    test = rule.test({rule.keyword: LIMITS.get(rule.keyword, 2), **extra})
                    assert test is not None
                    expression, limit = test
                    written = eval(f"lambda x, c: {expression.written('x', 'c')}", dict(GIVEN))
                    for value in values:
                        self.assertEqual(written(value, limit), expression.holds(value, limit), rule.keyword)

    def test_breaches(self) -> None:
        """Each keyword is broken by some sample, kept by another, and its cause names the path."""
        for rules, values in SAMPLES:
            for rule in rules:
                schema = {rule.keyword: LIMITS.get(rule.keyword, 2)}
                expression, limit = rule.test(schema) or self.fail(rule.keyword)
                outcomes = [bool(expression.holds(value, limit)) for value in values]
                self.assertEqual(set(outcomes), {True, False}, rule.keyword)
                cause = rule.cause(".spec.a", values[outcomes.index(True)], schema)
                self.assertEqual(cause.field, "spec.a")

    def test_quick(self) -> None:
        """The quick test of an enumeration says of texts what the general one does."""
        schema = {"type": "string", "enum": ["a", "b"]}
        quick, general = ENUM.typed_test(schema), ENUM.test(schema)
        assert quick is not None and general is not None
        self.assertNotEqual(quick[0].text, general[0].text)
        for value in ("a", "b", "c", ""):
            self.assertEqual(quick[0].holds(value, quick[1]), general[0].holds(value, general[1]))

    @examples(100)
    @given(VALUES)
    def test_types(self, value: Any) -> None:
        """A value is of one type, or of two if it is an integer, or of none if it is null."""
        found = {kind for kind, expression in TYPES.items() if expression.holds(value, None)}
        self.assertIn(
            found,
            [set(), {"string"}, {"boolean"}, {"object"}, {"array"}, {"number"}, {"integer", "number"}],
        )
        self.assertEqual(not found, value is None)


class AbsentTests(SynchronousTestCase):
    @examples(50)
    @given(st.sampled_from(RULES))
    def test_nothing(self, rule: Rule) -> None:
        """A keyword with a null says nothing."""
        self.assertIsNone(rule.test({rule.keyword: None}))
