"""Judgement of a write by validating policies: what is done about their checks (reference POLICY-10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec
import orjson

from orchtw.admission.attributes import Attributes
from orchtw.admission.host import AdmissionHost
from orchtw.admission.policies.checks import INVALID, PASSED, Outcome, Verdict, outcome
from orchtw.admission.policies.conditions import Conditions, NotMet
from orchtw.admission.policies.inputs import inputs
from orchtw.admission.policies.known import Pairing
from orchtw.admission.policies.parameters import Misconfigured, ParameterStore
from orchtw.admission.policies.records import Binding, Policy
from orchtw.admission.policies.refusals import refused
from orchtw.admission.policies.rights import Rights
from orchtw.admission.policies.runs import Runs
from orchtw.admission.policies.views import view_of
from orchtw.admission.webhooks.views import Views
from orchtw.schema.cel.admission import PARAMS
from orchtw.schema.cel.evaluation import TooLong

_CODES: Final = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}
_FAILURE: Final = "validation.policy.admission.orch.io/validation_failure"


class Refusal(msgspec.Struct, frozen=True):
    """A denied check, and the policy and binding that denied it; no binding: the policy is misconfigured."""

    policy: Policy
    binding: Binding | None
    verdict: Verdict

    @property
    def text(self) -> str:
        """The message of the refusal."""
        bound = f" with binding '{self.binding.name}'" if self.binding is not None else ""
        return f"ValidatingAdmissionPolicy '{self.policy.name}'{bound} denied request: {self.verdict.message}"


class Judge:
    """Judge of writes by the policies that match them."""

    def __init__(self, host: AdmissionHost) -> None:
        self._parameters = ParameterStore(host.targets)
        self._authorizer = host.authorizer
        self._namespaces = host.targets.stored_target("", "v1", "namespaces").stored
        self._metrics = host.metrics.validating_policies
        self._conditions = Conditions(host.metrics.conditions, "policy", "validating")
        self._failure = host.naming.translate(_FAILURE)

    async def judge(self, pairings: Sequence[Pairing], attributes: Attributes) -> None:
        """Evaluate policies with all their bindings and parameters; raises the first refusal."""
        refusals: list[Refusal] = []
        annotations: dict[str, list[str]] = {}
        runs = Runs(Rights(self._authorizer, attributes), attributes)
        views: Views | None = None
        for pairing in pairings:
            judged = self._at_once(pairing, runs)
            if judged is None:
                views = views or Views(attributes)
                await self._judge(pairing, views, runs, refusals, annotations)
            elif judged is not PASSED:
                for binding in pairing.bindings:
                    self._act(judged, pairing.policy, binding, attributes, refusals, annotations)
        for key, values in annotations.items():
            attributes.annotate(key, ", ".join(dict.fromkeys(values)))
        if refusals:
            first = refusals[0]
            reason = first.verdict.reason or "Invalid"
            raise refused(first.text, attributes, reason, _CODES.get(reason, _CODES["Invalid"]))

    def _at_once(self, pairing: Pairing, runs: Runs) -> Outcome | None:
        """Evaluate a policy that needs nothing but the write, as most do; None: it takes the long way.

        A check costs half as much as one that may have to wait.
        """
        policy, asked = pairing.policy, runs.attributes
        if not policy.bare or pairing.resource is not asked.resource:
            return None
        for binding in pairing.bindings:
            if binding.broken:
                return None
        try:
            return outcome(policy, inputs(policy.names, asked, asked, runs.rights, self._namespaces), runs.inline)
        except TooLong:
            return None

    async def _judge(
        self,
        pairing: Pairing,
        views: Views,
        runs: Runs,
        refusals: list[Refusal],
        annotations: dict[str, list[str]],
    ) -> None:
        policy, asked = pairing.policy, runs.attributes
        try:
            view = await view_of(pairing, views)
        except Misconfigured as problem:
            self._misconfigured(str(problem), policy, None, refusals)
            return
        values = inputs(policy.names, view.attributes, asked, runs.rights, self._namespaces)
        for binding in pairing.bindings:
            try:
                found = await self._parameters.of(policy, binding, asked)
            except Misconfigured as problem:
                self._misconfigured(str(problem), policy, binding, refusals)
                continue
            for params in found:
                judged = await self._outcome(policy, {**values, PARAMS: params} if params else values, runs)
                self._act(judged, policy, binding, asked, refusals, annotations)

    async def _outcome(self, policy: Policy, values: Mapping[str, Any], runs: Runs) -> Outcome:
        """Evaluate a policy; a write that its match conditions exclude has an empty outcome."""
        if policy.conditions:
            met = self._conditions.met(policy.name, policy.conditions, values, runs, patient=policy.patient)
            try:
                if not await met:
                    return Outcome()
            except NotMet as problem:
                return Outcome([Verdict(str(problem), error=INVALID)])
        return await runs.run(partial(outcome, policy, values))

    def _misconfigured(self, text: str, policy: Policy, binding: Binding | None, refusals: list[Refusal]) -> None:
        if not policy.patient:
            name = "" if binding is None else binding.name
            self._metrics.checked(0.0, policy.name, name, INVALID, "deny")
            refusals.append(Refusal(policy, binding, Verdict(text, error=INVALID)))

    def _act(
        self,
        judged: Outcome,
        policy: Policy,
        binding: Binding,
        asked: Attributes,
        refusals: list[Refusal],
        annotations: dict[str, list[str]],
    ) -> None:
        for verdict in judged.verdicts:
            if verdict.ignored:
                self._count(verdict, policy, binding, "allow")
                continue
            for action in binding.actions:
                self._count(verdict, policy, binding, action.lower())
                if action == "Deny":
                    refusals.append(Refusal(policy, binding, verdict))
                elif action == "Warn":
                    asked.warn(
                        f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding "
                        f"'{binding.name}': {verdict.message}"
                    )
                else:
                    asked.annotate(self._failure, _shown(verdict, policy, binding))
        refusals += [Refusal(policy, binding, verdict) for verdict in judged.refusals]
        for key, value in judged.annotations:
            annotations.setdefault(key, []).append(value)

    def _count(self, verdict: Verdict, policy: Policy, binding: Binding, action: str) -> None:
        self._metrics.checked(verdict.seconds, policy.name, binding.name, verdict.error, action)


def _shown(verdict: Verdict, policy: Policy, binding: Binding) -> str:
    failure = {
        "message": verdict.message,
        "policy": policy.name,
        "binding": binding.name,
        "expressionIndex": verdict.index,
        "validationActions": list(binding.actions),
    }
    return orjson.dumps([failure]).decode()
