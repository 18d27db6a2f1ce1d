"""Scheduling terms of a pod: affinity, tolerations, topology spread (reference KIND-36)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.newer_pods import check_spread, label_key_causes
from orchtw.schema.validation.validators import Check
from orchtw.values import names
from orchtw.values.causes import duplicate, forbidden, invalid, not_supported, required
from orchtw.values.go_literals import as_number, as_text, pointer, shown, struct
from orchtw.wire.objects import Object

TOLERATION: Final = struct(
    "core.Toleration",
    Key=("key", as_text), Operator=("operator", as_text), Value=("value", as_text), Effect=("effect", as_text),
    TolerationSeconds=("tolerationSeconds", pointer("int64", as_number)),
)  # fmt: skip
"""The words of causes for a toleration."""

_CORE = "orch.io.api.core.v1."
_OPERATOR: Final = "not a valid selector operator"
_COMPARISONS: Final = ("Gt", "Lt")
_is_digits = re.compile(r"-?(0|[1-9][0-9]{0,18})").fullmatch
_INT64: Final = 1 << 63
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def check_node_term(term: Object, old: Object | None) -> list[Cause]:
    """Validate requirements on labels and fields of nodes: an operator, and as many values as it takes."""
    causes: list[Cause] = []
    for key, check in (("matchExpressions", _labels), ("matchFields", _fields)):
        for index, requirement in enumerate(term.get(key) or ()):
            if len(causes) > MAX_CAUSES:
                return causes
            causes += check(requirement, f"{key}[{index}]")
    return causes


def _labels(requirement: Object, place: str) -> list[Cause]:
    causes = []
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            causes.append(required(f"{place}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            causes.append(forbidden(f"{place}.values", text))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            causes.append(required(f"{place}.values", text))
    else:
        causes.append(invalid(f"{place}.operator", operator, _OPERATOR))
    key = requirement.get("key", "")
    return causes + [invalid(f"{place}.key", key, text) for text in names.qualified_name(key)]


def _fields(requirement: Object, place: str) -> list[Cause]:
    causes = []
    key, operator = requirement.get("key", ""), requirement.get("operator", "")
    values = requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        causes.append(invalid(f"{place}.operator", operator, _OPERATOR))
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        causes.append(required(f"{place}.values", text))
    if key != "metadata.name":
        causes.append(invalid(f"{place}.key", key, "not a valid field selector key"))
        return causes
    for index, value in enumerate(values):
        if len(causes) > MAX_CAUSES:
            break
        causes += [invalid(f"{place}.values[{index}]", value, text) for text in names.dns_subdomain(value)]
    return causes


def check_pod_term(term: Object, old: Object | None) -> list[Cause]:
    """Validate the names of the namespaces of a pod term, and the keys that are added to its selector."""
    causes: list[Cause] = []
    for namespace in term.get("namespaces") or ():
        if len(causes) > MAX_CAUSES:
            break
        causes += [invalid("namespace", namespace, text) for text in names.dns_label(namespace)]
    if "matchLabelKeys" in term or "mismatchLabelKeys" in term:
        causes += label_key_causes(term, "matchLabelKeys", "mismatchLabelKeys")
    return causes


def check_toleration(toleration: Object, old: Object | None, *, compares: bool = False) -> list[Cause]:
    """Validate that key, operator and value fit together, and so do effect and seconds.

    `compares`: numbers can be compared.
    """
    get = toleration.get
    key, operator, value, effect = get("key"), get("operator", ""), get("value", ""), get("effect", "")
    causes: list[Cause] = []
    if key:
        causes += [invalid("key", key, text) for text in names.qualified_name(key)]
    elif operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        causes.append(invalid("operator", operator, text))
    if effect != "NoExecute" and get("tolerationSeconds") is not None:
        causes.append(invalid("effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
    if operator in ("Equal", ""):
        if value and (errors := names.label_value(value)):
            causes.append(invalid("operator", value, ";".join(errors)))
    elif compares and operator in _COMPARISONS:
        if not _is_number(value):
            causes.append(invalid("value", value, f"must be an integer when `operator` is '{operator}'"))
    elif operator != "Exists":
        known = ("Equal", "Exists", *_COMPARISONS) if compares else ("Equal", "Exists")
        causes.append(not_supported("operator", operator, known))
    elif value:
        why = "value must be empty when `operator` is 'Exists'"
        causes.append(invalid("operator", shown(TOLERATION, toleration), why))
    if effect and effect not in _EFFECTS:
        causes.append(not_supported("effect", effect, _EFFECTS))
    return causes


def _is_number(text: str) -> bool:
    """Report whether a text is an int64 in its usual form."""
    return _is_digits(text) is not None and -_INT64 <= int(text) < _INT64


def spread_causes(constraints: Sequence[Object]) -> list[Cause]:
    """Return the causes for constraints with the same key and action, reported at the first of them."""
    causes: list[Cause] = []
    seen: set[tuple[Any, Any]] = set()
    for index in range(len(constraints) - 1, -1, -1):
        key, action = constraints[index].get("topologyKey"), constraints[index].get("whenUnsatisfiable")
        if (key, action) in seen:
            place = f"topologySpreadConstraints[{index}].{{topologyKey, whenUnsatisfiable}}"
            causes.append(duplicate(place, f"{{{key}, {action}}}"))
        seen.add((key, action))
    return causes[::-1][: MAX_CAUSES + 1]


def checks(naming: Naming, gates: Mapping[str, bool]) -> Mapping[str, Check]:
    """Return the checks by message name; tolerations may compare numbers."""
    return {
        _CORE + "NodeSelectorTerm": check_node_term,
        _CORE + "PodAffinityTerm": check_pod_term,
        _CORE + "Toleration": partial(check_toleration, compares=gates["TaintTolerationComparisonOperators"]),
        _CORE + "TopologySpreadConstraint": check_spread,
    }
