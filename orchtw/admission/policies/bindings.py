"""Bindings compiled from their objects (reference POLICY-2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchtw.admission.policies.constraints import ALL_WRITES, Constraints, constraints_of
from orchtw.admission.policies.records import Binding, Parameters
from orchtw.errors import BadRequest
from orchtw.rules.selectors import selector_of_object
from orchtw.wire.objects import Object

DENY: Final = "Deny"


def binding_of(obj: Object) -> Binding:
    """Compile a stored binding of either kind."""
    spec: Object = obj.get("spec") or {}
    constraints, broken = constraints_or_why(spec.get("matchResources"))
    return Binding(
        name=obj["metadata"]["name"],
        policy=spec.get("policyName") or "",
        constraints=constraints,
        parameters=_parameters(spec.get("paramRef")),
        actions=tuple(spec.get("validationActions") or ()),
        broken=broken,
    )


def constraints_or_why(match: Mapping[str, Any] | None) -> tuple[Constraints, str]:
    """Return the constraints of a stored object, or, with some that match, why they cannot be used."""
    try:
        return constraints_of(match), ""
    except BadRequest as problem:
        return ALL_WRITES, problem.message


def _parameters(reference: Mapping[str, Any] | None) -> Parameters | None:
    if reference is None:
        return None
    selector = reference.get("selector")
    return Parameters(
        name=reference.get("name") or "",
        namespace=reference.get("namespace") or "",
        labels=None if reference.get("name") else selector_of_object(selector or {}),
        required=reference.get("parameterNotFoundAction") == DENY,
    )
