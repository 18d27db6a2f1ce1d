"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy: their rules (reference POLICY-3, POLICY-4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
import msgspec

from orchtw.config.releases import Release
from orchtw.errors import MAX_CAUSES, Cause
from orchtw.registry.expression_strategy import ExpressionStrategy
from orchtw.registry.groups.admissionregistration.expressions import (
    LONGEST_VALUE,
    MOST_ANNOTATIONS,
    annotation_key_causes,
    condition_causes,
    expression_causes,
    sources,
    variable_name_causes,
)
from orchtw.registry.groups.admissionregistration.match_resources import match_causes, param_kind_causes
from orchtw.registry.kind import KindRecord
from orchtw.registry.traits import SPEC
from orchtw.schema.tables import cells_cluster
from orchtw.values.causes import duplicate, invalid, not_supported, required
from orchtw.wire.objects import Object

_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")
_AT_LEAST_ONE: Final = "validations or auditAnnotations must contain at least one item"
_LISTS: Final = ("matchConditions", "variables", "validations", "auditAnnotations", "mutations")
_REINVOCATIONS: Final = ("IfNeeded", "Never")
_PATCH_FIELDS: Final = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}


def validate_validating_policy(new: Object, old: Object | None, release: Release) -> list[Cause]:
    """Validate constraints, conditions, variables, validations and audit annotations."""
    spec: Object = new.get("spec") or {}
    if old is not None and old.get("spec") == spec:
        return []
    causes, composition = _shared_causes(spec, old, release)
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        paths = ("spec.validations", "spec.auditAnnotations")
        return causes + [required(path, _AT_LEAST_ONE) for path in paths]
    for index, each in enumerate(validations):
        if len(causes) > MAX_CAUSES:
            return causes
        causes += _validation_causes(each, composition, f"spec.validations[{index}]")
    return causes + _annotations_causes(new["metadata"].get("name", ""), annotations, composition)


def validate_mutating_policy(new: Object, old: Object | None, release: Release) -> list[Cause]:
    """Validate constraints, conditions, variables, mutations and the reinvocation policy."""
    spec: Object = new.get("spec") or {}
    if old is not None and old.get("spec") == spec:
        return []
    causes, composition = _shared_causes(spec, old, release, mutating=True)
    mutations = spec.get("mutations") or ()
    if not mutations:
        causes.append(required("spec.mutations", "mutations must contain at least one item"))
    for index, each in enumerate(mutations):
        if len(causes) > MAX_CAUSES:
            return causes
        causes += _mutation_causes(each, composition, f"spec.mutations[{index}]")
    reinvocation = spec.get("reinvocationPolicy")
    if not reinvocation:
        causes.append(required("spec.reinvocationPolicy"))
    elif reinvocation not in _REINVOCATIONS:
        causes.append(not_supported("spec.reinvocationPolicy", reinvocation, _REINVOCATIONS))
    return causes


def _shared_causes(
    spec: Object, old: Object | None, release: Release, *, mutating: bool = False
) -> tuple[list[Cause], Any]:
    """Validate what both kinds have, and return the variables for their own expressions."""
    from orchtw.schema.cel.admission import CONDITION, STORED, Composition, checked, known_variables
    from orchtw.schema.cel.mutations import MUTATIONS

    before: Object = (old or {}).get("spec") or {}
    stored = sources(each for key in _LISTS for each in before.get(key) or ())
    language = msgspec.structs.replace(MUTATIONS if mutating else STORED, release=release, stored=stored)
    causes: list[Cause] = []
    kind, match = spec.get("paramKind"), spec.get("matchConstraints")
    if kind is not None:
        causes += param_kind_causes(kind, "spec.paramKind")
    if match is None:
        causes.append(required("spec.matchConstraints"))
    else:
        causes += match_causes(match, "spec.matchConstraints")
        if not match.get("resourceRules"):
            causes.append(required("spec.matchConstraints.resourceRules"))
    known = known_variables(params=kind is not None)
    causes += condition_causes(
        spec.get("matchConditions") or (),
        lambda source: checked(source, known, CONDITION, language),
        "spec.matchConditions",
    )
    composition = Composition(known, language)
    for index, each in enumerate(spec.get("variables") or ()):
        if len(causes) > MAX_CAUSES:
            break
        causes += _variable_causes(each, composition, f"spec.variables[{index}]")
    return causes, composition


def _variable_causes(variable: Mapping[str, Any], composition: Any, path: str) -> list[Cause]:
    name, source = variable.get("name", ""), variable.get("expression", "")
    causes = variable_name_causes(name, f"{path}.name")
    if name in composition.defined:
        causes.append(duplicate(f"{path}.name", name))
    if not source.strip():
        return [*causes, required(f"{path}.expression", "expression is not specified")]
    return causes + expression_causes(f"{path}.expression", source, composition.define(name, source).fault)


