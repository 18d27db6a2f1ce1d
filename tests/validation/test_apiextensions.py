"""Custom resource definitions (reference CRD-1). Custom resources have tests of their own."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import MAX_CAUSES
from orchtw.naming import Naming
from orchtw.objects import Object
from orchtw.registry.groups.apiextensions.validation import validate_definition, validate_definition_status
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.nodes import StructSchema
from tests.properties import examples
from tests.registry.unchecked import without_rules
from tests.schema.arbitrary import Arbitrary
from tests.validation import case
from tests.validation.examples import (
    GONE,
    NONE,
    Accepted,
    Base,
    Changes,
    Refused,
    Shown,
    Stored,
)
from tests.validation.paths import changed
from tests.verbs.served import ServedCase

CODECS = Codecs(Catalogue.load(Naming.orch()))
WORDS = (
    "", "a", "object", "array", "string", "integer", "number", "null", "map", "set", "atomic", "granular", "metadata",
    "kind", "labels", "(?=", "^a$", "v1", "None", "Webhook", "\x00", "k" * 130,
)  # fmt: skip
DEFINITIONS = "/apis/apiextensions.orch.io/v1/customresourcedefinitions"
SCHEMA = "spec.versions[0].schema.openAPIV3Schema"
STATUS = "spec.versions[0].subresources.status"
SCALE = "spec.versions[0].subresources.scale"
COLUMN = "spec.versions[0].additionalPrinterColumns[0]"
WARNING = "spec.versions[0].deprecationWarning"
CONVERSION = "spec.conversion"
APPROVED = "metadata.annotations[api-approved.orch.io]"
DEFINITION: Object = {
    "apiVersion": "apiextensions.orch.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}},
            {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": {"type": "object"}}},
        ],
    },
}
GOOD_SCALE = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
GOOD_COLUMN = {"name": "A", "type": "string", "jsonPath": ".a"}
EITHER = [{"type": "integer"}, {"type": "string"}]
KEYED = {"x-orch-list-type": "map", "x-orch-list-map-keys": ["k"]}
PARTS = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}
EMBEDDED = {"type": "object", "x-orch-embedded-resource": True}
OPEN = {"x-orch-preserve-unknown-fields": True}
EXPRESSION = {"rule": "self.a > 0"}
ESTABLISHED = {"type": "Established", "status": "True"}


def root(**schema: Any) -> Changes:
    """A change that makes this the object's schema."""
    return {SCHEMA: {"type": "object", **schema}}


def member(schema: Any) -> Changes:
    """A change that gives the object a member `a` with this schema."""
    return root(properties={"a": schema})


def elements(items: Any, **extensions: Any) -> Changes:
    """The same with a list of these."""
    return member({"type": "array", "items": items, **extensions})


def refused(schema: Any, place: str, good: Any = None, detail: str = "") -> Refused:
    """A member with this schema is refused at `place` in it, one with the good schema is not."""
    accepts = NONE if good is None else member(good)
    return Refused(change=member(schema), accepts=accepts, field=f"{SCHEMA}.properties[a]{place}", detail=detail)


def refused_elements(items: Any, place: str, good: Any = None, **extensions: Any) -> Refused:
    """The same of the elements of a list."""
    accepts = NONE if good is None else elements(good, **extensions)
    return Refused(change=elements(items, **extensions), accepts=accepts, field=f"{SCHEMA}.properties[a]{place}")


def webhook(**settings: Any) -> Changes:
    """A change that has objects converted by a webhook."""
    client = {"url": "https://example.com/convert"}
    given = {"clientConfig": client, "conversionReviewVersions": ["v1"], **settings}
    kept = {key: value for key, value in given.items() if value is not GONE}
    return {CONVERSION: {"strategy": "Webhook", "webhook": kept}}


EXPRESSIONS = Stored(
    change=root(**{"x-orch-validations": [EXPRESSION]}), expected={f"{SCHEMA}.x-orch-validations": GONE}
)
"""The feature is off: whatever is wrong with an expression, it is not kept."""

