"""Match conditions of webhooks: expressions that narrow the writes of a webhook further (reference HOOK-37)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from orchtw.admission.attributes import Attributes
from orchtw.admission.host import AdmissionHost
from orchtw.admission.webhooks.hook import Hook
from orchtw.admission.webhooks.views import WebhookView


class HookConditions:
    """Evaluation of webhooks' match conditions, after rules and selectors."""

    def __init__(self, host: AdmissionHost, *, mutating: bool) -> None:
        self._host = host
        self._type = "admit" if mutating else "validating"
        self._namespaces = host.targets.stored_target("", "v1", "namespaces").stored

    @cached_property
    def _conditions(self) -> Any:
        # Loaded with the first webhook that has conditions: expressions take a tenth of a second.
        from orchtw.admission.policies.conditions import Conditions

        return Conditions(self._host.metrics.conditions, "webhook", self._type)

    async def met(self, hook: Hook, view: WebhookView, asked: Attributes) -> bool:
        """Report whether a webhook is to be called about the write in `view`.

        Raises Forbidden (403) for conditions that fail, with failure policy Fail; with Ignore, they are not met.
        """
        from orchtw.admission.policies.conditions import NotMet
        from orchtw.admission.policies.inputs import inputs
        from orchtw.admission.policies.rights import Rights
        from orchtw.admission.policies.runs import Runs

        await view.complete()
        runs = Runs(Rights(self._host.authorizer, asked), asked)
        values = inputs(hook.condition_names, view.attributes, asked, runs.rights, self._namespaces)
        try:
            found: bool = await self._conditions.met(hook.name, hook.conditions, values, runs, patient=hook.patient)
        except NotMet as problem:
            raise asked.forbidden(str(problem)) from None
        return found
