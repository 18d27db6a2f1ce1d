"""Evaluation of expressions within their budgets of steps (reference POLICY-7)."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any, Final

from orchtw.schema.cel.checked import Checked
from orchtw.schema.cel.environment import Lazy
from orchtw.schema.cel.faults import CostExceeded, Failure
from orchtw.schema.cel.frames import PATTERNS, STEPS, Frame

VARIABLES: Final = "variables"
"""Variable whose members are the variables of a policy."""

EXPRESSION_STEPS: Final = 1_000_000
"""Steps that one expression may take."""
EVALUATION_STEPS: Final = 10_000_000
"""Steps that the expressions of one evaluation may take together; audit annotations have as many of their own."""

OVER_EXPRESSION: Final = "operation cancelled: actual cost limit exceeded"
OVER_EVALUATION: Final = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)


class TooLong(Exception):
    """Expressions take too long for the reactor: they have to run in a thread."""


class Meter:
    """Counter of the steps of a run, which ends with TooLong when none are left."""

    __slots__ = ("left",)

    def __init__(self, left: float = inf) -> None:
        self.left = left


class OutOfBudget(Exception):
    """All expressions of an evaluation together have taken too many steps."""


class Wrong(Exception):
    """An expression has no value; the text says which one and why. `compiles`: it could be compiled."""

    def __init__(self, text: str, *, compiles: bool = True) -> None:
        super().__init__(text)
        self.compiles = compiles


class Evaluation:
    """Evaluation of a policy's expressions on the same values.

    `variables` are the policy's own, each of which is evaluated at most once, when an expression asks for it.
    """

    def __init__(self, values: Mapping[str, Any], variables: Mapping[str, Checked], steps: int, meter: Meter) -> None:
        self._values = dict(values)
        self._variables = variables
        self._left = steps
        self._meter = meter
        if variables:
            self._values[VARIABLES] = Lazy(self._variable)
        else:
            self._values[VARIABLES] = {}

    def value(self, found: Checked) -> Any:
        """Return the value of an expression. Raises Wrong, OutOfBudget, TooLong."""
        if found.expression is None:
            raise Wrong(f"compilation error: {found.fault}", compiles=False)
        try:
            return self._run(found)
        except Failure as failure:
            raise Wrong(f"expression '{found.source}' resulted in error: {failure}") from None
        except CostExceeded:
            self._check_meter()
            if self._left <= 0:
                raise OutOfBudget(OVER_EVALUATION) from None
            raise Wrong(f"expression '{found.source}' resulted in error: {OVER_EXPRESSION}") from None

    def refill(self, steps: int) -> None:
        """Let the following expressions take so many steps together."""
        self._left = steps

    def _run(self, found: Checked) -> Any:
        expression = found.expression
        assert expression is not None
        meter = self._meter
        allowed = min(EXPRESSION_STEPS, self._left)
        if meter.left < allowed:
            allowed = int(meter.left)
        # Made in place: -2 µs a rule in a check of a pod with three.
        frame: Frame = [None] * expression.places
        frame[STEPS], frame[PATTERNS] = allowed, expression.matchers
        values = self._values
        for name, place in expression.inputs.items():
            frame[place] = values[name]
        try:
            return expression.run(frame)
        finally:
            left = frame[STEPS]
            taken = allowed - left if left > 0 else allowed
            self._left -= taken
            meter.left -= taken

    def _check_meter(self) -> None:
        if self._meter.left <= 0:
            raise TooLong from None

    def _variable(self, name: str) -> Any:
        """Return the value of a variable. Raises Failure."""
        found = self._variables[name]
        if found.expression is None:
            raise Failure(f'composited variable "{name}" fails to compile: {found.fault}')
        try:
            return self._run(found)
        except Failure as failure:
            raise Failure(f'composited variable "{name}" fails to evaluate: {failure}') from None
        except CostExceeded:
            self._check_meter()
            raise Failure(f'composited variable "{name}" fails to evaluate: {OVER_EXPRESSION}') from None