REVIEWS = "spec.conversion.conversionReviewVersions"


class DefinitionsTests(case.EntryCase):
    file = "apiextensions.json"
    kinds = ("CustomResourceDefinition",)
    bases = {"CustomResourceDefinition": Base(path=DEFINITIONS, obj=DEFINITION)}
    examples = {
        0: Refused(change={"metadata.name": "a.example.com"}),
        1: [
            Refused(
                change={"spec.group": "orch.io"},
                accepts={
                    "spec.group": "x.orch.io",
                    "metadata.name": "widgets.x.orch.io",
                    APPROVED: "unapproved, test",
                    "spec.names.plural": "widgets",
                },
            ),
            Refused(change={"spec.group": "a.orch.io"}),
            Shown(f"{__name__}.OlderTests.test_unapproved"),
        ],
        2: Refused(
            change={"spec.group": "orch.io", APPROVED: "yes"},
            accepts={
                "spec.group": "orch.io",
                "spec.names.plural": "w",
                "metadata.name": "w.orch.io",
                APPROVED: "https://example.com/1",
            },
        ),
        3: Refused(change={"spec.group": ""}),
        4: Refused(change={"spec.group": "Example.com"}),
        5: Refused(change={"spec.group": "example"}),
        6: Refused(change={"spec.scope": GONE}),
        7: Refused(change={"spec.scope": "Planet"}, accepts={"spec.scope": "Cluster"}),
        8: Refused(change={"spec.versions[0].name": "1v"}),
        9: Refused(change={"spec.versions[1].name": "v1"}),
        10: [
            Refused(change={"spec.versions[1].storage": True}),
            Refused(change={"spec.versions[0].storage": False}),
        ],
        11: [
            Refused(change={"spec.versions[1].schema": GONE}),
            Refused(change={SCHEMA: GONE}),
            Shown(f"{__name__}.OlderTests.test_without_schemas"),
        ],
        12: Shown(f"{__name__}.OlderTests.test_without_schemas"),
        13: [
            Refused(change={"spec.preserveUnknownFields": True}, accepts={"spec.preserveUnknownFields": False}),
            Refused(on="update", change={"spec.preserveUnknownFields": True}),
            Shown(f"{__name__}.OlderTests.test_preserving"),
        ],
        14: Refused(
            change={"spec.preserveUnknownFields": True, **member({"type": "string", "default": "x"})},
            accepts=member({"type": "string", "default": "x"}),
        ),
        15: Refused(change={WARNING: "soon"}, accepts={WARNING: "soon", "spec.versions[0].deprecated": True}),
        16: [
            Refused(change={"spec.versions[0].deprecated": True, WARNING: text}, detail=detail)
            for text, detail in (("x" * 257, "<= 256"), ("", "empty"), ("a\nb", "found at index 1"))
        ],
        17: Refused(change={"spec.names.plural": ""}),
        18: Refused(change={"spec.names.plural": "Widgets"}),
        19: [
            Refused(change={"spec.names.kind": "", "spec.names.singular": GONE}),
            Stored(expected={"spec.names.singular": "widget"}),
        ],
        20: Refused(change={"spec.names.singular": "Widget"}),
        21: Refused(change={"spec.names.kind": GONE}),
        22: Refused(change={"spec.names.kind": "Wid.get"}, accepts={"spec.names.kind": "WidGet"}),
        23: [
            Refused(change={"spec.names.kind": "", "spec.names.listKind": ""}),
            Stored(expected={"spec.names.listKind": "WidgetList"}),
        ],
        24: Refused(change={"spec.names.listKind": "Wid.gets"}, accepts={"spec.names.listKind": "Widgets"}),
        25: Refused(change={"spec.names.listKind": "Widget"}),
        26: Refused(change={"spec.names.shortNames": ["a", "A"]}, field="spec.names.shortNames[1]"),
        27: Refused(change={"spec.names.categories": ["all", "a.b"]}, field="spec.names.categories[1]"),
        28: [
            Refused(change={"spec.conversion": {"strategy": ""}}),
            Stored(expected={"spec.conversion.strategy": "None"}),
        ],
        29: Refused(change={"spec.conversion": {"strategy": "Magic"}}),
        30: Refused(change={**webhook(), "spec.preserveUnknownFields": True}, accepts=webhook()),
        31: Refused(change=webhook(clientConfig=GONE), accepts=webhook()),
        32: [
            Refused(change=webhook(clientConfig={})),
            Refused(change=webhook(clientConfig={"url": "https://a.b", "service": {"name": "a", "namespace": "b"}})),
        ],
        33: [
            Refused(
                change=webhook(clientConfig={"url": "http://a.b"}), field="spec.conversion.webhookClientConfig.url"
            ),
            Refused(
                change=webhook(clientConfig={"service": {"name": "a", "namespace": "b", "port": 70000}}),
                accepts=webhook(clientConfig={"service": {"name": "a", "namespace": "b", "path": "/c"}}),
                field="spec.conversion.webhookClientConfig.service.port",
            ),
        ],
        34: Refused(change=webhook(conversionReviewVersions=[])),
        35: [
            Refused(change=webhook(conversionReviewVersions=["v1", "v1"]), field=f"{REVIEWS}[1]"),
            Refused(change=webhook(conversionReviewVersions=["v1", "V2"]), field=f"{REVIEWS}[1]", detail="DNS-1035"),
        ],
        36: [
            Refused(
                change=webhook(conversionReviewVersions=["v2"]),
                accepts=webhook(conversionReviewVersions=["v2", "v1beta1"]),
                field=REVIEWS,
            ),
            Shown(f"{__name__}.OlderTests.test_reviews"),
        ],
        37: [
            Refused(change={CONVERSION: {"strategy": "None", "webhook": {"clientConfig": {"url": "https://a.b"}}}}),
            Refused(
                change={CONVERSION: {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}},
                field=REVIEWS,
            ),
        ],
        38: Refused(change={COLUMN: {**GOOD_COLUMN, "name": ""}}, accepts={COLUMN: GOOD_COLUMN}),
        39: Refused(change={COLUMN: {**GOOD_COLUMN, "type": ""}}),
        40: Refused(
            change={COLUMN: {**GOOD_COLUMN, "type": "object"}}, accepts={COLUMN: {**GOOD_COLUMN, "type": "date"}}
        ),
        41: Refused(
            change={COLUMN: {**GOOD_COLUMN, "format": "x"}}, accepts={COLUMN: {**GOOD_COLUMN, "format": "int32"}}
        ),
        42: Refused(change={COLUMN: {**GOOD_COLUMN, "jsonPath": ""}}, field=f"{COLUMN}.JSONPath"),
        43: Refused(change={COLUMN: {**GOOD_COLUMN, "jsonPath": "a"}}, field=f"{COLUMN}.JSONPath"),
        44: Refused(change={SCALE: {**GOOD_SCALE, "specReplicasPath": ""}}, accepts={SCALE: GOOD_SCALE}),
        45: [
            Refused(change={SCALE: {**GOOD_SCALE, "specReplicasPath": ".status.n"}}),
            Refused(change={SCALE: {**GOOD_SCALE, "specReplicasPath": "n"}}, detail="starting with"),
        ],
        46: Refused(change={SCALE: {**GOOD_SCALE, "statusReplicasPath": ""}}),
        47: Refused(change={SCALE: {**GOOD_SCALE, "statusReplicasPath": ".spec.n"}}),
        48: Refused(
            change={SCALE: {**GOOD_SCALE, "labelSelectorPath": ".metadata.x"}},
            accepts={SCALE: {**GOOD_SCALE, "labelSelectorPath": ".status.x"}},
        ),
        49: Stored(
            change={"spec.version": "v9", "spec.validation": {"openAPIV3Schema": {"type": "object"}}},
            expected={"spec.version": GONE, "spec.validation": GONE},
        ),
        50: Refused(change={"spec.versions[0].storage": False}, detail="must have at least one stored version"),
        51: Refused(
            on="update",
            change={"spec.versions": [{**DEFINITION["spec"]["versions"][1], "storage": True}]},
            field="status.storedVersions[0]",
        ),
        52: Refused(
            on="status",
            change={"status.acceptedNames.plural": "A.b"},
            field="status.acceptedNames.plural",
        ),
        53: Refused(change={SCHEMA: {"type": "string"}, STATUS: {}}, accepts={STATUS: {}}),
        54: Refused(
            change={**root(maxProperties=3), STATUS: {}},
            accepts={**root(description="x", required=["a"], **OPEN), STATUS: {}},
        ),
        55: Refused(change=root(nullable=True), accepts=member({"type": "object", "nullable": True})),
        56: [refused({"type": "text"}, ".type"), Shown(f"{__name__}.OlderTests.test_types")],
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
            Shown(f"{__name__}.DefaultsTests.test_refused"),
        ],
        70: [
            refused(
                {"type": "object", "default": {"b": 1}}, ".default", {"type": "object", "default": {"b": 1}, **OPEN}
            ),
            refused_elements(
                {"type": "object", "properties": {"b": {"type": "object", "default": {"c": 1}}}},
                ".items.properties[b].default",
            ),
            Shown(f"{__name__}.OlderTests.test_unpruned"),
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
            Shown(f"{__name__}.OlderTests.test_sets"),
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
            Shown(f"{__name__}.OlderTests.test_keys"),
        ],
        89: refused_elements(
            {**PARTS, "properties": {"k": {"type": "string", "nullable": True}}},
            ".items.properties[k].nullable",
            **KEYED,
        ),
        **dict.fromkeys(range(90, 98), EXPRESSIONS),
        98: [
            Shown(f"{__name__}.OlderTests.test_structure"),
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
        118: Refused(change={"spec.group": "example.org"}),
        119: Refused(change={"spec.names.plural": "others"}),
        120: [
            Accepted(change={"spec.scope": "Cluster"}),
            Shown(f"{__name__}.WritesTests.test_established"),
        ],
        121: [Accepted(change={"spec.names.kind": "Gadget"}), Shown(f"{__name__}.WritesTests.test_established")],
        122: [
            Accepted(change={"spec.versions": DEFINITION["spec"]["versions"][:1]}),
            Shown(f"{__name__}.WritesTests.test_versions"),
        ],
        123: Refused(
            change={"status.acceptedNames.kind": "A.b"},
            accepts={"status.acceptedNames.kind": "A"},
            field="status.acceptedNames.kind",
        ),
        124: Stored(
            change={"status": {"conditions": [ESTABLISHED], "storedVersions": ["v9"]}},
            expected={"status.conditions": None, "status.storedVersions": ["v1"]},
        ),
        125: Stored(change={"metadata.generation": 9}, expected={"metadata.generation": 1}),
        126: [
            Stored(change={"status.storedVersions": ["v9"]}, expected={"status.storedVersions": ["v1"]}),
            Stored(
                change={"spec.versions[0].storage": False, "spec.versions[1].storage": True},
                expected={"status.storedVersions": ["v1", "v2"]},
            ),
        ],
        127: [
            Stored(change={"spec.scope": "Cluster"}, expected={"metadata.generation": 2}),
            Stored(change={"metadata.labels.a": "b"}, expected={"metadata.generation": 1}),
        ],
        128: Refused(change={"metadata.resourceVersion": GONE}, detail="must be specified for an update"),
        129: Stored(
            change={"spec.scope": "Cluster", "metadata.labels.a": "b", "status.conditions": [ESTABLISHED]},
            expected={"spec.scope": "Namespaced", "metadata.labels": GONE, "status.conditions[0].status": "True"},
        ),
        130: Shown(f"{__name__}.WritesTests.test_finalizer"),
        131: [EXPRESSIONS, Stored(on="update", change=EXPRESSIONS.change, expected=EXPRESSIONS.expected)],
        132: Stored(on="status", change={"status.conditions": [ESTABLISHED]}, expected={"spec.group": "example.com"}),
        133: Stored(change={"spec.versions[0].deprecated": True, WARNING: "soon"}, expected={WARNING: "soon"}),
    }

    def fresh_name(self, obj: Object) -> dict[str, Any]:
        """A resource of its own, after which the definition is called."""
        plural = f"widgets{next(self._names)}"
        return {"metadata.name": f"{plural}.example.com", "spec.names.plural": plural}


