"""Custom resource definitions (reference CRD-1); their objects are in `test_custom_resources`."""
# covers: orchtw.registry.groups.apiextensions.rule_causes
# covers: orchtw.registry.groups.apiextensions.schema_nodes, orchtw.registry.groups.apiextensions.schema_rules
# covers: orchtw.registry.groups.apiextensions.structural

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object
from tests.validation import case
from tests.validation.apiextensions_schemas import SCHEMAS
from tests.validation.definitions import (
    APPROVED,
    COLUMN,
    CONVERSION,
    DEFINITION,
    DEFINITIONS,
    ESTABLISHED,
    GOOD_COLUMN,
    GOOD_SCALE,
    REVIEWS,
    SCALE,
    SCHEMA,
    STATUS,
    WARNING,
    member,
    webhook,
)
from tests.validation.examples import (
    GONE,
    Accepted,
    Base,
    Refused,
    Shown,
    Stored,
)
from tests.verbs.unattended import UnattendedCase

WRITES = "tests.validation.test_definitions"
LIFE = "tests.controllers.apiextensions.test_life_cycle"


class DefinitionsTests(UnattendedCase, case.EntryCase):
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
            Shown(f"{WRITES}.OlderTests.test_unapproved"),
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
            Shown(f"{WRITES}.OlderTests.test_without_schemas"),
        ],
        12: Shown(f"{WRITES}.OlderTests.test_without_schemas"),
        13: [
            Refused(change={"spec.preserveUnknownFields": True}, accepts={"spec.preserveUnknownFields": False}),
            Refused(on="update", change={"spec.preserveUnknownFields": True}),
            Shown(f"{WRITES}.OlderTests.test_preserving"),
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
            Shown(f"{WRITES}.OlderTests.test_reviews"),
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
        **SCHEMAS,
        118: Refused(change={"spec.group": "example.org"}),
        119: Refused(change={"spec.names.plural": "others"}),
        120: [
            Accepted(change={"spec.scope": "Cluster"}),
            Shown(f"{WRITES}.WritesTests.test_established"),
        ],
        121: [Accepted(change={"spec.names.kind": "Gadget"}), Shown(f"{WRITES}.WritesTests.test_established")],
        122: [
            Accepted(change={"spec.versions": DEFINITION["spec"]["versions"][:1]}),
            Shown(f"{WRITES}.WritesTests.test_versions"),
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
        130: [Shown(f"{WRITES}.WritesTests.test_finalizer"), Shown(f"{LIFE}.EndTests.test_closed")],
        131: [Shown(f"{WRITES}.GateTests.test_off"), Shown(f"{WRITES}.GateTests.test_kept")],
        132: [
            Stored(on="status", change={"status.conditions": [ESTABLISHED]}, expected={"spec.group": "example.com"}),
            *(Shown(f"{LIFE}.ConditionTests.{name}") for name in ("test_established", "test_approval")),
            Shown(f"{LIFE}.EndTests.test_pending"),
        ],
        133: Stored(change={"spec.versions[0].deprecated": True, WARNING: "soon"}, expected={WARNING: "soon"}),
    }

    def fresh_name(self, obj: Object) -> dict[str, Any]:
        """A resource of its own, after which the definition is called."""
        plural = f"widgets{next(self._names)}"
        return {"metadata.name": f"{plural}.example.com", "spec.names.plural": plural}
