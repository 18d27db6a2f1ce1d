"""Semantics of expressions (reference CRD-28, CRD-30)."""
# covers: orchtw.schema.cel.compiler, orchtw.schema.cel.library.moments, orchtw.schema.cel.library.operators
# covers: orchtw.schema.cel.library.texts, orchtw.schema.cel.library.urls, orchtw.schema.cel.macros
# covers: orchtw.schema.cel.parser, orchtw.schema.cel.tokens, orchtw.schema.cel.values

from __future__ import annotations

from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_strings
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.cel.compiler import compiled
from orchtw.schema.cel.environment import Environment, environment
from orchtw.schema.cel.faults import CostExceeded, Failure, Fault
from orchtw.schema.cel.types import DYN
from orchtw.schema.cel.values import Unsigned
from tests.properties import examples
from tests.schema.cel.samples import FAILURES, FAULTS, OWN_FAILURES, OWN_VALUES, SELF, VALUES

STEPS = 1_000_000
REFERENCE = cel.NewEnv(variables={"self": cel.Type.DYN}, extensions=[ext_strings.ExtStrings()])


def value_of(source: str, value: Any = SELF, steps: int = STEPS, known: Environment | None = None) -> Any:
    """Evaluate an expression about a value."""
    expression = compiled(source, {"self": DYN}, known)
    return plain(expression.run(expression.frame(value, None, steps)))


def plain(value: Any) -> Any:
    """Integers of either kind as such."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    return int(value) if isinstance(value, Unsigned) else value


def reference_of(source: str) -> Any:
    """Evaluate by the reference implementation; `Failure` if there is no value."""
    try:
        found = REFERENCE.compile(source).eval(data={"self": SELF})
    except Exception:
        return Failure
    return Failure if found.type() == cel.Type.ERROR else found.plain_value()


_NUMBERS = st.one_of(st.integers(-9, 9).map(str), st.sampled_from(["self.i", "9223372036854775807", "size(self.s)"]))
_TEXTS = st.sampled_from(['"a"', '"ab"', '""', "self.s", "self.t", "string(1)", '"é".upperAscii()'])
_LISTS = st.sampled_from(["self.l", "[1, 2]", "[0]", "(self.l + [5])", "[1, 2, 3].map(x, x * 2)"])


def _larger(numbers: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(numbers, st.sampled_from("+-*/%"), numbers).map(lambda parts: f"({' '.join(parts)})")


ARITHMETIC = st.recursive(_NUMBERS, _larger, max_leaves=6)
RELATIONS = st.one_of(
    st.tuples(ARITHMETIC, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), ARITHMETIC).map(" ".join),
    st.tuples(_TEXTS, st.sampled_from(["<", "==", "!=", ">="]), _TEXTS).map(" ".join),
    st.tuples(ARITHMETIC, _LISTS).map(" in ".join),
    st.tuples(_LISTS, st.sampled_from(["all", "exists", "exists_one"]), st.integers(-1, 4)).map(
        lambda parts: f"{parts[0]}.{parts[1]}(e, 6 / e > {parts[2]})"
    ),
    st.tuples(_TEXTS, st.sampled_from(["contains", "startsWith", "endsWith"]), _TEXTS).map(
        lambda parts: f"{parts[0]}.{parts[1]}({parts[2]})"
    ),
)


def _joined(conditions: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(conditions, st.sampled_from(["&&", "||"]), conditions).map(lambda parts: f"({' '.join(parts)})")
    choice = st.tuples(conditions, conditions, conditions).map(
        lambda parts: f"({parts[0]} ? {parts[1]} : {parts[2]})"
    )
    return st.one_of(pair, choice, conditions.map(lambda each: f"!({each})"))


class SemanticsTests(SynchronousTestCase):
    """Values, failures and faults."""

    def test_values(self) -> None:
        """Expressions have the value, of the type, that the language says."""
        for source, expected in (VALUES | OWN_VALUES).items():
            found = value_of(source)
            self.assertEqual((found, type(found)), (expected, type(expected)), source)

    def test_reference(self) -> None:
        """The language's own implementation agrees, on what has no value too."""
        for source, expected in VALUES.items():
            self.assertEqual(reference_of(source), expected, source)
        for source in FAILURES:
            self.assertIs(reference_of(source), Failure, source)

    def test_failures(self) -> None:
        """A failed evaluation says why (reference CRD-30)."""
        for source, why in (FAILURES | OWN_FAILURES).items():
            failure = self.assertRaises(Failure, value_of, source)
            self.assertEqual(str(failure), why, source)

    def test_faults(self) -> None:
        """A malformed expression says where and why (reference CRD-31)."""
        for source, (place, why) in FAULTS.items():
            fault = self.assertRaises(Fault, value_of, source, known=environment((1, 24)))
            first = fault.shown(source).split("\n")[0]
            self.assertEqual(first, f"ERROR: <input>:1:{place}: {why}", source[:80])

    def test_shown(self) -> None:
        """A fault points to its place in its line."""
        source = "true &&\n  self.l.foo()"
        fault = self.assertRaises(Fault, value_of, source)
        lines = (
            "ERROR: <input>:2:13: undeclared reference to 'foo' (in container '')",
            "   self.l.foo()",
            " ............^",
        )
        self.assertEqual(fault.shown(source), "\n |".join(lines))

    @examples(300)
    @given(st.recursive(RELATIONS, _joined, max_leaves=5))
    def test_conditions(self, source: str) -> None:
        """Conditions of any form are what the language's own implementation says."""
        try:
            found = value_of(source)
        except Failure:
            found = Failure
        except Fault as fault:
            self.fail(fault.shown(source))
        self.assertEqual(found, reference_of(source), source)

    @examples(300)
    @given(st.one_of(st.text(), st.text(alphabet="self.ab()[]{},:?!&|=<>+-*/%\"'\\rb0123.\n ")))
    def test_any_text(self, source: str) -> None:
        """Any text is an expression, or has a fault."""
        try:
            value_of(source)
        except (Fault, Failure, CostExceeded) as error:
            self.assertTrue(not isinstance(error, Fault) or error.shown(source))
