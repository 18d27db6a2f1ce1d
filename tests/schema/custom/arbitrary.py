"""Random structural schemas, and values that nearly fit them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

KEYS = ("a", "b", "c", "d")
keys = st.sampled_from(KEYS)
texts = st.sampled_from(("", "a", "ab", "abc", "é", "b\n"))
integers = st.integers(-4, 6) | st.sampled_from((2**63, -(2**63), 2**62))
numbers = integers | st.sampled_from((0.5, 1.0, -2.0, 1e300))
scalars = st.none() | st.booleans() | texts | numbers
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=6
)

TEXT_RULES: dict[str, Any] = {
    "minLength": st.integers(0, 2), "maxLength": st.integers(0, 3),
    "pattern": st.sampled_from(("^a", "b", "^[a-c]*$")),
}  # fmt: skip
NUMBER_RULES: dict[str, Any] = {
    "minimum": st.integers(-3, 3), "maximum": st.integers(-3, 5), "multipleOf": st.sampled_from((1, 2, 0.5)),
    "exclusiveMinimum": st.booleans(), "exclusiveMaximum": st.booleans(),
}  # fmt: skip
LIST_RULES: dict[str, Any] = {
    "minItems": st.integers(0, 1), "maxItems": st.integers(0, 3), "uniqueItems": st.booleans(),
}  # fmt: skip
OBJECT_RULES: dict[str, Any] = {
    "required": st.lists(keys, max_size=2, unique=True), "minProperties": st.integers(0, 1),
    "maxProperties": st.integers(0, 3),
}  # fmt: skip
RULES = {
    "string": TEXT_RULES, "integer": NUMBER_RULES, "number": NUMBER_RULES, "boolean": {}, "array": LIST_RULES,
    "object": OBJECT_RULES,
}  # fmt: skip
ALL_RULES = {key: rule for rules in RULES.values() for key, rule in rules.items()}


@st.composite
def some(draw: st.DrawFn, rules: dict[str, Any], most: int = 2) -> dict[str, Any]:
    """Draw up to `most` of the rules, each with a value."""
    if not rules:
        return {}
    chosen = draw(st.lists(st.sampled_from(sorted(rules)), max_size=most, unique=True))
    return {key: draw(rules[key]) for key in chosen}


@st.composite
def conditions(draw: st.DrawFn, depth: int = 1) -> dict[str, Any]:
    """A schema of a condition: any rules, without a type."""
    schema = draw(some(ALL_RULES))
    if draw(st.booleans()):
        schema["enum"] = draw(st.lists(values, min_size=1, max_size=3))
    if depth and draw(st.booleans()):
        schema |= draw(juncts(depth - 1))
    return schema


@st.composite
def juncts(draw: st.DrawFn, depth: int = 1) -> dict[str, Any]:
    """One of allOf, anyOf, oneOf and not."""
    key = draw(st.sampled_from(("allOf", "anyOf", "oneOf", "not")))
    inner = conditions(depth)
    return {key: draw(inner if key == "not" else st.lists(inner, min_size=1, max_size=3))}


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    """A structural schema with defaults that fit its type, perhaps nothing else of it."""
    kinds = ["string", "integer", "number", "boolean", "either", "any"] + ["array", "object"] * (2 if depth else 0)
    kind = draw(st.sampled_from(kinds))
    schema: dict[str, Any]
    if kind == "either":
        schema = {"x-orch-int-or-string": True, **draw(some(TEXT_RULES | NUMBER_RULES))}
    elif kind == "any":
        schema = {"x-orch-preserve-unknown-fields": True}
    else:
        schema = {"type": kind, **draw(some(RULES[kind]))}
        if kind == "array":
            schema |= draw(lists(depth - 1))
        elif kind == "object":
            schema |= draw(objects(depth - 1))
    if draw(st.integers(0, 4)) == 0:
        schema |= draw(juncts())
    if draw(st.integers(0, 4)) == 0:
        schema["enum"] = draw(st.lists(values, min_size=1, max_size=4))
    if draw(st.integers(0, 3)) == 0:
        schema["nullable"] = True
    if draw(st.integers(0, 2)) == 0 and (default := DEFAULTS.get(kind)) is not None:
        schema["default"] = draw(default)
    return schema


DEFAULTS = {"string": texts, "integer": st.integers(-4, 6), "boolean": st.booleans(), "object": st.just({})}


@st.composite
def lists(draw: st.DrawFn, depth: int) -> dict[str, Any]:
    """Draw the schema of an array's elements."""
    kind = draw(st.sampled_from(("", "", "atomic", "set", "map")))
    if kind != "map":
        return {"items": draw(schemas(depth)), **({"x-orch-list-type": kind} if kind else {})}
    members = draw(st.dictionaries(keys, schemas(0), max_size=2)) | {"a": {"type": "string"}}
    item = {"type": "object", "properties": members}
    return {"items": item, "x-orch-list-type": "map", "x-orch-list-map-keys": ["a", *sorted(members)[1:2]]}


