"""Decoding of custom objects (reference CRD-14)."""
# covers: orchtw.schema.custom.parts

from __future__ import annotations

from copy import copy
from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest, Invalid
from orchtw.schema.codec.body import read_body
from orchtw.schema.custom.codec import LARGE_SCHEMA_BYTES, CustomCodec
from orchtw.schema.custom.parts import Unsure
from orchtw.schema.custom.terms import ValidationTerms, forms_of
from orchtw.wire.objects import Object
from tests.registry.widgets import GROUP, widget
from tests.schema.custom.made import CODECS, TYPE, codec_of, schema_of, spec_codec, value_complaints, widget_of

INTEGER, TEXT = {"type": "integer"}, {"type": "string"}


class TypeTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.codec = spec_codec(a=INTEGER)

    def test_missing(self) -> None:
        """A body says what it is."""
        body = b'{"apiVersion":"x","a":1}'
        failure = self.assertRaises(BadRequest, read_body, self.codec, body, "json", "Warn")
        self.assertEqual(
            failure.message,
            "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in "
            '\'{"apiVersion":"x","a":1}\' ({"apiVersion":"x","a":1})',
        )
        failure = self.assertRaises(BadRequest, read_body, self.codec, b'{"kind":"Widget"}', "json", "Warn")
        self.assertIn("Object 'apiVersion' is missing in", failure.message)

    def test_unknown_type(self) -> None:
        """No value is of an unknown type, as a stored definition may have."""
        for value, kind in ((1, "integer"), ("x", "string"), ([], "array"), ({}, "object")):
            told = f'spec.a: Invalid value: "{kind}": spec.a in body must be of type intager: "{kind}"'
            self.assertEqual(value_complaints({"type": "intager"}, value), [told])

    def test_other_kind(self) -> None:
        """Another kind is not valid."""
        failure = self.assertRaises(Invalid, self.codec.fit, {**widget_of(), "kind": "Bar"}, "Warn")
        self.assertEqual(
            failure.message,
            f'Widget.{GROUP} "w" is invalid: kind: Invalid value: "Bar": must be Widget',
        )

    def test_other_version(self) -> None:
        """Another version is told as of any kind (reference WRITE-7)."""
        body = {**widget_of(), "apiVersion": f"{GROUP}/v2"}
        self.assertRaises(BadRequest, self.codec.fit, body, "Warn")

    def test_wrong_types(self) -> None:
        """A wrong type is a 422 that names the object; made-up names are named by their beginning."""
        failure = self.assertRaises(Invalid, self.codec.fit, widget_of(spec={"a": "x"}), "Warn")
        self.assertEqual(
            failure.message,
            f'Widget.{GROUP} "w" is invalid: spec.a: Invalid value: "string": '
            'spec.a in body must be of type integer: "string"',
        )
        value = {**widget_of(spec={"a": "x"}), "metadata": {"generateName": "w-"}}
        failure = self.assertRaises(Invalid, self.codec.normalise, value)
        self.assertIn('"w-" is invalid', failure.message)

    def test_wrong_metadata(self) -> None:
        """Metadata of a wrong type is refused as of any kind (reference ERR-15)."""
        value = {**widget_of(), "metadata": {"labels": {"a": 1}}}
        failure = self.assertRaises(BadRequest, self.codec.fit, value, "Warn")
        self.assertIn("metadata.labels[a]: expected a string, got number 1", failure.message)

    def test_no_object(self) -> None:
        """Anything but an object cannot be read."""
        self.assertRaises(BadRequest, self.codec.normalise, [])
        self.assertRaises(BadRequest, read_body, self.codec, b"[]", "json", "Warn")

    def test_huge_integer(self) -> None:
        """An integer that no JSON of ours can hold is refused."""
        for spec in ("a: 123456789012345678901234567890", "n: 123456789012345678901234567890"):
            text = f"kind: Widget\napiVersion: {GROUP}/v1\nmetadata: {{name: w}}\nspec: {{{spec}}}\n"
            codec = spec_codec(a=INTEGER, n={"type": "number"})
            try:
                orjson.dumps(read_body(codec, text.encode(), "yaml", "Warn")[0])
            except (BadRequest, Invalid):
                pass


