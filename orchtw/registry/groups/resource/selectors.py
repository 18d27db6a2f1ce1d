"""Selectors, configuration and tolerations, in classes and in claims of devices (reference KIND-94)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import orjson

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.values import utf8
from orchtw.values.causes import forbidden, invalid, not_supported, required, too_long, too_many
from orchtw.wire.objects import Object

MAX_SELECTORS: Final = 32
MAX_CONFIGURATIONS: Final = 32
LONGEST_PARAMETERS: Final = 10 * 1024
"""Limit of the parameters or data of a driver, in bytes of JSON."""
Check = Callable[[str], tuple[str, bool]]
"""Compiles an expression: returns why it cannot select devices, or "", and whether it may cost too much."""

_LONGEST_EXPRESSION: Final = 10 * 1024
_OPERATORS: Final = ("Equal", "Exists")
_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")


def selector_causes(selectors: Sequence[Object], path: str, check: Check) -> list[Cause]:
    """Return the causes that reject selectors; `check` compiles their expressions."""
    causes = [too_many(path, len(selectors), MAX_SELECTORS)] if len(selectors) > MAX_SELECTORS else []
    for index, selector in enumerate(selectors):
        place, cel = f"{path}[{index}].cel", selector.get("cel")
        if cel is None:
            causes.append(required(place))
        elif not (expression := cel.get("expression", "")):
            causes.append(required(f"{place}.expression"))
        elif utf8.size(expression) > _LONGEST_EXPRESSION:
            causes.append(too_long(f"{place}.expression", _LONGEST_EXPRESSION))
        else:
            causes += _expression_causes(expression, f"{place}.expression", check)
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _expression_causes(expression: str, path: str, check: Check) -> list[Cause]:
    fault, costly = check(expression)
    if fault:
        return [invalid(path, expression, fault)]
    return [forbidden(path, "too complex, exceeds cost limit")] if costly else []


def configuration_causes(
    configurations: Sequence[Object], path: str, limit: int | None = MAX_CONFIGURATIONS
) -> list[Cause]:
    """Return the causes that reject configurations of devices; `limit` None: their number is checked elsewhere."""
    count = len(configurations)
    causes = [too_many(path, count, limit)] if limit is not None and count > limit else []
    for index, configuration in enumerate(configurations):
        place, opaque = f"{path}[{index}].opaque", configuration.get("opaque")
        if opaque is None:
            causes.append(required(place))
        else:
            causes += _parameter_causes(opaque.get("parameters"), f"{place}.parameters")
        if len(causes) > MAX_CAUSES:
            break
    return causes


def _parameter_causes(parameters: Any, path: str) -> list[Cause]:
    if parameters is None:
        return [required(path)]
    if not isinstance(parameters, dict):
        return [invalid(path, "<value omitted>", "must be a valid JSON object")]
    size = len(orjson.dumps(parameters))
    return [too_long(path, LONGEST_PARAMETERS)] if size > LONGEST_PARAMETERS else []


def toleration_causes(tolerations: Sequence[Object], path: str) -> list[Cause]:
    """Return the causes that reject tolerations of taints."""
    causes = []
    for index, toleration in enumerate(tolerations):
        place, operator = f"{path}[{index}]", toleration.get("operator", "")
        if operator not in _OPERATORS:
            causes.append(not_supported(f"{place}.operator", operator, _OPERATORS))
        elif operator == "Exists" and toleration.get("value"):
            text = "must be empty for operator `Exists`"
            causes.append(invalid(f"{place}.value", toleration["value"], text))
        elif operator == "Equal" and not toleration.get("key"):
            causes.append(required(f"{place}.key"))
        if (effect := toleration.get("effect")) and effect not in _EFFECTS:
            causes.append(not_supported(f"{place}.effect", effect, _EFFECTS))
        if len(causes) > MAX_CAUSES:
            break
    return causes