@st.composite
def objects(draw: st.DrawFn, depth: int) -> dict[str, Any]:
    """Draw the schema of an object's members."""
    if draw(st.integers(0, 3)) == 0:
        return {"additionalProperties": draw(schemas(depth))}
    schema = {"properties": draw(st.dictionaries(keys, schemas(depth), max_size=4))}
    return schema | ({"x-orch-preserve-unknown-fields": True} if draw(st.integers(0, 3)) == 0 else {})


FORMATS = ("date", "ipv4", "date-time", "quantity")
DATES = st.sampled_from(("2026-01-01", "2026-13-01", "10.0.0.1", "2026-01-01T00:00:00Z"))
SCALAR_KINDS = (None, "string", "integer")


@st.composite
def spiced(draw: st.DrawFn, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with keywords that `schemas` leaves out: formats, embedded objects, closed ones."""
    found = dict(schema)
    kind, nested = found.get("type"), not {"type", "x-orch-int-or-string"}.intersection(found)
    if kind in SCALAR_KINDS and draw(st.booleans()):
        found["format"] = draw(st.sampled_from(FORMATS))
    if kind == "object" and not found.get("properties"):
        found["additionalProperties"] = draw(st.sampled_from((False, True, found.get("additionalProperties", True))))
    elif kind == "object" and draw(st.booleans()):
        found["x-orch-embedded-resource"] = True
    elif nested and draw(st.integers(0, 3)) == 0:
        found |= {"properties": {draw(keys): draw(conditions(0))}, "items": draw(conditions(0))}
    for key in ("items", "additionalProperties", "not"):
        if isinstance(found.get(key), dict):
            found[key] = draw(spiced(found[key]))
    for key in ("allOf", "anyOf", "oneOf"):
        if key in found:
            found[key] = [draw(spiced(each)) for each in found[key]]
    if "properties" in found:
        found["properties"] = {name: draw(spiced(each)) for name, each in found["properties"].items()}
    return found


RESOURCE: dict[str, st.SearchStrategy[Any]] = {
    "apiVersion": st.sampled_from(("v1", "a/v1", "a/b/c", "", 5)),
    "kind": st.sampled_from(("Widget", "_", "")),
    "metadata": st.sampled_from(({"name": "w"}, {"labels": {"_": "-"}}, {"annotations": {"a": "b"}}, 5)),
}


@st.composite
def fitting(draw: st.DrawFn, schema: dict[str, Any]) -> Any:
    """A value of the schema's types, which mostly has more members than it knows; at times anything."""
    if draw(st.integers(0, 14)) == 0:
        return draw(values)
    if schema.get("enum") and draw(st.booleans()):
        return draw(st.sampled_from(schema["enum"]))
    if schema.get("x-orch-int-or-string"):
        return draw(texts | integers)
    match schema.get("type"):
        case "string":
            return draw(DATES | texts if "format" in schema else texts)
        case "boolean":
            return draw(st.booleans())
        case "integer":
            return draw(integers)
        case "number":
            return draw(numbers)
        case "array":
            return draw(st.lists(fitting(schema["items"]), max_size=3))
        case "object":
            members = schema.get("properties", {})
            more = schema.get("additionalProperties")
            names = draw(st.lists(keys, max_size=4, unique=True))
            own = draw(st.fixed_dictionaries({}, optional=RESOURCE)) if "x-orch-embedded-resource" in schema else {}
            return own | {name: draw(_member(members.get(name, more))) for name in names}
    return draw(values)


def _member(schema: dict[str, Any] | bool | None) -> st.SearchStrategy[Any]:
    return fitting(schema) if isinstance(schema, dict) else values
