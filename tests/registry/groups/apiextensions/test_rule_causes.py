"""Validation of rules and selectable fields that newer releases allow (reference CRD-69, CRD-70)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.config.releases import LAST, Release
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions.validation import validate_definition
from orchtw.wire.objects import Object
from tests.validation.definitions import DEFINITION, SCHEMA
from tests.validation.paths import changed

NUMBER = {"type": "integer"}
FIRST = (1, 24)


def defined(schema: Any, **version: Any) -> Object:
    """A definition whose first version has a schema."""
    obj = changed(deepcopy(DEFINITION), {SCHEMA: schema})
    obj["spec"]["names"] |= {"singular": "widget", "listKind": "WidgetList"}
    obj["spec"]["versions"][0].update(version)
    return {**obj, "status": {"storedVersions": ["v1"]}}


def causes(obj: Object, old: Object | None = None, release: Release = LAST) -> list[str]:
    """The causes against a definition, as text, with paths from its schema on."""
    found = validate_definition(obj, old, Naming.orch(), release)
    return [str(each).removeprefix(SCHEMA).removeprefix("spec.versions[0].") for each in found]


def member(*rules: Any, schema: Any = None) -> Any:
    """A schema whose member `a` has rules."""
    return {"type": "object", "properties": {"a": {**(schema or NUMBER), "x-orch-validations": list(rules)}}}


class RuleTests(SynchronousTestCase):
    def refused(self, rule: Any, schema: Any = None) -> list[str]:
        """The causes against a rule, with paths from it on."""
        prefix = ".properties[a].x-orch-validations[0]."
        return [each.removeprefix(prefix) for each in causes(defined(member(rule, schema=schema)))]

    def test_members(self) -> None:
        """Members of rules that newer releases added are validated."""
        supported = ", ".join(f'"FieldValue{each}"' for each in ("Duplicate", "Forbidden", "Invalid", "Required"))
        compared, unused = "self > oldSelf", "may not be set if oldSelf is not used in rule"
        for more, text in (
            ({"messageExpression": " "}, "messageExpression: Required value: messageExpression must be non-empty if "
             "specified"),
            ({"messageExpression": "'a' + string(self)", "reason": "FieldValueForbidden"}, ""),
            ({"reason": "Wrong"}, f'reason: Unsupported value: "Wrong": supported values: {supported}'),
            ({"fieldPath": ".b"}, 'fieldPath: Invalid value: ".b": fieldPath must be a valid path'),
            ({"optionalOldSelf": True}, f"optionalOldSelf: Invalid value: true: {unused}"),
            ({"optionalOldSelf": False}, f"optionalOldSelf: Invalid value: false: {unused}"),
            ({"rule": compared, "optionalOldSelf": False}, ""),
        ):  # fmt: skip
            self.assertEqual(self.refused({"rule": "self > 1", **more}), [text] if text else [], more)

    def test_message_expressions(self) -> None:
        """The expression for a message is compiled as a text."""
        for expression, text in (
            ("self", "messageExpression must evaluate to a string"),
            ("self.x", "messageExpression compilation failed: ERROR: <input>:1:5: type 'int' does not support field "
             "selection\n | self.x\n | ....^"),
        ):  # fmt: skip
            (found,) = self.refused({"rule": "true", "messageExpression": expression})
            start = 'messageExpression: Invalid value: apiextensions.ValidationRule{Rule:"true", Message:""}: '
            self.assertEqual(found, start + text)

    def test_message_costs(self) -> None:
        """A message that may cost too much is refused, whatever it is about."""
        schema = {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}
        expression = "self.all(x, x.all(y, y == 'a')) ? 'a' : 'b'"
        found, *_ = self.refused({"rule": "true", "messageExpression": expression}, schema)
        self.assertTrue(found.startswith("messageExpression: Forbidden: estimated messageExpression cost exceeds "))

    def test_field_paths(self) -> None:
        """A path of a field leads to a member, by its name or between brackets."""
        schema = {"type": "object", "properties": {"b": NUMBER, "x.y": NUMBER}}
        for path, good in ((".b", True), ("['x.y']", True), ("b", False), (".b[0]", False), (" ", False)):
            found = self.refused({"rule": "true", "fieldPath": path}, schema)
            self.assertEqual(found == [], good, path)

    def test_uncorrelated(self) -> None:
        """In a list whose elements cannot be told apart only an optional old value is allowed."""
        def refused(**rule: Any) -> list[str]:
            items = {**NUMBER, "x-orch-validations": [rule]}
            schema = {"type": "array", "maxItems": 5, "items": items}
            return causes(defined({"type": "object", "properties": {"l": schema}}))

        (found,) = refused(rule="self == oldSelf")
        self.assertIn("oldSelf cannot be used on the uncorrelatable portion of the schema within", found)
        self.assertEqual(refused(rule="self == oldSelf.orValue(self)", optionalOldSelf=True), [])


class ReleaseTests(SynchronousTestCase):
    def test_extension_names(self) -> None:
        """The text about preserveUnknownFields names the extension; that of release 1.24 without its vendor."""
        new = defined(NUMBER)
        new["spec"]["preserveUnknownFields"] = True
        for release, name in ((FIRST, "x-preserve-unknown-fields"), (LAST, "x-orch-preserve-unknown-fields")):
            self.assertTrue(any(f"set {name} to true" in each for each in causes(new, release=release)), name)

    NEWER = "!optional.of(self).hasValue()"

    def test_new(self) -> None:
        """A new expression may use what the release before the emulated one has (reference CRD-66, CRD-67)."""
        newer = defined(member({"rule": self.NEWER}))
        self.assertEqual(causes(newer), [])
        for release in (FIRST, (1, 28)):
            (found,) = causes(newer, release=release)
            self.assertIn("undeclared reference to 'optional' (in container '')", found)
        self.assertEqual(causes(newer, release=(1, 29)), [])

    def test_stored(self) -> None:
        """An expression that the definition has already may use everything that is known (reference CRD-67)."""
        newer = defined(member({"rule": self.NEWER}))
        changed_elsewhere = defined(member({"rule": self.NEWER}, {"rule": "self > 0"}))
        self.assertEqual(causes(changed_elsewhere, newer, FIRST), [])

    def test_literals(self) -> None:
        """Literals of new expressions that release 1.29 must know are checked before they run (CRD-66)."""
        schema = {"type": "string", "maxLength": 9}
        for rule, what in (
            ("self.matches('(?=a)')", "matches"),
            ("duration('x') == duration('1s')", "duration"),
            ("timestamp('x') == timestamp('y')", "timestamp"),
        ):
            new = defined(member({"rule": rule}, schema=schema))
            self.assertIn(f"invalid {what} argument", causes(new)[0])
            self.assertEqual(causes(new, release=(1, 29)), [])
            self.assertEqual(causes(new, new), [])

    def test_costs(self) -> None:
        """A rule that is too expensive may stay while the schema does not change (reference CRD-67)."""
        dear = {"rule": "self.all(x, self.exists(y, y == x))"}
        schema = {"type": "array", "maxItems": 2500, "items": NUMBER}
        obj = defined(member(dear, schema=schema))
        self.assertIn("estimated rule cost exceeds budget by factor of", causes(obj)[0])
        self.assertEqual(causes(obj, obj), [])
        other = defined({**member(dear, schema=schema), "description": "other"})
        self.assertEqual(len(causes(other, obj)), 1)


class SelectableFieldTests(SynchronousTestCase):
    SCHEMA = {
        "type": "object",
        "properties": {
            "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
            "spec": {
                "type": "object",
                "properties": {
                    **{f"f{number}": {"type": "string"} for number in range(10)},
                    "b": {"type": "boolean"},
                    "i": NUMBER,
                    "n": {"type": "number"},
                    "l": {"type": "array", "items": {"type": "string"}},
                    "m": {"type": "object", "additionalProperties": {"type": "string"}},
                },
            },
        },
    }

    def refused(self, *paths: str, old: Object | None = None) -> list[str]:
        """The causes against these fields, with paths from them on."""
        found = causes(self.selecting(*paths), old)
        return [each.removeprefix("selectableFields") for each in found]

    def selecting(self, *paths: str) -> Object:
        """A definition with these fields."""
        return defined(self.SCHEMA, selectableFields=[{"jsonPath": path} for path in paths])

    def test_paths(self) -> None:
        """A field is a text, boolean or integer outside of lists and metadata."""
        wrong_type = (
            "must point to a field of type string, boolean or integer. Enum string fields and strings with formats "
            "are allowed."
        )
        for path, why in (
            (".spec.f1", ""),
            (".spec.b", ""),
            (".spec.i", ""),
            (".spec.n", wrong_type),
            (".spec", wrong_type),
            (".spec.l", wrong_type),
            (".spec.x", "is an invalid path: does not refer to a valid field"),
            (".spec.f1.x", "is an invalid path: does not refer to a valid field"),
            ("spec.f1", "is an invalid path: expected [ or . but got: spec"),
            (".spec['f1']", "is an invalid path: array notation is not allowed"),
            (".metadata.name", "must not point to fields in metadata"),
        ):
            expected = [f'[0].jsonPath: Invalid value: "{path}": {why}'] if why else []
            self.assertEqual(self.refused(path), expected)

    def test_lists_of_fields(self) -> None:
        """There are at most eight different ones, and all have a path."""
        self.assertEqual(self.refused(""), ["[0].jsonPath: Required value"])
        twice = self.refused(".spec.b", ".spec.b")
        self.assertEqual(twice, ['[1].jsonPath: Duplicate value: ".spec.b"'])
        many = [f".spec.f{number}" for number in range(9)]
        self.assertEqual(self.refused(*many[:8]), [])
        self.assertEqual(self.refused(*many), [": Too many: 9: must have at most 8 items"])
        self.assertEqual(self.refused(*many, old=self.selecting(*many)), [])

    def test_without_schema(self) -> None:
        """A version without a schema may not have selectable fields."""
        obj = self.selecting(".spec.b")
        del obj["spec"]["versions"][0]["schema"]
        why = "may only be set when `version.schema.openAPIV3Schema` is not included"
        self.assertIn(f'selectableFields: Invalid value: "": {why}', causes(obj))
