"""Definitions of custom resources as they are written one after the other, and from older times."""
# covers: orchtw.registry.groups.apiextensions.definition, orchtw.registry.groups.apiextensions.names
# covers: orchtw.registry.groups.apiextensions.schemas

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.config.feature_gates import GATES
from orchtw.config.releases import LAST
from orchtw.errors import MAX_CAUSES
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions.schemas import schema_causes
from orchtw.registry.groups.apiextensions.validation import validate_definition, validate_definition_status
from orchtw.schema.nodes import StructSchema
from orchtw.wire.objects import Object
from tests.properties import examples
from tests.registry.unchecked import without_rules
from tests.schema.arbitrary import Arbitrary
from tests.validation.definitions import (
    APPROVED,
    CODECS,
    DEFINITION,
    DEFINITIONS,
    EMBEDDED,
    ESTABLISHED,
    KEYED,
    OPEN,
    REVIEWS,
    SCHEMA,
    WORDS,
    elements,
    member,
    root,
    ruled,
    webhook,
)
from tests.validation.examples import (
    GONE,
    NONE,
    Changes,
)
from tests.validation.paths import changed
from tests.verbs.unattended import UnattendedCase


class DefinitionCase(UnattendedCase):
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


class GateTests(DefinitionCase):
    """Rules in schemas, with their gate on or off (reference CRD-28)."""

    RULED = member(ruled({"type": "integer"}, "self > 1"))

    def rules(self, definition: Object) -> Any:
        """Those of the first version."""
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        return schema.get("properties", {}).get("a", {}).get("x-orch-validations")

    def switch(self, *, on: bool) -> None:
        """Set gates as `--feature-gates` would."""
        targets = self.server.instance.resources.targets
        target = targets.stored_target("apiextensions.orch.io", "v1", "customresourcedefinitions")
        target.stored.strategy.configure({**dict.fromkeys(GATES, True), "CustomResourceValidationExpressions": on})

    def test_on(self) -> None:
        """Rules are kept as they are written."""
        self.assertEqual(self.rules(self.make(self.RULED)), [{"rule": "self > 1"}])

    def test_off(self) -> None:
        """Without the gate they are dropped, whatever they say."""
        self.switch(on=False)
        self.assertIs(self.rules(self.make(member(ruled({"type": "integer"}, "self >")))), None)
        self.assertEqual(self.put(DEFINITION, self.RULED), [])
        self.assertIs(self.rules(self.done("GET", f"{DEFINITIONS}/widgets.example.com")), None)

    def test_kept(self) -> None:
        """A definition that has rules may go on to have them, and others."""
        self.make(self.RULED)
        self.switch(on=False)
        self.assertEqual(self.put(DEFINITION, member(ruled({"type": "integer"}, "self > 1", "self > 2"))), [])
        found = self.rules(self.done("GET", f"{DEFINITIONS}/widgets.example.com"))
        self.assertEqual(found, [{"rule": "self > 1"}, {"rule": "self > 2"}])


class WritesTests(DefinitionCase):
    """Updates of definitions over time."""

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
    """A definition may keep breaking a newer rule, but not begin to (reference CRD-26)."""

    def check(self, bad: Changes, field: str, worse: Changes) -> None:
        """`bad` stays, and does not come new; a definition with `bad` can be changed to be `worse`."""
        older = self.make_older(bad)
        self.assertEqual(self.put(older, {"metadata.labels.a": "b", **worse}), [])
        self.done("DELETE", f"{DEFINITIONS}/{older['metadata']['name']}")
        self.assertEqual(self.put(older, {"metadata.finalizers": []}, "/status"), [])
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
        """Each keyword of a schema counts."""
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
            ({"type": "string", "maxLength": 1}, "ab", "", "Too long: may not be longer than 1"),
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
            ({"type": "string", "pattern": "^a$"}, "b", "", "should match '^a$'"),
            ({"type": "string", "format": "ipv4"}, "b", "", 'must be of type ipv4: "b"'),
        ):
            found = self.causes({**schema, "default": default})
            self.assertEqual({field for field, _ in found}, {f"default{place}"})
            self.assertIn(message, "; ".join(text for _, text in found))

    def test_accepted(self) -> None:
        """Fitting values pass: null where allowed, integers, int-or-string, members of any name."""
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
        items = {"type": "integer", "allOf": many}
        part = {"type": "array", "items": items, "default": [1] * 3000}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"a": part}}}
        (told,) = schema_causes({"versions": [{"name": "v1", "schema": schema}]}, None, Naming.orch(), LAST)
        self.assertEqual((told.field, "too much work" in told.message), (SCHEMA, True))

    def test_multiplying(self) -> None:
        """Defaults in defaults are counted as they come into objects, and refused before they are many
        (reference CRD-64).
        """
        schema: Any = {"type": "object", "properties": {"a": {"type": "string"}}}
        for _ in range(6):
            items = {"type": "array", "items": schema, "default": [{}] * 100}
            schema = {"type": "object", "properties": {"l": items}}
        ((field, message),) = self.causes(schema)
        self.assertEqual(field, SCHEMA)
        self.assertIn("its defaults take more than 262144 bytes", message)

    def test_states(self) -> None:
        """So are the states of patterns, of all versions together (reference CRD-64)."""

        def told(*letters: str) -> list[str]:
            versions = []
            for letter in letters:
                some = {str(at): {"type": "string", "pattern": rf"[{letter}{at}]\pL{{20}}"} for at in range(30)}
                schema = {"openAPIV3Schema": {"type": "object", "properties": some}}
                versions.append({"name": letter, "schema": schema})
            return [str(cause) for cause in schema_causes({"versions": versions}, None, Naming.orch(), LAST)]

        self.assertEqual(told("a"), [])
        why = "spec.versions[1].schema.openAPIV3Schema: Forbidden: its patterns take too much work to be compiled"
        self.assertEqual(told("a", "b", "c"), [why])


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