class DefinitionCase(ServedCase):
    """A test of one definition."""

    def make(self, changes: Changes = NONE) -> Object:
        """A definition that is stored."""
        return self.done("POST", DEFINITIONS, changed(DEFINITION, changes))

    def make_older(self, changes: Changes) -> Object:
        """A definition from before the rules."""
        with without_rules():
            return self.make(changes)

    def put(self, obj: Object, changes: Changes, subresource: str = "") -> list[str]:
        """The fields of the causes for which a change of a stored definition is refused; none: it is stored."""
        path = f"{DEFINITIONS}/{obj['metadata']['name']}"
        stored = self.done("GET", path)
        answer = self.send("PUT", path + subresource, changed(stored, changes))
        self.assertIn(answer.code, (200, 422), answer.body)
        return [] if answer.code == 200 else [cause["field"] for cause in answer.json["details"]["causes"]]


class WritesTests(DefinitionCase):
    """What updates may do over time."""

    def test_established(self) -> None:
        """Scope and kind stay once the definition is established (reference CRD-6)."""
        made = self.make()
        self.assertEqual(self.put(made, {"status.conditions": [ESTABLISHED]}, "/status"), [])
        self.assertEqual(self.put(made, {"spec.scope": "Cluster"}), ["spec.scope"])
        self.assertEqual(self.put(made, {"spec.names.kind": "Gadget"}), ["spec.names.kind"])

    def test_versions(self) -> None:
        """A version leaves the definition when it has left the status (reference CRD-6)."""
        made = self.make()
        second = {**DEFINITION["spec"]["versions"][1], "storage": True}
        self.assertEqual(self.put(made, {"spec.versions": [second]}), ["status.storedVersions[0]"])
        first = {**DEFINITION["spec"]["versions"][0], "storage": False}
        self.assertEqual(self.put(made, {"spec.versions": [first, second]}), [])
        self.assertEqual(self.put(made, {"spec.versions": [second]}), ["status.storedVersions[0]"])
        self.assertEqual(self.put(made, {"status.storedVersions": ["v2"]}, "/status"), [])
        self.assertEqual(self.put(made, {"spec.versions": [second]}), [])

    def test_finalizer(self) -> None:
        """A definition with a finalizer is there until that is gone."""
        path = f"{DEFINITIONS}/widgets.example.com"
        self.make({"metadata.finalizers": ["customresourcecleanup.apiextensions.orch.io"]})
        self.assertIn("deletionTimestamp", self.done("DELETE", path)["metadata"])
        self.assertEqual(self.put(DEFINITION, {"metadata.finalizers": []}), [])
        self.assertEqual(self.code("GET", path), 404)

    def test_beta(self) -> None:
        """The beta version of definitions is not served (reference CRD-5)."""
        self.assertEqual(self.code("GET", DEFINITIONS.replace("v1", "v1beta1")), 404)

    def test_other_vocabulary(self) -> None:
        """Extensions, the API's groups and the approval have the names that are served."""
        naming = Naming.kubernetes()
        sets = {"x-kubernetes-list-type": "bag", "type": "array", "items": {"type": "string"}}
        for group in ("k8s.io", "a.k8s.io", "kubernetes.io", "b.kubernetes.io"):
            given = changed(DEFINITION, {**member(sets), "spec.group": group, "metadata.name": f"widgets.{group}"})
            given["spec"]["names"].update(singular="widget", listKind="WidgetList")
            causes = validate_definition({**given, "status": {"storedVersions": ["v1"]}}, None, naming)
            self.assertEqual(
                [each.field for each in causes],
                [
                    "metadata.annotations[api-approved.kubernetes.io]",
                    f"{SCHEMA}.properties[a].x-kubernetes-list-type",
                ],
            )

    def test_many(self) -> None:
        """A definition in which everything is wrong gets as many causes as any object, in linear time."""
        bad = {f"a{number}": {"type": "array"} for number in range(20_000)}
        causes = validate_definition(changed(DEFINITION, root(properties=bad)), None, Naming.orch())
        self.assertLess(MAX_CAUSES, len(causes))
        self.assertLess(len(causes), 2 * MAX_CAUSES)

    def test_deep(self) -> None:
        """A schema as deep as requests may be is read to its end."""
        schema: Object = {"type": "array"}
        for _ in range(80):
            schema = {"type": "object", "properties": {"a": schema}}
        answer = self.send("POST", DEFINITIONS, changed(DEFINITION, {SCHEMA: schema}))
        self.assertEqual([each["field"].count("properties[a]") for each in answer.json["details"]["causes"]], [80])
        denied: Object = {"maximum": 3}
        for _ in range(180):
            denied = {"not": denied}
        given = changed(DEFINITION, member({"type": "integer", "default": 4, **denied}))
        self.assertEqual(self.code("POST", DEFINITIONS, given), 422)


