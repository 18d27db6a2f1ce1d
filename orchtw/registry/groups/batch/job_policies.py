"""Policies of a Job for failed pods, early success and replacement, and its controller (reference KIND-95)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.values.causes import duplicate, invalid, not_supported, required, too_long, too_many
from orchtw.values.names import dns_subdomain, qualified_name
from orchtw.wire.objects import Object

INDEXED: Final = "Indexed"
FAILED: Final = "Failed"
REPLACED_AT_ONCE: Final = "TerminatingOrFailed"
MANY_COMPLETIONS: Final = 100_000

_MAX_RULES: Final = 20
_MAX_EXIT_CODES: Final = 255
_MAX_PATTERNS: Final = 20
_MAX_FAILED_INDEXES: Final = 100_000
_FEW: Final = 10_000
_MAX_INDEXES_BYTES: Final = 64 * 1024
_LONGEST_MANAGER: Final = 63
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_STATUSES: Final = ("False", "True", "Unknown")
_NEEDS_INDEXES: Final = "requires indexed completion mode"
_is_index = re.compile(r"[0-9]{1,18}").fullmatch  # what is longer exceeds an int64
_is_path = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+").fullmatch
_PATH_TEXT: Final = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"


def policy_causes(spec: Object, path: str) -> list[Cause]:
    """Return the causes that reject the policies of a Job's spec."""
    causes = _index_causes(spec, path)
    if (failures := spec.get("podFailurePolicy")) is not None:
        causes += _failure_causes(spec, failures.get("rules") or [], f"{path}.podFailurePolicy.rules")
    if (success := spec.get("successPolicy")) is not None:
        if spec.get("completionMode") == INDEXED:
            causes += _success_causes(spec, success.get("rules") or [], f"{path}.successPolicy.rules")
        else:
            causes.append(invalid(f"{path}.successPolicy", success, _NEEDS_INDEXES))
    if (replacement := spec.get("podReplacementPolicy")) is not None:
        allowed = (FAILED,) if failures is not None else (FAILED, REPLACED_AT_ONCE)
        if replacement not in allowed:
            causes.append(not_supported(f"{path}.podReplacementPolicy", replacement, allowed))
    if (manager := spec.get("managedBy")) is not None:
        causes += _manager_causes(manager, f"{path}.managedBy")
    return causes


def _index_causes(spec: Object, path: str) -> list[Cause]:
    """Validate the limits of failures by index."""
    each, most = spec.get("backoffLimitPerIndex"), spec.get("maxFailedIndexes")
    if each is None and most is None:
        return []
    causes = []
    if most is not None and each is None:
        causes.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if spec.get("completionMode") != INDEXED:
        given = {"backoffLimitPerIndex": each, "maxFailedIndexes": most}
        wrong = (invalid(f"{path}.{key}", value, _NEEDS_INDEXES) for key, value in given.items() if value is not None)
        return [*causes, *wrong]
    completions, place = spec.get("completions"), f"{path}.maxFailedIndexes"
    if most is not None and completions is not None and most > completions:
        causes.append(invalid(place, most, "must be less than or equal to completions"))
    if most is not None and most > _MAX_FAILED_INDEXES:
        causes.append(invalid(place, most, f"must be less than or equal to {_MAX_FAILED_INDEXES}"))
    if each is not None and completions is not None and completions > MANY_COMPLETIONS:
        causes += _many_causes(spec, most, path)
    return causes


def _many_causes(spec: Object, most: int | None, path: str) -> list[Cause]:
    """Validate the tighter limits of a Job with many indexes."""
    above = f"above {MANY_COMPLETIONS}"
    limit = f"must be less than or equal to {_FEW} when completions are {above} and used with backoff limit per index"
    causes = []
    if (parallelism := spec.get("parallelism") or 0) > _FEW:
        causes.append(invalid(f"{path}.parallelism", parallelism, limit))
    if most is None:
        causes.append(required(f"{path}.maxFailedIndexes", f"must be specified when completions is {above}"))
    elif most > _FEW:
        causes.append(invalid(f"{path}.maxFailedIndexes", most, limit))
    return causes


def _failure_causes(spec: Object, rules: Sequence[Object], path: str) -> list[Cause]:
    causes = [too_many(path, len(rules), _MAX_RULES)] if len(rules) > _MAX_RULES else []
    pod = (spec.get("template") or {}).get("spec") or {}
    names = {each.get("name") for key in ("initContainers", "containers") for each in pod.get(key) or ()}
    per_index = spec.get("backoffLimitPerIndex") is not None
    for index, rule in enumerate(rules):
        if len(causes) > MAX_CAUSES:
            break
        causes += _failure_rule_causes(rule, f"{path}[{index}]", names, per_index=per_index)
    return causes


def _failure_rule_causes(rule: Object, path: str, names: set[Any], *, per_index: bool) -> list[Cause]:
    causes: list[Cause] = []
    action, place = rule.get("action", ""), f"{path}.action"
    if not action:
        causes.append(required(place, f"valid values: {_listed(_ACTIONS)}"))
    elif action == "FailIndex" and not per_index:
        causes.append(invalid(place, action, "requires the backoffLimitPerIndex to be set"))
    elif action not in _ACTIONS:
        causes.append(not_supported(place, action, _ACTIONS))
    codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions") or []
    if codes is not None and patterns:
        text = "specifying both OnExitCodes and OnPodConditions is not supported"
        causes.append(_without_value(path, text))
    elif codes is not None:
        causes += _exit_code_causes(codes, f"{path}.onExitCodes", names)
    elif patterns:
        causes += _condition_causes(patterns, f"{path}.onPodConditions")
    else:
        causes.append(_without_value(path, "specifying one of OnExitCodes and OnPodConditions is required"))
    return causes


