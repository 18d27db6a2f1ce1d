"""Each keyword of schemas, with what is said of values that break it (reference CRD-17)."""
# covers: orchtw.schema.custom.check_code, orchtw.schema.custom.wording

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from tests.schema.custom.made import codec_of, complaints, spec_codec, value_complaints, widget_of

STRING = {"type": "string"}
INTEGER = {"type": "integer"}


class KeywordsCase(SynchronousTestCase):
    def assertFits(self, schema: dict[str, Any], *values: Any) -> None:
        for value in values:
            self.assertEqual(value_complaints(schema, value), [], value)

    def assertTold(self, schema: dict[str, Any], value: Any, *texts: str) -> None:
        self.assertEqual(value_complaints(schema, value), list(texts))


class TypeTests(KeywordsCase):
    def test_each_type(self) -> None:
        """A value of another type is named by its own."""
        values = {"string": "x", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
        for wanted in values:
            schema = {"type": wanted, **({"items": STRING} if wanted == "array" else {})}
            for found, value in values.items():
                if found == wanted or (found, wanted) == ("integer", "number"):
                    self.assertFits(schema, value)
                    continue
                why = f'spec.a: Invalid value: "{found}": spec.a in body must be of type {wanted}: "{found}"'
                self.assertTold(schema, value, why)

    def test_integral_number(self) -> None:
        """A number without a fraction is an integer; one beyond 64 bits is not."""
        self.assertFits(INTEGER, 3.0, -(2**63), 2**63 - 1)
        why = 'spec.a: Invalid value: "number": spec.a in body must be of type integer: "number"'
        self.assertTold(INTEGER, 2**63, why)
        self.assertTold(INTEGER, 1e300, why)

    def test_int_or_string(self) -> None:
        """An int-or-string mismatch says so."""
        schema = {"x-orch-int-or-string": True, "anyOf": [INTEGER, STRING]}
        self.assertFits(schema, 1, "50%")
        found = value_complaints(schema, True)
        why = 'spec.a: Invalid value: "boolean": spec.a in body must be of type integer,string: "boolean"'
        self.assertEqual(found[0], why)

    def test_null(self) -> None:
        """Null is what is nullable; elsewhere it counts as missing, but not in a list."""
        self.assertFits({**STRING, "nullable": True}, None)
        self.assertFits(STRING, None)
        why = 'spec.a[1]: Invalid value: "null": spec.a[1] in body must be of type string: "null"'
        self.assertTold({"type": "array", "items": STRING}, ["x", None], why)

    def test_format_of_another_type(self) -> None:
        """The cause names the format of a value, if it has one, instead of its type."""
        schema = {"type": "string", "format": "date"}
        for value, shown in ((5, "int64"), (0.5, "float64"), (True, "")):
            why = f'spec.a: Invalid value: "{shown}": spec.a in body must be of type date: "{shown}"'
            self.assertTold(schema, value, why)


class ScalarTests(KeywordsCase):
    def test_bounds(self) -> None:
        """Numbers have bounds, which may be exclusive."""
        self.assertTold(
            {**INTEGER, "minimum": 1},
            0,
            "spec.a: Invalid value: 0: spec.a in body should be greater than or equal to 1",
        )
        self.assertTold(
            {"type": "number", "maximum": 1.5},
            2,
            "spec.a: Invalid value: 2: spec.a in body should be less than or equal to 1.5",
        )
        self.assertTold(
            {**INTEGER, "minimum": 1, "exclusiveMinimum": True},
            1,
            "spec.a: Invalid value: 1: spec.a in body should be greater than 1",
        )
        self.assertTold(
            {**INTEGER, "maximum": 1, "exclusiveMaximum": True},
            1,
            "spec.a: Invalid value: 1: spec.a in body should be less than 1",
        )
        self.assertFits({**INTEGER, "minimum": 1, "maximum": 3}, 1, 2, 3)

    def test_multiple(self) -> None:
        """A multiple of a fraction is one as exactly as fractions are."""
        self.assertFits({"type": "number", "multipleOf": 0.1}, 0.3, 1, 7.7)
        self.assertFits({**INTEGER, "multipleOf": 5}, 0, -10)
        why = "spec.a: Invalid value: 7: spec.a in body should be a multiple of 5"
        self.assertTold({**INTEGER, "multipleOf": 5}, 7, why)

    def test_length(self) -> None:
        """Texts are measured in characters; only the first rule of a text that is broken is told."""
        self.assertFits({**STRING, "minLength": 2, "maxLength": 2}, "éé")
        why = 'spec.a: Invalid value: "éé": spec.a in body should be at least 3 chars long'
        self.assertTold({**STRING, "minLength": 3, "pattern": "^a$"}, "éé", why)
        self.assertTold({**STRING, "maxLength": 1}, "éé", "spec.a: Too long: may not be longer than 1")

    def test_pattern(self) -> None:
        """A pattern is searched for; a dollar is the very end."""
        self.assertTold(
            {**STRING, "pattern": "^a$"}, "", "spec.a: Invalid value: \"\": spec.a in body should match '^a$'"
        )
        self.assertFits({**STRING, "pattern": "b"}, "abc")
        self.assertEqual(len(value_complaints({**STRING, "pattern": "^a$"}, "a\n")), 1)

    def test_format(self) -> None:
        """A text of a wrong form is shown; unknown formats, and those of numbers, say nothing."""
        why = 'spec.a: Invalid value: "x": spec.a in body must be of type date-time: "x"'
        self.assertTold({**STRING, "format": "date-time"}, "x", why)
        self.assertFits({**STRING, "format": "quantity"}, "x")
        self.assertFits({**INTEGER, "format": "int32"}, 2**40)

    def test_enum(self) -> None:
        """The allowed values are shown in their order; what looks alike is not the same."""
        why = 'spec.a: Unsupported value: "x": supported values: "b", "a"'
        self.assertTold({**STRING, "enum": ["b", "a"]}, "x", why)
        self.assertTold({**INTEGER, "enum": [1, 2]}, 3, 'spec.a: Unsupported value: 3: supported values: "1", "2"')
        anything = {"x-orch-preserve-unknown-fields": True, "enum": [1, {"k": [1]}]}
        self.assertFits(anything, 1, {"k": [1]})
        self.assertEqual(len(value_complaints(anything, True)), 1)
        self.assertTold(
            {**STRING, "enum": ["a"], "nullable": True},
            None,
            'spec.a: Unsupported value: "null": supported values: "a"',
        )


class ListTests(KeywordsCase):
    def test_size(self) -> None:
        """Lists have a size."""
        schema = {"type": "array", "items": STRING, "minItems": 1, "maxItems": 2}
        self.assertFits(schema, ["a"], ["a", "b"])
        self.assertTold(schema, [], "spec.a: Invalid value: 0: spec.a in body should have at least 1 items")
        self.assertTold(schema, ["a", "b", "c"], "spec.a: Too many: 3: must have at most 2 items")

    def test_unique(self) -> None:
        """Elements that are equal as JSON are."""
        schema = {"type": "array", "items": {"x-orch-preserve-unknown-fields": True}, "uniqueItems": True}
        self.assertFits(schema, [1, True, "1", {"a": 1}, {"a": 2}])
        why = "spec.a: Invalid value: \"\": spec.a in body shouldn't contain duplicates"
        self.assertTold(schema, [{"a": 1, "b": 2}, {"b": 2, "a": 1}], why)

    def test_elements(self) -> None:
        """An element is named by its place."""
        schema = {"type": "array", "items": {**INTEGER, "minimum": 1}}
        why = "spec.a[1]: Invalid value: 0: spec.a[1] in body should be greater than or equal to 1"
        self.assertTold(schema, [1, 0, 2], why)

    def test_set(self) -> None:
        """An element of a set comes once (reference CRD-13)."""
        schema = {"type": "array", "items": STRING, "x-orch-list-type": "set"}
        self.assertFits(schema, [], ["a", "b"])
        self.assertTold(schema, ["a", "b", "a", "a"], 'spec.a[2]: Duplicate value: "a"')

    def test_map(self) -> None:
        """Elements of a map differ in their keys; a default is a key."""
        item = {"type": "object", "properties": {"k": STRING, "n": {**INTEGER, "default": 1}}}
        schema = {"type": "array", "items": item, "x-orch-list-type": "map", "x-orch-list-map-keys": ["k"]}
        self.assertFits(schema, [{"k": "a"}, {"k": "b"}])
        why = 'spec.a[1]: Duplicate value: map[string]interface {}{"k":"a"}'
        self.assertTold(schema, [{"k": "a"}, {"k": "a"}], why)
        why = "spec.a[1]: Duplicate value: map[string]interface {}{}"
        self.assertTold(schema, [{}, {}], why)
        schema["x-orch-list-map-keys"] = ["k", "n"]
        why = 'spec.a[1]: Duplicate value: map[string]interface {}{"k":"a", "n":1}'
        self.assertTold(schema, [{"k": "a"}, {"k": "a", "n": 1}, {"k": "a", "n": 2}], why)


class ObjectTests(KeywordsCase):
    def test_required(self) -> None:
        """A member that must be there is named."""
        schema = {"type": "object", "required": ["x"], "properties": {"x": STRING}}
        self.assertTold(schema, {}, "spec.a.x: Required value")
        self.assertTold(schema, {"x": None}, "spec.a.x: Required value")
        codec = codec_of({"type": "object", "required": ["spec"], "properties": {"spec": {"type": "object"}}})
        obj = codec.normalise(widget_of())
        self.assertEqual([str(each) for each in codec.check(obj, None)], ["spec: Required value"])

    def test_size(self) -> None:
        """Objects have a size; one of a wrong size is not looked into."""
        schema = {"type": "object", "additionalProperties": INTEGER, "minProperties": 1, "maxProperties": 2}
        self.assertTold(schema, {}, "spec.a: Invalid value: 0: spec.a in body should have at least 1 properties")
        self.assertTold(schema, {"x": 1, "y": 2, "z": 3}, "spec.a: Too many: 3: must have at most 2 items")

    def test_additional(self) -> None:
        """Free keys are named behind a stop, duplicates in lists below them in brackets."""
        values = {"type": "array", "items": INTEGER, "x-orch-list-type": "set"}
        schema = {"type": "object", "additionalProperties": values}
        why = 'spec.a.k[0]: Invalid value: "string": spec.a.k[0] in body must be of type integer: "string"'
        self.assertTold(schema, {"k": ["x"]}, why)
        self.assertTold(schema, {"k": [1, 1]}, "spec.a[k][1]: Duplicate value: 1")

    def test_no_additional(self) -> None:
        """Keys that a schema does not list are refused where additionalProperties is false."""
        schema = {"type": "object", "additionalProperties": False}
        self.assertTold(schema, {"k": 1}, 'spec.a: Invalid value: "k": spec.a.k in body is a forbidden property')


class ConditionTests(KeywordsCase):
    """Texts of conditions (reference CRD-34)."""

    def test_all(self) -> None:
        """Every schema of allOf must hold, and what is wrong with each is told."""
        schema = {**INTEGER, "allOf": [{"minimum": 2}, {"multipleOf": 3}]}
        self.assertFits(schema, 3, 6)
        self.assertTold(
            schema,
            2,
            "spec.a: Invalid value: 2: spec.a in body should be a multiple of 3",
            '<nil>: Invalid value: "": "spec.a" must validate all the schemas (allOf)',
        )
        self.assertEqual(
            value_complaints(schema, 1)[-1],
            '<nil>: Invalid value: "": "spec.a" must validate all the schemas (allOf). None validated',
        )

    def test_any(self) -> None:
        """One of anyOf is enough; of several that fail the best is told."""
        schema = {**STRING, "anyOf": [{"pattern": "^a"}, {"minLength": 3, "format": "ipv4"}]}
        self.assertFits(schema, "a", "1.2.3.4")
        self.assertTold(
            schema,
            "b",
            '<nil>: Invalid value: "": "spec.a" must validate at least one schema (anyOf)',
            'spec.a: Invalid value: "b": spec.a in body should be at least 3 chars long',
            'spec.a: Invalid value: "b": spec.a in body must be of type ipv4: "b"',
        )

    def test_one(self) -> None:
        """Exactly one of oneOf holds."""
        members = {"x": STRING, "y": STRING}
        schema = {"type": "object", "properties": members, "oneOf": [{"required": ["x"]}, {"required": ["y"]}]}
        self.assertFits(schema, {"x": ""}, {"y": ""})
        told = '<nil>: Invalid value: "": "spec.a" must validate one and only one schema (oneOf). Found '
        self.assertTold(schema, {}, told + "none valid", "spec.a.x: Required value")
        self.assertTold(schema, {"x": "", "y": ""}, told + "2 valid alternatives")

    def test_not(self) -> None:
        """Values that match `not` are refused."""
        schema = {**STRING, "not": {"enum": ["x"]}}
        self.assertFits(schema, "y")
        self.assertTold(schema, "x", '<nil>: Invalid value: "": "spec.a" must not validate the schema (not)')


class AllTests(KeywordsCase):
    def test_all_at_once(self) -> None:
        """A wrong type is told with everything else that is wrong."""
        codec = spec_codec(a=INTEGER, b={**STRING, "enum": ["a", "b"]}, c={**STRING, "minLength": 1})
        self.assertEqual(
            complaints(codec, {"a": "string", "b": "x", "c": ""}),
            [
                'spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"',
                'spec.b: Unsupported value: "x": supported values: "a", "b"',
                'spec.c: Invalid value: "": spec.c in body should be at least 1 chars long',
            ],
        )

    def test_many(self) -> None:
        """Of very many causes the first are told."""
        found = value_complaints({"type": "array", "items": INTEGER}, ["x"] * 5000)
        self.assertEqual(len(found), 101)

    def test_shown(self) -> None:
        """Of what is long or deep the beginning is shown, as Go shows it."""
        deep: Any = [None, True, 1.5, 2, {"b": [], "a": "x"}]
        schema = {"x-orch-preserve-unknown-fields": True, "enum": [1]}
        inner = 'map[string]interface {}{"a":"x", "b":[]interface {}{}}'
        shown = "[]interface {}{interface {}(nil), true, 1.5, 2, " + inner + "}"
        self.assertTold(schema, deep, f'spec.a: Unsupported value: {shown}: supported values: "1"')
        for _ in range(150):
            deep = {"k": [deep, "x" * 10_000]}
        ((told),) = value_complaints(schema, deep)
        self.assertLess(len(told), 2000)

    def test_many_alternatives(self) -> None:
        """Very many conditions are looked at as any."""
        for key in ("anyOf", "oneOf", "allOf"):
            schema = {**INTEGER, key: [{"minimum": index, "maximum": index + 4000} for index in range(3000)]}
            self.assertEqual(bool(value_complaints(schema, 0)), key == "allOf")
