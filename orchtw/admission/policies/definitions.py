"""Policies compiled from their objects (reference POLICY-2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchtw.admission.policies.bindings import constraints_or_why
from orchtw.admission.policies.records import Annotation, Mutation, Policy, Validation
from orchtw.schema.cel.admission import (
    ANNOTATION,
    AUTHORIZED,
    CONDITION,
    MESSAGE,
    OWN_RESOURCE,
    STORED,
    Composition,
    checked,
    known_variables,
)
from orchtw.schema.cel.checked import Checked
from orchtw.schema.cel.mutations import MUTATIONS, RESULTS
from orchtw.wire.objects import Object


def policy_of(obj: Object) -> Policy:
    """Compile a stored policy of either kind."""
    spec: Object = obj.get("spec") or {}
    kind = spec.get("paramKind")
    known = known_variables(params=kind is not None)
    composition = Composition(known, MUTATIONS if "mutations" in spec else STORED)
    for each in spec.get("variables") or ():
        composition.define(each.get("name", ""), each.get("expression", ""))
    conditions = conditions_of(spec.get("matchConditions") or (), params=kind is not None)
    validations = tuple(_validation(each, composition) for each in spec.get("validations") or ())
    annotations = tuple(
        Annotation(each["key"], composition.check(each["valueExpression"], ANNOTATION))
        for each in spec.get("auditAnnotations") or ()
    )
    mutations = tuple(_mutation(each, composition) for each in spec.get("mutations") or ())
    expressions = [
        *conditions,
        *composition.defined.values(),
        *(part for each in validations for part in (each.rule, each.shown) if part is not None),
        *(each.value for each in annotations),
        *(each.change for each in mutations),
    ]
    constraints, broken = constraints_or_why(spec.get("matchConstraints"))
    names = names_of(expressions)
    return Policy(
        name=obj["metadata"]["name"],
        constraints=constraints,
        kind=None if kind is None else (kind.get("apiVersion") or "", kind.get("kind") or ""),
        patient=spec.get("failurePolicy") == "Ignore",
        again=spec.get("reinvocationPolicy") == "IfNeeded",
        broken=broken,
        conditions=conditions,
        variables=composition.defined,
        validations=validations,
        annotations=annotations,
        mutations=mutations,
        names=names,
        bare=not (broken or kind or conditions or names & {AUTHORIZED, OWN_RESOURCE}),
    )


def conditions_of(
    given: Sequence[Mapping[str, Any]], *, params: bool = False, namespace: bool = True
) -> tuple[Checked, ...]:
    """Compile match conditions, in which parameters and the namespace may be known."""
    known = known_variables(params=params, namespace=namespace)
    return tuple(checked(each.get("expression", "").strip(), known, CONDITION) for each in given)


def names_of(expressions: Sequence[Checked]) -> frozenset[str]:
    """Return the variables that any of the expressions mentions."""
    return frozenset(name for each in expressions if each.expression for name in each.expression.names)


def _validation(spec: Mapping[str, Any], composition: Composition) -> Validation:
    shown = spec.get("messageExpression") or ""
    return Validation(
        composition.check(spec.get("expression", ""), CONDITION),
        (spec.get("message") or "").strip(),
        composition.check(shown, MESSAGE, resource=False) if shown.strip() else None,
        spec.get("reason") or "",
    )


def _mutation(spec: Mapping[str, Any], composition: Composition) -> Mutation:
    kind = spec["patchType"]
    given = spec.get("applyConfiguration" if kind == "ApplyConfiguration" else "jsonPatch") or {}
    return Mutation(kind == "ApplyConfiguration", composition.check(given.get("expression", ""), RESULTS[kind]))