class ValidatorTests(SynchronousTestCase):
    def test_one_part(self) -> None:
        """The status can be looked at alone: paths are below it, texts name it."""
        status = {"type": "object", "properties": {"n": {**INTEGER, "minimum": 1}}}
        codec = codec_of({"type": "object", "properties": {"status": status}})
        (cause,) = codec.check_part("status", {"n": 0}, None)
        why = "n: Invalid value: 0: status.n in body should be greater than or equal to 1"
        self.assertEqual(str(cause), why)
        self.assertEqual(codec.check_part("status", {"n": 1}, None), [])
        self.assertEqual(codec.check_part("spec", {"n": 0}, None), [])

    def test_rules(self) -> None:
        """Rules come last, and in 1.24 only when all else is well (reference CRD-28)."""
        rules = [{"rule": "self > 1", "message": "too small"}]
        codec = spec_codec(a={**INTEGER, "x-orch-validations": rules}, b={**INTEGER, "minimum": 1})
        cases: tuple[tuple[Object, list[str]], ...] = (
            ({"a": 2}, []), ({"a": 1}, ["spec.a"]), ({"a": 1, "b": 0}, ["spec.b", "spec.a"])
        )  # fmt: skip
        for spec, expected in cases:
            obj = codec.normalise(widget_of(spec=spec))
            self.assertEqual([cause.field for cause in codec.check(obj, None)], expected)
        codec._terms = ValidationTerms(tells_unchecked=False)
        self.assertEqual([cause.field for cause in codec.check(obj, None)], ["spec.b"])

    def test_rules_that_were_not_checked(self) -> None:
        """Beside errors that make rules pointless a cause says that they were not checked (reference CRD-72)."""
        rules = [{"rule": "self > 1"}]
        codec = spec_codec(a={**INTEGER, "x-orch-validations": rules}, b={**TEXT, "maxLength": 1})
        obj = codec.normalise(widget_of(spec={"a": 1, "b": "abc"}))
        why = (
            "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
            "correct the existing errors to complete validation"
        )
        self.assertEqual([*map(str, codec.check(obj, None))], ["spec.b: Too long: may not be longer than 1", why])
        failure = self.assertRaises(Invalid, codec.normalise, widget_of(spec={"a": "x"}))
        self.assertTrue(failure.message.endswith(f", {why}]"), failure.message)
        codec._terms = ValidationTerms(quotes_null=True)
        self.assertEqual(str(codec.check(obj, None)[1]), why.replace("null", '"null"'))
        codec._terms = ValidationTerms(tells_unchecked=False)
        failure = self.assertRaises(Invalid, codec.normalise, widget_of(spec={"a": "x"}))
        self.assertNotIn("<nil>", failure.message)

    def test_forms(self) -> None:
        """Causes have the forms of the release that is reported: units, lists and objects (reference CRD-72)."""
        values = {"type": "object", "additionalProperties": TEXT}
        codec = spec_codec(
            a={**TEXT, "maxLength": 1},
            b={**TEXT, "maxLength": 2},
            l={"type": "array", "items": values, "x-orch-list-type": "set"},
        )
        obj = codec.normalise(widget_of(spec={"a": "abc", "b": "abc", "l": [{"k": "<1"}, {"k": "<1"}]}))
        first = ["Too long: may not be longer than 1", "Too long: may not be longer than 2"]
        later = ["Too long: may not be more than 1 byte", "Too long: may not be more than 2 bytes"]
        go, json = 'map[string]interface {}{"k":"<1"}', '{"k":"\\u003c1"}'
        for release, limits, shown in (((1, 31), first, go), ((1, 33), later, go), ((1, 34), later, json)):
            codec = self.reworded(codec, release)
            found = [each.message for each in codec.check(obj, None)]
            self.assertEqual(found, [*limits, f"Duplicate value: {shown}"], release)

    def test_forms_of_rules(self) -> None:
        """From 1.35 on, a broken rule's cause shows a scalar, and nothing of other values (reference CRD-72)."""
        duplicate = {"rule": "false", "reason": "FieldValueDuplicate"}
        rules = [{"rule": "false", "message": "no"}, duplicate]
        codec = spec_codec(
            n={**INTEGER, "x-orch-validations": rules},
            o={"type": "object", "additionalProperties": TEXT, "x-orch-validations": rules},
            t={**TEXT, "x-orch-validations": rules},
            x={**INTEGER, "x-orch-validations": [{"rule": "1 / self > 0"}]},
        )
        obj = codec.normalise(widget_of(spec={"n": 3, "o": {"k": "1"}, "t": 'a"', "x": 0}))
        error = ': "integer": division by zero evaluating rule: 1 / self > 0'
        for release, number, parts, text in (
            ((1, 34), ': "integer"', ': "object"', ': "string"'),
            ((1, 35), ": 3", "", ': "a\\""'),
        ):
            found = [each.message for each in self.reworded(codec, release).check(obj, None)]
            expected: list[str] = []
            for value in (number, parts, text):
                expected += (f"Invalid value{value}: no", f"Duplicate value{value}")
            self.assertEqual(found, [*expected, f"Invalid value{error}"], release)

    def reworded(self, codec: CustomCodec, release: tuple[int, int]) -> CustomCodec:
        """The same codec with the forms of a release."""
        made = copy(codec)
        made.__dict__.pop("_marked", None)
        made._terms = ValidationTerms(forms=forms_of(release))
        return made

    def test_unchanged_values(self) -> None:
        """With ratcheting, errors of values that have not changed are dropped on update (reference CRD-73)."""
        items = {"type": "object", "properties": {"k": TEXT, "n": {**INTEGER, "minimum": 1}}}
        keyed = {"x-orch-list-type": "map", "x-orch-list-map-keys": ["k"]}
        codec = spec_codec(
            a={**INTEGER, "minimum": 5},
            b=TEXT,
            l={"type": "array", "items": items},
            m={"type": "array", "items": items, **keyed},
        )
        codec._terms = ValidationTerms(ratchets=True)
        bad: Object = {"a": 1, "b": "x", "l": [{"k": "x", "n": 0}], "m": [{"k": "x", "n": 0}]}
        old = codec.normalise(widget_of(spec=bad))
        for change, expected in (
            ({"b": "y"}, []),
            ({"a": 2}, ["spec.a"]),
            ({"l": [*bad["l"], {"k": "y", "n": 1}]}, ["spec.l[0].n"]),
            ({"m": [{"k": "y", "n": 1}, *bad["m"]]}, []),
            ({"m": [{"k": "x", "n": -1}]}, ["spec.m[0].n"]),
        ):
            new = codec.normalise(widget_of(spec={**bad, **change}))
            self.assertEqual([cause.field for cause in codec.check(new, old)], expected, change)

    def test_unchanged_types(self) -> None:
        """With ratcheting, a value may keep a type that the schema no longer has (reference CRD-73)."""
        codec = spec_codec(a=INTEGER, b=TEXT)
        codec._terms = ValidationTerms(ratchets=True)
        old = codec.normalise(widget_of(spec={"a": "1"}))
        for spec, expected in (
            ({"a": "1", "b": "x"}, []),
            ({"a": "2"}, ["spec.a"]),
            ({"a": "1", "b": 2}, ["spec.b"]),
        ):
            new = codec.normalise(widget_of(spec=spec))
            self.assertEqual([cause.field for cause in codec.check(new, old)], expected, spec)
        self.assertEqual([cause.field for cause in codec.check(old, None)], ["spec.a"])

    def test_excused_rules(self) -> None:
        """With ratcheting, a broken rule about a value that has not changed is a warning (reference CRD-73)."""
        rules = [{"rule": "self > 1"}]
        codec = spec_codec(a={**INTEGER, "x-orch-validations": rules}, b=TEXT)
        codec._terms = ValidationTerms(ratchets=True)
        old = codec.normalise(widget_of(spec={"a": 1}))
        new = codec.normalise(widget_of(spec={"a": 1, "b": "x"}))
        self.assertEqual(codec.check(new, old), [])
        known = codec.outcome
        self.patch(codec, "outcome", None)  # what has been found is not looked for again
        self.assertEqual(len(codec.excused(new, old)), 1)
        self.patch(codec, "outcome", known)
        self.assertEqual(codec.excused(new, old), ['spec.a: Invalid value: "integer": failed rule: self > 1'])
        self.assertEqual(codec.excused(new, None), [])
        changed = codec.normalise(widget_of(spec={"a": 0}))
        self.assertEqual([cause.field for cause in codec.check(changed, old)], ["spec.a"])


