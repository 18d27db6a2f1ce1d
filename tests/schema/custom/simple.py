"""The plainest reading of structural schemas: whether a value that has its shape is valid, and nothing else."""

from __future__ import annotations

import math
import re
from typing import Any

TYPES = {"string": str, "boolean": bool, "array": list, "object": dict}


def valid(value: Any, schema: dict[str, Any]) -> bool:
    """Report whether the value is valid, ignoring formats and embedded objects."""
    if value is None:
        nullable = schema.get("nullable") or ("type" not in schema and "x-orch-int-or-string" not in schema)
        return bool(nullable) and not schema.get("enum")
    return _typed(value, schema) and _ruled(value, schema) and _conditioned(value, schema)


def _typed(value: Any, schema: dict[str, Any]) -> bool:
    if schema.get("x-orch-int-or-string"):
        return type(value) is str or _is_integer(value)
    kind = schema.get("type")
    if kind == "integer":
        return _is_integer(value)
    if kind == "number":
        return type(value) in (int, float)
    return kind is None or type(value) is TYPES[kind]


def _is_integer(value: Any) -> bool:
    if type(value) is float:
        return value == math.floor(value) and abs(value) < 2**53
    return type(value) is int and -(2**63) <= value < 2**63


def _ruled(value: Any, schema: dict[str, Any]) -> bool:
    rules = []
    if schema.get("enum"):
        rules.append(any(same(value, each) for each in schema["enum"]))
    if type(value) is str:
        rules += [schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 10**9)]
        rules += [re.search(schema.get("pattern", "").replace("$", r"\Z"), value) is not None]
    elif type(value) in (int, float):
        low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        rules += [low < value if schema.get("exclusiveMinimum") else low <= value]
        rules += [value < high if schema.get("exclusiveMaximum") else value <= high]
        rules += [value % schema["multipleOf"] == 0 if "multipleOf" in schema else True]
    elif type(value) is list:
        rules += [schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 10**9)]
        rules += [valid(each, schema["items"]) for each in value if "items" in schema]
        rules += [_distinct(value, schema), not schema.get("uniqueItems") or _differ(value)]
    elif type(value) is dict:
        rules += [schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", 10**9)]
        rules += [name in value for name in schema.get("required", ())]
        members, more = schema.get("properties", {}), schema.get("additionalProperties", {})
        rules += [valid(each, members.get(name, more)) for name, each in value.items()]
    return all(rules)


def _distinct(value: list[Any], schema: dict[str, Any]) -> bool:
    kind = schema.get("x-orch-list-type")
    if kind == "map":
        keys = schema["x-orch-list-map-keys"]
        if not all(each is None or type(each) is dict for each in value):
            return False
        value = [{key: each[key] for key in keys if key in (each or {})} for each in value]
    elif kind != "set":
        return True
    return _differ(value)


def _differ(values: list[Any]) -> bool:
    return not any(same(left, right) for index, left in enumerate(values) for right in values[:index])


def _conditioned(value: Any, schema: dict[str, Any]) -> bool:
    found = {key: [valid(value, each) for each in schema.get(key, ())] for key in ("allOf", "anyOf", "oneOf")}
    return (
        all(found["allOf"])
        and (any(found["anyOf"]) or not found["anyOf"])
        and (sum(found["oneOf"]) == 1 or not found["oneOf"])
        and ("not" not in schema or not valid(value, schema["not"]))
    )


def same(left: Any, right: Any) -> bool:
    """Report whether two values are equal as JSON."""
    if (type(left) is bool) is not (type(right) is bool):
        return False
    if type(left) is dict and type(right) is dict:
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if type(left) is list and type(right) is list:
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)
