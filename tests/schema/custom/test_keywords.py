"""The table of keywords: tests that are evaluated and tests that are written into functions."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.custom.keywords import CONDITIONS, ENUM, GIVEN, RULES, TYPES, Rule
from orchtw.schema.custom.terms import OLDEST_FORMS
from tests.properties import examples

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=3), parts, max_size=3),
    max_leaves=5,
)
LIMITS: dict[str, Any] = {
    "pattern": "^a+$", "format": "date", "uniqueItems": True, "multipleOf": 3, "enum": ["a", "b", 1, [2]],
    "required": ["a", "b"],
}  # fmt: skip
EXCLUSIVE: dict[str, Any] = {"exclusiveMinimum": True, "exclusiveMaximum": True}
SAMPLES: dict[str, tuple[Any, ...]] = {
    "string": ("", "a", "aaaa", "2026-01-01", "bb"),
    "number": (0, 1, 2, 3, 4.0, 2.5, -3, 10**20),
    "boolean": (True, False),
    "array": ([], [1], [1, 1], [1, True, 1.5], [[1], [1]]),
    "object": ({}, {"a": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}),
}
ENUM_SAMPLES: tuple[Any, ...] = ("a", "c", 1, True, [2], None)
CASES = [(rule, SAMPLES[kind]) for kind, rules in RULES.items() for rule in rules] + [(ENUM, ENUM_SAMPLES)]


class RuleTests(SynchronousTestCase):
    def test_written(self) -> None:
        """A rule gives the same answer evaluated and as text in a function."""
        for rule, values in CASES:
            for extra in ({}, EXCLUSIVE, {"type": "string"}):
                written = eval(f"lambda x, c: {rule.broken.written('x', 'c')}", dict(GIVEN))
                for limit in rule.limits({rule.keyword: LIMITS.get(rule.keyword, 2), **extra}):
                    for value in values:
                        self.assertEqual(written(value, limit), rule.broken.holds(value, limit), rule.keyword)

    def test_breaches(self) -> None:
        """Each keyword is broken by some sample, kept by another, and its cause names the path."""
        for rule, values in CASES:
            given = {rule.keyword: LIMITS.get(rule.keyword, 2)}
            schemas = [schema for schema in (given, {**given, **EXCLUSIVE}) if rule.limits(schema)]
            self.assertTrue(schemas, rule.keyword)
            for limit in rule.limits(schemas[0]):
                outcomes = [bool(rule.broken.holds(value, limit)) for value in values]
                self.assertEqual(set(outcomes), {True, False}, rule.keyword)
                cause = rule.cause(".spec.a", values[outcomes.index(True)], schemas[0], limit, OLDEST_FORMS)
                self.assertTrue(cause.field.startswith("spec.a"))

    def test_exclusive(self) -> None:
        """A bound is read by one rule: the strict one if it is exclusive, otherwise the loose one."""
        for keyword in ("minimum", "maximum"):
            for schema in ({keyword: 0}, {keyword: 0, **EXCLUSIVE}):
                asked = [rule for rule in RULES["number"] if rule.limits(schema)]
                self.assertEqual([rule.broken.holds(0, 0) for rule in asked], [len(schema) > 1])

    def test_quick(self) -> None:
        """The quick rule of an enumeration says of texts what the general one does."""
        schema = {"type": "string", "enum": ["a", "b"]}
        quick = ENUM.typed(schema)
        self.assertIsNot(quick, ENUM)
        self.assertIs(ENUM.typed({"enum": ["a", 1]}), ENUM)
        for value in ("a", "b", "c", ""):
            outcomes = [rule.broken.holds(value, rule.limits(schema)[0]) for rule in (quick, ENUM)]
            self.assertEqual(outcomes[0], outcomes[1])

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


class ConditionTests(SynchronousTestCase):
    def test_written(self) -> None:
        """A condition is broken in a function exactly where a fault is told, whatever schemas a value fits."""
        for key, condition in CONDITIONS.items():
            for count in (1,) if key == "not" else (1, 2, 3):
                for outcomes in product((True, False), repeat=count):
                    broken = bool(eval(condition.broken(map(str, outcomes))))
                    self.assertEqual(broken, bool(condition.fault(sum(outcomes), count)), (key, outcomes))


class AbsentTests(SynchronousTestCase):
    @examples(50)
    @given(st.sampled_from([rule for rule, _ in CASES]))
    def test_nothing(self, rule: Rule) -> None:
        """A keyword with a null says nothing."""
        self.assertEqual(list(rule.limits({rule.keyword: None})), [])