class OlderTests(DefinitionCase):
    """What a definition did before a rule was there, it may do on; one that did not, may not begin."""

    def check(self, bad: Changes, field: str, worse: Changes) -> None:
        """`bad` stays, and does not come new; a definition with `bad` can be changed to be `worse`."""
        older = self.make_older(bad)
        self.assertEqual(self.put(older, {"metadata.labels.a": "b", **worse}), [])
        self.done("DELETE", f"{DEFINITIONS}/{older['metadata']['name']}")
        self.assertIn(field, self.put(self.make(), bad))

    def test_unapproved(self) -> None:
        """An approval that is missing may stay so; it cannot be made worse."""
        names = {"spec.group": "orch.io", "metadata.name": "widgets.orch.io"}
        older = self.make_older(names)
        self.assertEqual(self.put(older, {"spec.scope": "Cluster"}), [])
        self.assertEqual(self.put(older, {APPROVED: "yes"}), [APPROVED])

    def test_without_schemas(self) -> None:
        """Versions without schemas may stay; those that are served need them if the rest is dropped."""
        field = "spec.versions[1].schema.openAPIV3Schema"
        older = self.make_older({"spec.preserveUnknownFields": True, "spec.versions[1].schema": GONE})
        self.assertEqual(self.put(older, {"spec.scope": "Cluster"}), [])
        answer = self.send(
            "PUT",
            f"{DEFINITIONS}/widgets.example.com",
            changed(self.done("GET", f"{DEFINITIONS}/widgets.example.com"), {"spec.preserveUnknownFields": False}),
        )
        (cause,) = answer.json["details"]["causes"]
        self.assertEqual((cause["field"], cause["reason"]), (field, "FieldValueRequired"))
        self.assertIn("because otherwise all fields are pruned", cause["message"])
        self.assertEqual(self.put(older, {"spec.preserveUnknownFields": False, "spec.versions[1].served": False}), [])

    def test_preserving(self) -> None:
        """Unknown fields that were kept may be kept on."""
        older = self.make_older({"spec.preserveUnknownFields": True})
        self.assertEqual(self.put(older, {"spec.scope": "Cluster"}), [])
        self.assertEqual(self.put(older, {"spec.preserveUnknownFields": False}), [])
        self.assertEqual(self.put(older, {"spec.preserveUnknownFields": True}), ["spec.preserveUnknownFields"])

    def test_structure(self) -> None:
        """A schema without types may stay so while unknown fields are kept and it has no extensions."""
        older = self.make_older({"spec.preserveUnknownFields": True, **member({})})
        field = f"{SCHEMA}.properties[a].type"
        self.assertEqual(self.put(older, member({"description": "x"})), [])
        self.assertEqual(self.put(older, member({"nullable": True, "x-orch-list-type": "set"})), [field, field])
        self.assertEqual(self.put(older, {"spec.preserveUnknownFields": False}), [field])
        self.assertEqual(self.put(older, member({"type": "string"})), [])
        self.assertEqual(self.put(older, member({"description": "x"})), [field])

    def test_types(self) -> None:
        """A type that there is not may stay."""
        self.check(member({"type": "text"}), f"{SCHEMA}.properties[a].type", member({"type": "words"}))

    def test_sets(self) -> None:
        """A set of sets may stay."""
        sets = {"x-orch-list-type": "set", "type": "array", "items": {"type": "string"}}
        bad = elements(sets, **{"x-orch-list-type": "set"})
        self.check(bad, f"{SCHEMA}.properties[a].items.x-orch-list-type", bad)

    def test_keys(self) -> None:
        """Keys of elements that may be missing may stay so."""
        bad = elements({"type": "object", "properties": {"k": {"type": "string"}}}, **KEYED)
        self.check(bad, f"{SCHEMA}.properties[a].items.properties[k].default", bad)

    def test_unpruned(self) -> None:
        """Defaults with unknown fields may stay."""
        bad = member({"type": "object", "default": {"b": 1}})
        self.check(bad, f"{SCHEMA}.properties[a].default", member({"type": "object", "default": {"c": 1}}))

    def test_reviews(self) -> None:
        """Review versions that the server does not know may stay."""
        bad = webhook(conversionReviewVersions=["v3"])
        self.check(bad, REVIEWS, webhook(conversionReviewVersions=["v4"]))