class FieldValidationTests(SynchronousTestCase):
    def test_directives(self) -> None:
        """Unknown and repeated fields are told, or refused, or nobody asks (reference WRITE-26)."""
        codec = spec_codec(a=INTEGER)
        body = orjson.dumps(widget_of(spec={"a": 1, "b": 2})).replace(b'"a":1', b'"a":1,"a":2')
        found = ['duplicate field "spec.a"', 'unknown field "spec.b"']
        self.assertEqual(read_body(codec, body, "json", "Warn")[1], found)
        self.assertEqual(read_body(codec, body, "json", "Ignore"), (codec.normalise(widget_of(spec={"a": 2})), []))
        failure = self.assertRaises(BadRequest, read_body, codec, body, "json", "Strict")
        self.assertIn("strict decoding error: " + ", ".join(found), failure.message)


class CostTests(SynchronousTestCase):
    def test_nothing_before_use(self) -> None:
        """A codec that nobody uses has neither parsed nor compiled anything."""
        codec = codec_of({"type": "object"})
        broken = schema_of({})
        broken.source = b"no JSON"
        CustomCodec(widget(), broken, CODECS)
        self.assertEqual({"_shaped", "_checked", "_metadata"} & set(codec.__dict__), set())
        codec.normalise(TYPE)
        self.assertNotIn("_checked", codec.__dict__)

    def test_little_by_little(self) -> None:
        """Of a schema with very many parts a value has few compiled; it is read no other way than those after it."""
        part = {f"m{index}": {"type": "string", "enum": ["x"]} for index in range(20)}
        parts = {f"p{index}": {"type": "object", "properties": part, "maxProperties": index} for index in range(80)}
        codec = spec_codec(**parts)
        value = widget_of(spec={name: {"m1": "x"} for name in parts})
        first = codec.normalise(value)
        self.assertEqual(codec.check(first, None)[0].field, "spec.p0")
        self.assertRaises(Unsure, codec._shaped, value, False, [])
        for _ in range(80):
            self.assertEqual(codec.normalise(value), first)
            self.assertEqual([each.field for each in codec.check(first, None)], ["spec.p0"])
        self.assertEqual(codec._shaped(value, False, []), {key: first[key] for key in ("metadata", "spec")})
        del first["spec"]["p0"]
        for _ in range(80):
            self.assertEqual(codec.check(first, None), [])
        self.assertEqual(codec._checked(first), True)

    def test_many_conditions(self) -> None:
        """Of conditions there may be so many that even a small object is looked at elsewhere."""
        few = spec_codec(a={"x-orch-int-or-string": True, "anyOf": [INTEGER, {"type": "string"}]})
        self.assertEqual((few.may_take_long(60_000), spec_codec(a=INTEGER).may_take_long(60_000)), (False, False))
        item = {**INTEGER, "allOf": [{"not": {"minimum": index}} for index in range(50)]}
        many = spec_codec(l={"type": "array", "items": item})
        self.assertEqual((many.may_take_long(1000), many.may_take_long(10_000)), (False, True))

    def test_too_costly(self) -> None:
        """A value that cannot be held against its schema in bounded time is refused in words."""
        item = {"type": "integer", "allOf": [{"minimum": index} for index in range(600)]}
        codec = spec_codec(l={"type": "array", "items": {"type": "array", "items": item}})
        obj = codec.normalise(widget_of(spec={"l": [[700] * 3000, [-1]]}))
        told = [str(each) for each in codec.check(obj, None)]
        self.assertEqual(told, ["<nil>: Forbidden: it takes too much work to be validated"])

    def test_defaults_without_end(self) -> None:
        """Small objects do not become huge ones by their defaults: they are refused, and read without (reference
        CRD-64).
        """
        for default in ({"a": "x" * 1000}, ["x" * 1000], "x" * 1000):
            kind = {dict: "object", list: "array", str: "string"}[type(default)]
            part: Any = {"type": kind, "default": default}
            if kind == "array":
                part["items"] = {"type": "string"}
            if kind == "object":
                part["additionalProperties"] = {"type": "string"}
            codec = spec_codec(l={"type": "array", "items": {"type": "object", "properties": {"d": part}}})
            few, many = widget_of(spec={"l": [{}] * 1000}), widget_of(spec={"l": [{}] * 10_000})
            for _ in range(2):
                self.assertEqual(codec.fit(few, "Ignore")[0]["spec"]["l"][999], {"d": default})
                refusal = self.assertRaises(Invalid, codec.fit, many, "Ignore")
                self.assertIn("its defaults would take too much room", refusal.message)
            self.assertEqual(codec.refresh(many)["spec"], many["spec"])

    def test_work(self) -> None:
        """Objects of large schemas, and of patterns that take long to compile, count as large ones."""
        self.assertEqual(spec_codec(a={"type": "string", "pattern": "^[a-z]{1,63}$"}).work_bytes(10), 10)
        for codec in (
            spec_codec(a={"type": "string", "pattern": "^.{1,900}$"}),
            spec_codec(a={"type": "string", "description": "x" * LARGE_SCHEMA_BYTES}),
        ):
            self.assertGreater(codec.work_bytes(10), LARGE_SCHEMA_BYTES)


class FirstObjectsTests(SynchronousTestCase):
    def test_same(self) -> None:
        """The first objects, for which no functions are written yet, are read and validated like all others."""
        codec = spec_codec(a={**INTEGER, "maximum": 5}, b={"type": "string", "default": "x"})
        codec.direct_looks = 6
        for _ in range(6):
            obj, lost = codec.fit(widget_of(spec={"a": 7, "c": 1}), "Warn")
            self.assertEqual((obj["spec"], lost), ({"a": 7, "b": "x"}, ['unknown field "spec.c"']))
            (cause,) = codec.check(obj, None)
            self.assertEqual(cause.field, "spec.a")
            self.assertEqual(codec.refresh(widget_of(spec={}))["spec"], {"b": "x"})
            self.assertRaises(Invalid, codec.fit, widget_of(spec={"a": "x"}), "Warn")
