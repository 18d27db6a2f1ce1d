"""Match conditions of policies and webhooks: expressions that must all be true (reference POLICY-8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from orchtw.schema.cel.checked import Checked
from orchtw.schema.cel.evaluation import Evaluation, OutOfBudget, Wrong

MATCH_STEPS: Final = 2_500_000
"""Steps that the match conditions of a policy or webhook may take together."""


class Matched(msgspec.Struct, frozen=True):
    """Result of conditions: `met` is None if some could not be evaluated, as `errors` say, and none was false."""

    met: bool | None
    errors: tuple[str, ...] = ()

    @property
    def error(self) -> str:
        """The errors as one text; several are in brackets."""
        different = tuple(dict.fromkeys(self.errors))
        return different[0] if len(different) == 1 else f"[{', '.join(different)}]"


def matched(conditions: Sequence[Checked], evaluation: Evaluation) -> Matched:
    """Evaluate conditions in order until one is false, which decides even if others have failed. Raises TooLong."""
    errors: list[str] = []
    for each in conditions:
        try:
            if evaluation.value(each) is not True:
                return Matched(False, tuple(errors))
        except Wrong as wrong:
            errors.append(str(wrong))
        except OutOfBudget as wrong:
            errors.append(str(wrong))
            break
    return Matched(None if errors else True, tuple(errors))
