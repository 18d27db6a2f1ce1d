"""Bindings of admission policies: the policy, its parameters and what is done about failures (reference POLICY-3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
import msgspec

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.admissionregistration.match_resources import match_causes, param_ref_causes
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.registry.traits import SPEC
from orchtw.schema.tables import cells_cluster
from orchtw.values.causes import duplicate, invalid, not_supported, required
from orchtw.values.go_literals import listed, shown
from orchtw.values.names import dns_subdomain
from orchtw.wire.objects import Object

_ACTIONS: Final = ("Audit", "Deny", "Warn")
_SHOWN_ACTIONS: Final = listed("admissionregistration.ValidationAction")
_MATCH: Final = "spec.matchResources"
_SHOWN_MATCH: Final = "spec.matchResouces"  # as released: clients compare it
_BOTH: Final = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)


def validate_binding(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate the policy's name, the parameters and the resources."""
    spec: Object = new.get("spec") or {}
    name = spec.get("policyName") or ""
    causes = [invalid("spec.policyName", name, text) for text in dns_subdomain(name)] if name else []
    if not name:
        causes.append(required("spec.policyName"))
    reference, match = spec.get("paramRef"), spec.get("matchResources")
    if reference is not None:
        causes += param_ref_causes(reference, "spec.paramRef")
    return causes + (match_causes(match, _MATCH) if match is not None else [])


def validate_validating_binding(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate a binding, and that there are actions that go together."""
    return validate_binding(new, old, naming) + _action_causes(new.get("spec") or {}, "spec.validationActions")


def _action_causes(spec: Mapping[str, Any], path: str) -> list[Cause]:
    actions = spec.get("validationActions") or []
    causes = []
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            causes.append(not_supported(f"{path}[{index}]", action, _ACTIONS))
        if action in actions[:index]:
            causes.append(duplicate(f"{path}[{index}]", action))
    if "Deny" in actions and "Warn" in actions:
        causes.append(invalid(path, shown(_SHOWN_ACTIONS, actions), _BOTH))
    if not actions:
        causes.append(required(path, "at least one validation action is required"))
    return causes


class BindingStrategy(Strategy):
    """Strategy of bindings, whose causes show one path as the release spells it."""

    def _in_order(self, causes: list[Cause]) -> list[Cause]:
        return [_as_released(each) for each in super()._in_order(causes)]


def _as_released(cause: Cause) -> Cause:
    """Return a cause with the released path of `matchResources`."""
    if not cause.field.startswith(_MATCH):
        return cause
    return msgspec.structs.replace(cause, field=_SHOWN_MATCH + cause.field.removeprefix(_MATCH))


VALIDATING_ADMISSION_POLICY_BINDING = KindRecord(
    group="admissionregistration.orch.io",
    kind="ValidatingAdmissionPolicyBinding",
    generation=SPEC,
    unconditional_update=False,
    validate=validate_validating_binding,
    cells=cells_cluster.admission_policy_binding,
    strategy=BindingStrategy,
)
MUTATING_ADMISSION_POLICY_BINDING = attrs.evolve(
    VALIDATING_ADMISSION_POLICY_BINDING, kind="MutatingAdmissionPolicyBinding", validate=validate_binding
)