class DefaultsTests(DefinitionCase):
    """Defaults are held against their schemas (reference CRD-16)."""

    def causes(self, schema: Object) -> list[tuple[str, str]]:
        """Field and message of the causes for which a member of this schema is refused."""
        answer = self.send("POST", f"{DEFINITIONS}?dryRun=All", changed(DEFINITION, member(schema)))
        found = answer.json["details"]["causes"] if answer.code == 422 else []
        place = f"{SCHEMA}.properties[a]."
        return [(each["field"].removeprefix(place), each["message"].replace(place, "")) for each in found]

    def test_refused(self) -> None:
        """Each keyword counts."""
        for schema, default, place, message in (
            (
                {"type": "integer"},
                "x",
                "",
                'Invalid value: "string": default in body must be of type integer: "string"',
            ),
            (
                {"type": "string"},
                1,
                "",
                'Invalid value: "integer": default in body must be of type string: "integer"',
            ),
            ({"type": "boolean"}, [], "", 'must be of type boolean: "array"'),
            ({"x-orch-int-or-string": True}, 1.5, "", 'must be of type integer,string: "number"'),
            ({"type": "string", "enum": ["a", "b"]}, "c", "", 'Unsupported value: "c": supported values: "a", "b"'),
            ({"type": "string", "maxLength": 1}, "ab", "", "default in body should be at most 1 chars long"),
            ({"type": "integer", "minimum": 1}, 0, "", "should be greater than or equal to 1"),
            ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 1, "", "should be greater than 1"),
            ({"type": "integer", "maximum": 1, "exclusiveMaximum": True}, 1, "", "should be less than 1"),
            ({"type": "number", "multipleOf": 0.5}, 0.7, "", "should be a multiple of 0.5"),
            ({"type": "array", "items": {"type": "string"}, "maxItems": 1}, ["a", "b"], "", "at most 1 items"),
            ({"type": "array", "items": {"type": "string"}, "minItems": 1}, [], "", "at least 1 items"),
            ({"type": "array", "items": {"type": "string"}}, ["a", 1], "[1]", "must be of type string"),
            ({"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}}}, {}, ".b", "Required"),
            ({"type": "object", "additionalProperties": {"type": "string"}}, {"b": 1}, ".b", "of type string"),
            ({"type": "object", "minProperties": 1}, {}, "", "should have at least 1 properties"),
            ({"type": "integer", "allOf": [{"minimum": 3}]}, 1, "", "greater than or equal to 3"),
            ({"type": "integer", "anyOf": [{"minimum": 3}, {"maximum": 0}]}, 1, "", "at least one schema (anyOf)"),
            (
                {"type": "integer", "oneOf": [{"minimum": 3}, {"minimum": 4}]},
                5,
                "",
                "one and only one schema (oneOf)",
            ),
            ({"type": "integer", "not": {"minimum": 3}}, 5, "", "must not validate the schema (not)"),
        ):
            ((field, text),) = self.causes({**schema, "default": default})
            self.assertEqual(field, f"default{place}")
            self.assertIn(message, text)

    def test_accepted(self) -> None:
        """What fits is fine: null where it is allowed, whole numbers, numbers or texts, members of any name."""
        for schema, default in (
            ({"type": "integer"}, 1.0),
            ({"type": "number"}, 1),
            ({"x-orch-int-or-string": True}, "50%"),
            ({"type": "object", "additionalProperties": True}, {"b": [1]}),
            ({"type": "object", "properties": {"b": {"type": "string", "nullable": True}}}, {"b": None}),
            ({**EMBEDDED, **OPEN}, {"apiVersion": "v1", "kind": "A", "x": 1}),
        ):
            self.assertEqual(self.causes({**schema, "default": default}), [], schema)

    def test_embedded(self) -> None:
        """A default object says what it is."""
        fields = [field for field, _ in self.causes({**EMBEDDED, **OPEN, "default": {"metadata": {}}})]
        self.assertEqual(fields, ["default.apiVersion", "default.kind"])

    def test_costly(self) -> None:
        """Work is bounded: very many values against very many conditions are refused."""
        many = [{"maximum": 5}] * 3000
        ((field, message),) = self.causes(
            {"type": "array", "items": {"type": "integer", "allOf": many}, "default": [1] * 3000}
        )
        self.assertEqual(field, SCHEMA)
        self.assertIn("too much work", message)


class Small(Arbitrary):
    """Schemas that say little each, so that all of them are looked at."""

    def __init__(self, random: Random) -> None:
        super().__init__(random, WORDS)
        self._chosen = random

    def struct(self, schema: StructSchema) -> dict[str, Any]:
        self._depth += 1
        few = min(4, len(schema.keys)) if self._depth < 7 else 0
        keys = self._chosen.sample(sorted(schema.keys), self._chosen.randint(0, few))
        found = {key: self.value(schema.keys[key].node) for key in keys}
        self._depth -= 1
        return found


class ArbitraryTests(SynchronousTestCase):
    """Whatever a definition holds, its rules find causes and never fail."""

    @given(seed=st.integers(min_value=0, max_value=2**32))
    @examples(200)
    def test_never_fails(self, seed: int) -> None:
        """Of any definition, of any schema in an otherwise good one, and of any change of one."""
        codec = CODECS.kind("apiextensions.orch.io/v1", "CustomResourceDefinition")
        node = CODECS.schemas.struct("orch.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
        drawn, naming = Small(Random(seed)), Naming.orch()
        drafts = [drawn.struct(codec.schema), *(changed(DEFINITION, {SCHEMA: drawn.struct(node)}) for _ in range(3))]
        definitions = [codec.normalise(draft) for draft in drafts]
        for new in definitions:
            for old in (None, *definitions):
                validate_definition(new, old, naming)
                if old is not None:
                    validate_definition_status(new, old, naming)
