"""Checks of a validating policy: the decisions of one evaluation (reference POLICY-10, POLICY-11)."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final

import msgspec

from orchtw.admission.policies.records import Policy, Validation
from orchtw.schema.cel.evaluation import EVALUATION_STEPS, Evaluation, Meter, OutOfBudget, Wrong

LONGEST_MESSAGE: Final = 5 * 1024
"""Limit of a computed message, in bytes."""
LONGEST_ANNOTATION: Final = 10 * 1024
"""Limit of an audit annotation's value, in bytes."""

NO_ERROR: Final = "no_error"
INVALID: Final = "invalid_error"
NOT_COMPILED: Final = "compile_error"
OUT_OF_BUDGET: Final = "out_of_budget"
"""Kinds of errors, as metrics show them."""


class Verdict(msgspec.Struct, frozen=True):
    """Failure of a validation. `index` is its place in the policy; `ignored`: its error does not count."""

    message: str
    index: int = 0
    reason: str = ""
    error: str = NO_ERROR
    ignored: bool = False
    seconds: float = 0.0


class Outcome(msgspec.Struct):
    """Outcome of one evaluation: failures, audit annotations by key, and errors of those, which refuse a write."""

    verdicts: list[Verdict] = []
    annotations: list[tuple[str, str]] = []
    refusals: list[Verdict] = []


PASSED: Final = Outcome()
"""Outcome with nothing to tell; it is shared, and never changed."""


def outcome(policy: Policy, values: Mapping[str, Any], meter: Meter) -> Outcome:
    """Evaluate a policy whose match conditions hold on the values of its variables."""
    evaluation = Evaluation(values, policy.variables, EVALUATION_STEPS, meter)
    verdicts = _verdicts(policy, evaluation)
    if not (verdicts or policy.annotations):
        return PASSED
    found = Outcome(verdicts)
    if policy.annotations:
        evaluation.refill(EVALUATION_STEPS)
        _annotate(policy, evaluation, found)
    return found


def _verdicts(policy: Policy, evaluation: Evaluation) -> list[Verdict]:
    found: list[Verdict] = []
    for index, validation in enumerate(policy.validations):
        began = perf_counter()
        try:
            if evaluation.value(validation.rule) is True:
                continue
            message = _message(validation, evaluation)
            found.append(Verdict(message, index, validation.reason, seconds=perf_counter() - began))
        except Wrong as wrong:
            error = INVALID if wrong.compiles else NOT_COMPILED
            seconds = perf_counter() - began
            found.append(Verdict(str(wrong), index, error=error, ignored=policy.patient, seconds=seconds))
        except OutOfBudget as wrong:
            return [Verdict(str(wrong), error=OUT_OF_BUDGET, ignored=policy.patient)]
    return found


def _message(validation: Validation, evaluation: Evaluation) -> str:
    """Return the message of a failed validation. Raises OutOfBudget."""
    if validation.shown is not None:
        try:
            shown = evaluation.value(validation.shown)
            text = shown.strip() if isinstance(shown, str) else ""
            if text and "\n" not in text and len(text.encode()) <= LONGEST_MESSAGE:
                return text
        except Wrong:
            pass  # the message that is written out takes its place
    return validation.message or f"failed expression: {validation.rule.source.strip()}"


def _annotate(policy: Policy, evaluation: Evaluation, found: Outcome) -> None:
    for each in policy.annotations:
        try:
            value = evaluation.value(each.value)
        except (Wrong, OutOfBudget) as wrong:
            if not policy.patient:
                found.refusals.append(Verdict(str(wrong), error=INVALID))
            if isinstance(wrong, OutOfBudget):
                return
            continue
        text = value.strip() if isinstance(value, str) else ""
        if text:
            cut = text.encode()[:LONGEST_ANNOTATION].decode(errors="ignore")
            found.annotations.append((f"{policy.name}/{each.key}", cut))