def _without_value(path: str, detail: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {detail}", path)


def _exit_code_causes(codes: Object, path: str, names: set[Any]) -> list[Cause]:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    causes: list[Cause] = []
    if not operator:
        causes.append(required(f"{path}.operator", f"valid values: {_listed(_OPERATORS)}"))
    elif operator not in _OPERATORS:
        causes.append(not_supported(f"{path}.operator", operator, _OPERATORS))
    if (name := codes.get("containerName")) is not None and name not in names:
        text = "must be one of the container or initContainer names in the pod template"
        causes.append(invalid(f"{path}.containerName", name, text))
    place = f"{path}.values"
    if not values:
        return [*causes, invalid(place, values, "at least one value is required")]
    if len(values) > _MAX_EXIT_CODES:
        return [*causes, too_many(place, len(values), _MAX_EXIT_CODES)]
    seen: set[int] = set()
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            causes.append(invalid(f"{place}[{index}]", 0, "must not be 0 for the In operator"))
        if value in seen:
            causes.append(duplicate(f"{place}[{index}]", value))
        seen.add(value)
    if list(values) != sorted(values):
        causes.append(invalid(place, values, "must be ordered"))
    return causes


def _condition_causes(patterns: Sequence[Object], path: str) -> list[Cause]:
    causes = [too_many(path, len(patterns), _MAX_PATTERNS)] if len(patterns) > _MAX_PATTERNS else []
    for index, pattern in enumerate(patterns[:_MAX_PATTERNS]):
        kind, status, place = pattern.get("type", ""), pattern.get("status", ""), f"{path}[{index}]"
        causes += [invalid(f"{place}.type", kind, text) for text in qualified_name(kind)]
        if not status:
            causes.append(required(f"{place}.status", f"valid values: {_listed(_STATUSES)}"))
        elif status not in _STATUSES:
            causes.append(not_supported(f"{place}.status", status, _STATUSES))
    return causes


def _success_causes(spec: Object, rules: Sequence[Object], path: str) -> list[Cause]:
    if not rules:
        return [required(path, "at least one rules must be specified when the successPolicy is specified")]
    causes = [too_many(path, len(rules), _MAX_RULES)] if len(rules) > _MAX_RULES else []
    completions = spec.get("completions") or 0
    for index, rule in enumerate(rules[:_MAX_RULES]):
        causes += _success_rule_causes(rule, f"{path}[{index}]", completions)
    return causes


def _success_rule_causes(rule: Object, path: str, completions: int) -> list[Cause]:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        return [required(path, "at least one of succeededCount or succeededIndexes must be specified")]
    causes, total = [], 0
    if indexes is not None:
        total, error = _indexes(indexes, completions)
        if error:
            text = f"error parsing succeededIndexes: {error}"
            causes.append(invalid(f"{path}.succeededIndexes", indexes, text))
    if count is not None:
        place = f"{path}.succeededCount"
        if count <= 0:
            causes.append(invalid(place, count, "must be greater than 0"))
        if indexes is not None and not causes and count > total:
            of = "the number of indexes in the specified succeededIndexes field"
            causes.append(invalid(place, count, f"must be less than or equal to {total} ({of})"))
        if count > completions:
            of = "the number of specified completions"
            causes.append(invalid(place, count, f"must be less than or equal to {completions} ({of})"))
    return causes


def _indexes(text: str, completions: int) -> tuple[int, str]:
    """Return the number of indexes in a text such as `1,3-5`, and why it is not one; empty if it is."""
    if not text:
        return 0, ""
    if len(text) > _MAX_INDEXES_BYTES:
        return 0, f"succeededIndexes should be shorter than {_MAX_INDEXES_BYTES} bytes"
    total, last = 0, -1
    for part in text.split(","):
        ends = part.split("-")
        if len(ends) > 2:
            limit = "violates the requirement that an index interval can have at most two parts separated by '-'"
            return 0, f'the fragment "{part}" {limit}'
        for end in ends:
            if not _is_index(end):
                return 0, f'cannot convert string to integer for index: "{end}"'
            if int(end) >= completions:
                return 0, f'too large index: "{end}"'
        first, final = int(ends[0]), int(ends[-1])
        if len(ends) == 2 and first >= final:
            return 0, f"non-increasing order, previous: {first}, current: {final}"
        if last >= first:
            return 0, f"non-increasing order, previous: {last}, current: {first}"
        total, last = total + final - first + 1, final
    return total, ""


def _manager_causes(manager: str, path: str) -> list[Cause]:
    host, slash, rest = manager.partition("/")
    if not manager:
        causes = [required(path)]
    elif not slash or not host or not rest:
        causes = [invalid(path, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    else:
        causes = [invalid(path, host, text) for text in dns_subdomain(host)]
        if not _is_path(rest):
            causes.append(invalid(path, rest, _PATH_TEXT))
    return [*causes, too_long(path, _LONGEST_MANAGER)] if len(manager) > _LONGEST_MANAGER else causes


def _listed(values: Sequence[str]) -> str:
    return "[" + " ".join(f'"{each}"' for each in values) + "]"
