"""Match conditions of policies and webhooks, with their metrics (reference POLICY-8, HOOK-37)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from orchtw.admission.metrics import ConditionMetrics
from orchtw.admission.policies.runs import Runs
from orchtw.schema.cel.checked import Checked
from orchtw.schema.cel.evaluation import Evaluation, Meter
from orchtw.schema.cel.match_conditions import MATCH_STEPS, Matched, matched


class NotMet(Exception):
    """Error: conditions could not be evaluated and none was false; the text says why."""


class Conditions:
    """Evaluation of match conditions; `kind` and `type_` are labels of their metrics."""

    def __init__(self, metrics: ConditionMetrics, kind: str, type_: str) -> None:
        self._metrics = metrics
        self._kind = kind
        self._type = type_

    async def met(
        self, name: str, conditions: Sequence[Checked], values: Mapping[str, Any], runs: Runs, *, patient: bool
    ) -> bool:
        """Report whether all conditions of a policy or webhook hold.

        `patient`: they do not if one has an error. Raises NotMet otherwise, and as `Runs.run`.
        """

        def work(meter: Meter) -> Matched:
            return matched(conditions, Evaluation(values, {}, MATCH_STEPS, meter))

        series = self._metrics.of(name, self._kind, self._type, runs.attributes.operation)
        began = perf_counter()
        try:
            found = await runs.run(work)
        finally:
            series.took(perf_counter() - began)
        series.failed(len(found.errors))
        if found.met is None:
            if patient:
                return False
            raise NotMet(found.error)
        if not found.met:
            series.excluded()
        return found.met