def _validation_causes(validation: Mapping[str, Any], composition: Any, path: str) -> list[Cause]:
    from orchtw.schema.cel.admission import CONDITION, MESSAGE

    source, message = validation.get("expression", ""), validation.get("message") or ""
    causes = []
    if not source.strip():
        causes.append(required(f"{path}.expression", "expression is not specified"))
    else:
        causes += expression_causes(f"{path}.expression", source, composition.check(source, CONDITION).fault)
    shown = validation.get("messageExpression") or ""
    if shown and not shown.strip():
        causes.append(invalid(f"{path}.messageExpression", shown, "must be non-empty if specified"))
    elif shown:
        fault = composition.check(shown, MESSAGE, resource=False).fault
        causes += expression_causes(f"{path}.messageExpression", shown, fault)
    if message and not message.strip():
        causes.append(invalid(f"{path}.message", message, "message must be non-empty if specified"))
    elif "\n" in message.strip():
        causes.append(invalid(f"{path}.message", message, "message must not contain line breaks"))
    elif not message and "\n" in source.strip():
        text = "message must be specified if expression contains line breaks"
        causes.append(required(f"{path}.message", text))
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        causes.append(not_supported(f"{path}.reason", reason, _REASONS))
    return causes


def _annotations_causes(policy: str, annotations: Any, composition: Any) -> list[Cause]:
    from orchtw.schema.cel.admission import ANNOTATION

    path = "spec.auditAnnotations"
    causes = []
    if len(annotations) > MOST_ANNOTATIONS:
        text = f"must not have more than {MOST_ANNOTATIONS} auditAnnotations"
        causes.append(invalid(path, list(annotations), text))
    seen: set[str] = set()
    for index, each in enumerate(annotations):
        if len(causes) > MAX_CAUSES:
            break
        key, source = each.get("key", ""), each.get("valueExpression", "")
        at = f"{path}[{index}]"
        causes += annotation_key_causes(policy, key, f"{at}.key")
        value = f"{at}.valueExpression"
        if not source.strip():
            causes.append(required(value, "valueExpression is not specified"))
        elif len(source.strip().encode()) > LONGEST_VALUE:
            causes.append(required(value, f"must not exceed {LONGEST_VALUE} bytes in length"))
        else:
            causes += expression_causes(value, source, composition.check(source, ANNOTATION).fault)
        if key in seen:
            causes.append(duplicate(f"{at}.key", key))
        seen.add(key)
    return causes


def _mutation_causes(mutation: Mapping[str, Any], composition: Any, path: str) -> list[Cause]:
    from orchtw.schema.cel.mutations import RESULTS

    kind = mutation.get("patchType") or ""
    if not kind:
        return [required(f"{path}.patchType")]
    if kind not in _PATCH_FIELDS:
        return [not_supported(f"{path}.patchType", kind, sorted(_PATCH_FIELDS))]
    causes = []
    for of, key in _PATCH_FIELDS.items():
        at, given = f"{path}.{key}", mutation.get(key)
        if of != kind:
            if given is not None:
                text = f"must not be specified when patchType is {kind}"
                causes.append(invalid(at, f"{{{key}}}", text))
        elif given is None:
            causes.append(required(at, f"must be specified when patchType is {kind}"))
        elif not (source := given.get("expression") or "").strip():
            causes.append(required(f"{at}.expression", "expression is not specified"))
        else:
            causes += expression_causes(f"{at}.expression", source, composition.check(source, RESULTS[kind]).fault)
    return causes


class ValidatingPolicyStrategy(ExpressionStrategy):
    """Strategy of validating policies."""

    def validate_own(self, obj: Object, old: Object | None) -> list[Cause]:
        return validate_validating_policy(obj, old, self.release)


class MutatingPolicyStrategy(ExpressionStrategy):
    """Strategy of mutating policies."""

    def validate_own(self, obj: Object, old: Object | None) -> list[Cause]:
        return validate_mutating_policy(obj, old, self.release)


VALIDATING_ADMISSION_POLICY = KindRecord(
    group="admissionregistration.orch.io",
    kind="ValidatingAdmissionPolicy",
    generation=SPEC,
    unconditional_update=False,
    status_ignores=("spec",),
    cells=cells_cluster.admission_policy,
    strategy=ValidatingPolicyStrategy,
)
MUTATING_ADMISSION_POLICY = attrs.evolve(
    VALIDATING_ADMISSION_POLICY, kind="MutatingAdmissionPolicy", strategy=MutatingPolicyStrategy
)
