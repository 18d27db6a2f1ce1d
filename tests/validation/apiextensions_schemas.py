"""Examples of what the schemas of custom resource definitions may say (reference CRD-1)."""

from __future__ import annotations

from tests.validation.case import Examples
from tests.validation.definitions import (
    EITHER,
    EMBEDDED,
    KEYED,
    OPEN,
    PARTS,
    SCHEMA,
    STATUS,
    member,
    refused,
    refused_elements,
    refused_rule,
    root,
    ruled,
)
from tests.validation.examples import (
    Accepted,
    Refused,
    Shown,
)

WRITES = "tests.validation.test_definitions"
NESTED = "self.all(a, self.all(b, true))"
TEN_MILLION = {"type": "array", "maxItems": 1824, "items": {"type": "integer"}}
TOO_MUCH = (
    "x-orch-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of 1.1[0-9]+x"
)

SCHEMAS: Examples = {
    54: Refused(
        change={**root(maxProperties=3), STATUS: {}},
        accepts={**root(description="x", required=["a"], **OPEN), STATUS: {}},
    ),
    55: Refused(change=root(nullable=True), accepts=member({"type": "object", "nullable": True})),
    56: [refused({"type": "text"}, ".type"), Shown(f"{WRITES}.OlderTests.test_types")],
    57: refused({"type": "null"}, ".type"),
    58: refused({"type": "string", "id": "x"}, ".id"),
    59: refused({"type": "array", "items": {"type": "string"}, "additionalItems": True}, ".additionalItems"),
    60: refused({"type": "object", "patternProperties": {"b": {"type": "string"}}}, ".patternProperties"),
    61: refused({"type": "object", "definitions": {"b": {"type": "string"}}}, ".definitions"),
    62: refused({"type": "object", "dependencies": {"b": ["c"]}}, ".dependencies"),
    63: refused({"type": "object", "$ref": "#/a"}, ".$ref"),
    64: refused({"type": "array", "items": [{"type": "string"}]}, ".items"),
    65: refused_elements({"type": "string"}, ".uniqueItems", uniqueItems=True),
    66: refused(
        {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": {"type": "string"}},
        ".additionalProperties",
        {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": True},
    ),
    67: [
        Refused(
            change=root(properties={key: {"type": kind, "default": value}}),
            field=f"{SCHEMA}.properties[{key}].default",
            detail=f"must not be set in top-level {key}",
        )
        for key, kind, value in (
            ("metadata", "object", {}),
            ("kind", "string", "x"),
            ("apiVersion", "string", "x"),
        )
    ],
    68: refused(
        {
            **EMBEDDED,
            "properties": {
                "metadata": {
                    "type": "object",
                    "properties": {
                        "labels": {"type": "object", "additionalProperties": {"type": "string", "default": "x"}}
                    },
                }
            },
        },
        ".properties[metadata].properties[labels].additionalProperties.default",
    ),
    69: [
        refused(
            {"type": "integer", "default": 3, "maximum": 2},
            ".default",
            {"type": "integer", "default": 3},
            "should be less than or equal to 2",
        ),
        refused(
            {"type": "object", "default": {"b": "x"}, "properties": {"b": {"type": "string", "minLength": 2}}},
            ".default.b",
            None,
            "should be at least 2 chars long",
        ),
        Shown(f"{WRITES}.DefaultsTests.test_refused"),
    ],
    70: [
        refused(
            {"type": "object", "default": {"b": 1}}, ".default", {"type": "object", "default": {"b": 1}, **OPEN}
        ),
        refused_elements(
            {"type": "object", "properties": {"b": {"type": "object", "default": {"c": 1}}}},
            ".items.properties[b].default",
        ),
        Shown(f"{WRITES}.OlderTests.test_unpruned"),
    ],
    71: [
        refused(
            {
                **EMBEDDED,
                "properties": {"metadata": {"type": "object", **OPEN, "default": {"labels": {"a": "$"}}}},
            },
            ".properties[metadata].default",
            {
                **EMBEDDED,
                "properties": {"metadata": {"type": "object", **OPEN, "default": {"labels": {"a": "b"}}}},
            },
        ),
        refused(
            {
                **EMBEDDED,
                "properties": {
                    "metadata": {
                        "type": "object",
                        "properties": {
                            "finalizers": {"type": "array", "items": {"type": "string"}, "default": {"a": 1}}
                        },
                    }
                },
            },
            ".properties[metadata].properties[finalizers].default",
        ),
    ],
    72: refused(
        {**EMBEDDED, "properties": {"metadata": {"type": "object", "properties": {"b": {**EMBEDDED, **OPEN}}}}},
        ".properties[metadata].properties[b].x-orch-embedded-resource",
    ),
    73: refused(
        {"type": "object", "x-orch-preserve-unknown-fields": False},
        ".x-orch-preserve-unknown-fields",
        {"type": "object", **OPEN},
    ),
    74: [
        refused({"type": "array", "items": {"type": "string"}, "x-orch-map-type": "atomic"}, ".type"),
        Accepted(change=member({"type": "object", "x-orch-map-type": "granular"})),
    ],
    75: refused({"type": "object", "x-orch-map-type": "set"}, ".x-orch-map-type"),
    76: refused({"type": "object", "x-orch-list-type": "atomic"}, ".type"),
    77: refused_elements({"type": "string"}, ".x-orch-list-type", **{"x-orch-list-type": "bag"}),
    78: [
        refused_elements(
            {"type": "array", "items": {"type": "string"}, "x-orch-list-type": "set"},
            ".items.x-orch-list-type",
            {"type": "array", "items": {"type": "string"}},
            **{"x-orch-list-type": "set"},
        ),
        Shown(f"{WRITES}.OlderTests.test_sets"),
    ],
    79: refused_elements(
        {"type": "object"},
        ".items.x-orch-map-type",
        {"type": "object", "x-orch-map-type": "atomic"},
        **{"x-orch-list-type": "set"},
    ),
    80: [
        refused_elements(PARTS, ".x-orch-list-type", **{**KEYED, "x-orch-list-type": "set"}),
    ],
    81: refused_elements(PARTS, ".x-orch-list-map-keys", **{"x-orch-list-type": "map"}),
    82: refused({"type": "array", **KEYED}, ".items"),
    83: refused_elements({"type": "string"}, ".items.type", PARTS, **KEYED),
    84: refused_elements({"type": "object"}, ".x-orch-list-map-keys", **KEYED),
    85: refused_elements(
        {"type": "object", "required": ["k"], "properties": {"k": {"type": "object"}}},
        ".items.properties[k].type",
        **KEYED,
    ),
    86: refused_elements(PARTS, ".x-orch-list-map-keys", **{**KEYED, "x-orch-list-map-keys": ["k", "k"]}),
    87: refused_elements({**PARTS, "nullable": True}, ".items.nullable", **KEYED),
    88: [
        refused_elements(
            {"type": "object", "properties": {"k": {"type": "string"}}},
            ".items.properties[k].default",
            {"type": "object", "properties": {"k": {"type": "string", "default": "x"}}},
            **KEYED,
        ),
        Shown(f"{WRITES}.OlderTests.test_keys"),
    ],
    89: refused_elements(
        {**PARTS, "properties": {"k": {"type": "string", "nullable": True}}},
        ".items.properties[k].nullable",
        **KEYED,
    ),
    90: refused_rule(" ", "rule", "self > 1"),
    91: refused_rule({"rule": "true", "message": " "}, "message", {"rule": "true", "message": " a "}),
    92: refused_rule({"rule": "true", "message": "a\nb"}, "message", {"rule": "true", "message": "a\n"}),
    93: refused_rule("self > 1 &&\nself < 5", "message", {"rule": "self > 1 &&\nself < 5", "message": "a"}),
    94: [
        refused_rule("self > ", "rule", "self > 1", "compilation failed: ERROR: <input>:1:8: Syntax error: "),
        refused_rule("self > 'a'", "rule", "self > 1", "found no matching overload for '_>_' applied to "),
        refused_rule("self.a", "rule", "self == 1", "type 'int' does not support field selection"),
        refused_rule("other", "rule", "self == 1", "undeclared reference to 'other'"),
        refused_rule("self + 1", "rule", "self == 1", "cel expression must evaluate to a bool"),
        Refused(
            change=root(**ruled({}, "self.spec.b")),
            detail=r'Invalid value: apiextensions.ValidationRule\{Rule:"self.spec.b", Message:""\}: compilation '
            r"failed: ERROR: <input>:1:5: undefined field 'spec'\n \| self.spec.b\n \| \.\.\.\.\^",
        ),
    ],
    95: [
        refused(
            {"type": "array", "items": {"type": "array", "items": ruled({"type": "integer"}, "self == oldSelf")}},
            ".items.items.x-orch-validations[0].rule",
            {"type": "array", "items": ruled({"type": "integer"}, "self == 1")},
            r"oldSelf cannot be used on the uncorrelatable portion of the schema within .*properties\[a\]$",
        ),
        refused(
            {"type": "array", "items": ruled(PARTS, "self == oldSelf")},
            ".items.x-orch-validations[0].rule",
            {"type": "array", "items": ruled(PARTS, "self == oldSelf"), **KEYED},
        ),
        refused(
            {"type": "array", "items": ruled({"type": "integer"}, "self == oldSelf")},
            ".items.x-orch-validations[0].rule",
            {"type": "object", "x-orch-map-type": "atomic", "properties": {"b": ruled(PARTS, "self == oldSelf")}},
        ),
    ],
    96: [
        refused(
            ruled({"type": "array", "maxItems": 3000, "items": {"type": "integer"}}, NESTED),
            ".x-orch-validations[0].rule",
            ruled({"type": "array", "maxItems": 300, "items": {"type": "integer"}}, NESTED),
            r"estimated rule cost exceeds budget by factor of 2\.7x \(try simplifying the rule",
        ),
        refused(
            ruled({"type": "array", "items": {"type": "integer"}}, NESTED),
            ".x-orch-validations[0].rule",
            ruled({"type": "array", "items": {"type": "object"}}, "self.all(a, a == a)"),
            "by factor of more than 100x",
        ),
        refused(
            {"type": "array", "items": ruled(TEN_MILLION, "self.all(a, a > 0)")},
            ".items.x-orch-validations[0].rule",
            {"type": "array", "items": ruled({"type": "string"}, "self != ''")},
            "by factor of more than 100x",
        ),
    ],
    97: [
        Refused(change=member(ruled(TEN_MILLION, *[NESTED] * 12)), field=SCHEMA, detail=TOO_MUCH),
        Refused(
            change=member(ruled(TEN_MILLION, *[NESTED] * 12)),
            field=f"{SCHEMA}.properties[a].x-orch-validations[3].rule",
            detail="contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
            accepts=member(ruled(TEN_MILLION, *[NESTED] * 9)),
        ),
    ],
    98: [
        Shown(f"{WRITES}.OlderTests.test_structure"),
        Accepted(change=member({"description": "anything", **OPEN})),
    ],
    99: Refused(change={SCHEMA: {"description": "x"}}),
    100: Refused(change={SCHEMA: {"type": "string"}}),
    101: refused_elements({"description": "x"}, ".items.type", {"x-orch-int-or-string": True}),
    102: refused({"description": "x"}, ".type", {"x-orch-int-or-string": True, "anyOf": EITHER}),
    103: refused({"type": "array"}, ".items"),
    104: Refused(
        change=root(additionalProperties={"type": "string"}),
        accepts=member({"type": "object", "additionalProperties": {"type": "string"}}),
    ),
    105: refused({**EMBEDDED, **OPEN, "type": "string"}, ".type", {**EMBEDDED, **OPEN}),
    106: refused({**EMBEDDED, **OPEN, "additionalProperties": {"type": "string"}}, ".additionalProperties"),
    107: refused(EMBEDDED, ".properties", {**EMBEDDED, "properties": {"spec": {"type": "object"}}}),
    108: refused({"x-orch-int-or-string": True, **OPEN}, ".x-orch-preserve-unknown-fields"),
    109: refused({"x-orch-int-or-string": True, **EMBEDDED}, ".x-orch-embedded-resource"),
    110: [
        Refused(change=root(properties={"kind": {"type": "integer"}})),
        refused({**EMBEDDED, "properties": {"kind": {"type": "object"}}}, ".properties[kind].type"),
    ],
    111: Refused(change=root(properties={"apiVersion": {"type": "integer"}})),
    112: Refused(change=root(properties={"metadata": {"type": "string"}})),
    113: Refused(
        change=root(properties={"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}),
        accepts=root(properties={"metadata": {"type": "object", "properties": {"name": {"type": "string"}}}}),
    ),
    114: [
        *(
            refused({"type": "string", key: [{place: value}]}, f".{key}[0].{place}")
            for key in ("allOf", "anyOf", "oneOf")
            for place, value in (
                ("type", "string"),
                ("default", "x"),
                ("title", "x"),
                ("description", "x"),
                ("x-orch-list-map-keys", ["a"]),
                ("x-orch-list-type", "set"),
                ("x-orch-map-type", "atomic"),
            )
        ),
        refused({"type": "string", "not": {"additionalProperties": True}}, ".not.additionalProperties"),
        *(
            refused({"type": "string", "not": {place: True}}, f".not.{place}", None, "must be false to be")
            for place in (
                "nullable",
                "x-orch-embedded-resource",
                "x-orch-int-or-string",
                "x-orch-preserve-unknown-fields",
            )
        ),
        refused(
            {"x-orch-int-or-string": True, "anyOf": [*EITHER, {"maximum": 1, "type": "integer"}]},
            ".anyOf[2].type",
        ),
        Accepted(change=member({"x-orch-int-or-string": True, "anyOf": EITHER})),
        Accepted(change=member({"x-orch-int-or-string": True, "allOf": [{"anyOf": EITHER}, {"maximum": 3}]})),
    ],
    115: Refused(
        change=root(anyOf=[{"properties": {"b": {"maximum": 3}}}]),
        accepts=root(anyOf=[{"properties": {"b": {"maximum": 3}}}], properties={"b": {"type": "integer"}}),
        field=f"{SCHEMA}.properties[b]",
        detail=r"because it is defined in .*\.openAPIV3Schema\.anyOf\[0\]\.properties\[b\]$",
    ),
    116: Refused(
        change=root(anyOf=[{"properties": {"metadata": {"required": ["a"]}}}]),
        field=f"{SCHEMA}.anyOf[0].properties[metadata]",
    ),
    117: refused({"type": "string", "pattern": "(?=a)"}, ".pattern", {"type": "string", "pattern": "^(?i)a+$"}),
}
