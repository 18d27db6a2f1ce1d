"""Changes of a write by mutating policies, in turn (reference POLICY-12, POLICY-13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any, Final

from orchtw.admission.attributes import Attributes
from orchtw.admission.host import AdmissionHost
from orchtw.admission.policies.checks import INVALID, NO_ERROR, NOT_COMPILED, OUT_OF_BUDGET
from orchtw.admission.policies.conditions import Conditions, NotMet
from orchtw.admission.policies.inputs import inputs
from orchtw.admission.policies.known import Pairing
from orchtw.admission.policies.merging import CannotMutate, Read, merged, patched
from orchtw.admission.policies.parameters import Misconfigured, ParameterStore
from orchtw.admission.policies.records import Binding, Mutation, Policy
from orchtw.admission.policies.refusals import refused
from orchtw.admission.policies.rights import Rights
from orchtw.admission.policies.runs import Runs
from orchtw.admission.policies.views import view_of
from orchtw.admission.reinvocation import Rounds
from orchtw.admission.webhooks.views import Views, WebhookView
from orchtw.apply.merge_type import MapType, Types
from orchtw.errors import ServiceUnavailable
from orchtw.schema.cel.admission import PARAMS
from orchtw.schema.cel.evaluation import EVALUATION_STEPS, Evaluation, Meter, OutOfBudget, Wrong
from orchtw.schema.cel.faults import Failure
from orchtw.schema.cel.mutations import as_json, operations_of
from orchtw.schema.declarations import GroupVersionKind
from orchtw.wire.objects import Object

_DELAY: Final = "There can be a delay between when CustomResourceDefinitions are created and when they are available."


class Mutator:
    """Changer of objects by the policies that match their writes."""

    def __init__(self, host: AdmissionHost) -> None:
        self._parameters = ParameterStore(host.targets)
        self._authorizer = host.authorizer
        self._targets = host.targets
        self._namespaces = host.targets.stored_target("", "v1", "namespaces").stored
        self._metrics = host.metrics.mutating_policies
        self._conditions = Conditions(host.metrics.conditions, "policy", "mutating")
        self._types = Types()
        host.targets.listen(self._forget)

    async def mutate(self, pairings: Sequence[Pairing], attributes: Attributes) -> None:
        """Apply the mutations of policies with all their bindings and parameters. Raises the first refusal."""
        rounds = Rounds.of(attributes)
        views, runs = Views(attributes), Runs(Rights(self._authorizer, attributes), attributes)
        for pairing in pairings:
            for binding in pairing.bindings:
                key = f"policy:{pairing.policy.name}/{binding.name}"
                if attributes.round and key not in rounds.again:
                    continue
                if await self._apply(pairing, binding, views, runs):
                    rounds.changed()
                    attributes.request_reinvocation()
                if pairing.policy.again:
                    rounds.before.add(key)
        rounds.left = attributes.obj

    async def _apply(self, pairing: Pairing, binding: Binding, views: Views, runs: Runs) -> bool:
        """Apply a policy with all parameters, and report whether the object has changed."""
        policy, asked = pairing.policy, runs.attributes
        try:
            view = await view_of(pairing, views)
        except Misconfigured as problem:
            self._fail(policy, None, str(problem), asked)
            return False
        try:
            found = await self._parameters.of(policy, binding, asked)
        except Misconfigured as problem:
            self._fail(policy, binding, str(problem), asked)
            return False
        changed = False
        for params in found:
            changed = await self._evaluate(policy, binding, params, view, views, runs) or changed
        return changed

    async def _evaluate(
        self, policy: Policy, binding: Binding, params: Any, view: WebhookView, views: Views, runs: Runs
    ) -> bool:
        """Evaluate a policy with one parameter, and report whether the object has changed."""
        began, error, why = perf_counter(), NO_ERROR, ""
        try:
            return await self._mutated(policy, params, view, views, runs)
        except Wrong as wrong:
            error, why = INVALID if wrong.compiles else NOT_COMPILED, str(wrong)
        except OutOfBudget as wrong:
            error, why = OUT_OF_BUDGET, str(wrong)
        except (NotMet, CannotMutate, Failure) as problem:
            error, why = INVALID, str(problem)
        finally:
            self._metrics.checked(perf_counter() - began, policy.name, binding.name, error)
        self._fail(policy, binding, why, runs.attributes)
        return False

    async def _mutated(self, policy: Policy, params: Any, view: WebhookView, views: Views, runs: Runs) -> bool:
        await view.complete()
        shown, surface = view.attributes, runs.attributes.surface
        if policy.conditions:
            values = self._values(policy, params, shown, runs)
            met = self._conditions.met(policy.name, policy.conditions, values, runs, patient=policy.patient)
            if not await met:
                return False
        kind, read = self._kind(shown.kind), surface.reader(shown.resource, shown.subresource)
        changed = False
        for mutation in policy.mutations:
            before = shown.obj
            if before is None:
                return False
            values = self._values(policy, params, shown, runs)
            work = partial(_result, policy, mutation, values, before, kind, read)
            after = await runs.run(work, shown.size_bytes)
            if after is not before and after != before:
                await views.put(view, after)
                changed = True
        return changed

    def _values(self, policy: Policy, params: Any, shown: Attributes, runs: Runs) -> dict[str, Any]:
        values = inputs(policy.names, shown, runs.attributes, runs.rights, self._namespaces)
        values[PARAMS] = params
        return values

    def _kind(self, kind: GroupVersionKind) -> MapType:
        """Return the merge type of a kind of objects. Raises ServiceUnavailable (503) if it is served no longer."""
        api_version = f"{kind.group}/{kind.version}" if kind.group else kind.version
        try:
            schema = self._targets.codecs.any_kind(api_version, kind.kind).schema
        except KeyError:
            shown = f"{kind.group}/{kind.version}, Kind={kind.kind}"
            raise ServiceUnavailable(f"Resource kind {shown} not found. {_DELAY}") from None
        return self._types.root(schema)

    def _forget(self) -> None:
        self._types = Types()

    def _fail(self, policy: Policy, binding: Binding | None, why: str, asked: Attributes) -> None:
        """Raise the refusal of a policy that cannot be applied, unless its failurePolicy is Ignore."""
        if policy.patient:
            return
        bound = f" with binding '{binding.name}'" if binding is not None else ""
        raise refused(f"policy '{policy.name}'{bound} denied request: {why}", asked, "Invalid", 403)


def _result(
    policy: Policy,
    mutation: Mutation,
    values: Mapping[str, Any],
    before: Object,
    kind: MapType,
    read: Read,
    meter: Meter,
) -> Object:
    """Return the object after a mutation."""
    value = Evaluation(values, policy.variables, EVALUATION_STEPS, meter).value(mutation.change)
    if mutation.merges:
        configuration = as_json(value)
        return merged(kind, before, configuration, read) if configuration else before
    return patched(before, operations_of(value), read)
