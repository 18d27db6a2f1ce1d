"""Closures of expressions: lazy decisions, members, literals and their cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.cel.faults import CostExceeded, Failure
from orchtw.schema.cel.frames import STEPS, Frame, Run
from orchtw.schema.cel.operations import (
    all_of,
    any_of,
    charged,
    decided,
    entries,
    entry,
    entry_at,
    has,
    items,
    negated,
    variable,
)

FRAME: Frame = [None, None, 10, {}]


def value(found: Any) -> Run:
    """Return the closure of a constant."""
    return lambda _frame: found


def failing(_frame: Frame) -> Any:
    """Fail as an expression without a value does."""
    raise Failure("no value")


def failing_too(_frame: Frame) -> Any:
    """Fail in other words."""
    raise Failure("no other value")


def outcome(run: Run, *found: Any) -> tuple[str, Any]:
    """Return the value of a closure, or the text of its failure."""
    try:
        return "value", run([*found, *FRAME])
    except Failure as failure:
        return "failure", str(failure)


class DecisionTests(SynchronousTestCase):
    """`&&` and `||` over several operands."""

    def values(self, make: Callable[[Sequence[Run]], Run], *runs: Run) -> bool:
        found: bool = make(runs)(list(FRAME))
        return found

    def test_one_decides(self) -> None:
        """A false operand decides `&&` and a true one `||`, also behind one that has failed."""
        self.assertFalse(self.values(all_of, failing, value(False)))
        self.assertTrue(self.values(any_of, failing, value(True)))

    def test_no_operand_decides(self) -> None:
        """Without a failure the other value results; with one, the first failure."""
        self.assertTrue(self.values(all_of, value(True), value(True)))
        self.assertFalse(self.values(any_of, value(False)))
        self.assertRaises(Failure, self.values, all_of, value(True), failing)
        self.assertRaises(Failure, self.values, any_of, failing, value(False))

    def test_later_operands(self) -> None:
        """Operands behind the one that decides are not evaluated."""

        def never(_frame: Frame) -> Any:
            raise AssertionError("evaluated")

        self.assertFalse(self.values(all_of, value(False), never))
        self.assertTrue(self.values(any_of, value(True), never))

    def test_two_operands(self) -> None:
        """Two operands decide as any number of them does, whatever they are."""
        operands = (value(True), value(False), value(1), failing, failing_too)
        for pair in product(operands, repeat=2):
            for make, decisive in ((all_of, False), (any_of, True)):
                self.assertEqual(outcome(make(pair)), outcome(partial(decided, pair, decisive)))

    def test_other_types(self) -> None:
        """A number or text in place of a boolean is a failure."""
        self.assertRaises(Failure, self.values, all_of, value(1))
        self.assertRaises(Failure, negated(value("true")), list(FRAME))


class MemberTests(SynchronousTestCase):
    """Members of maps and literals of lists and maps."""

    def test_entry(self) -> None:
        """An entry that is missing has no value, and neither does an entry of anything but a map."""
        self.assertEqual(entry(value({"a": 1}), "a")(FRAME), 1)
        error = self.assertRaises(Failure, entry(value({}), "a"), FRAME)
        self.assertEqual(str(error), "no such key: a")
        self.assertRaises(Failure, entry(value([1]), "a"), FRAME)

    def test_entries_of_entries(self) -> None:
        """A path of keys leads where its steps lead, and fails as they do."""
        steps, path = entry(entry(variable(0), "a"), "b"), entry_at(0, ("a", "b"))
        found: Any
        for found in ({"a": {"b": 1}}, {"a": {}}, {"a": 1}, {"a": None}, {}, None, 5):
            self.assertEqual(outcome(path, found), outcome(steps, found), found)

    def test_has(self) -> None:
        """A member is there if the map has its key, whatever its value is."""
        self.assertTrue(has(value({"a": None}), "a")(FRAME))
        self.assertFalse(has(value({}), "a")(FRAME))
        self.assertRaises(Failure, has(value(None), "a"), FRAME)

    def test_literals(self) -> None:
        """A key may stand in a map once."""
        self.assertEqual(items([value(1), value("a")])(FRAME), [1, "a"])
        pair = (value("a"), value(1))
        self.assertEqual(entries([pair])(FRAME), {"a": 1})
        self.assertRaises(Failure, entries([pair, pair]), FRAME)


class CostTests(SynchronousTestCase):
    """Conversions that are paid for before they are made."""

    def test_charged(self) -> None:
        """A conversion takes its cost from the steps, and is not made when too few are left."""
        frame = list(FRAME)
        run = charged(value("abcdef"), str.upper, len)
        self.assertEqual((run(frame), frame[STEPS]), ("ABCDEF", 4))
        self.assertRaises(CostExceeded, run, frame)
