"""Pruning and defaulting (reference CRD-15, CRD-16)."""
# covers: orchtw.schema.custom.shape_code

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest, Invalid
from tests.schema.custom.made import codec_of, findings, spec_codec, spec_of, widget_of

STRING = {"type": "string"}
KEEP = {"x-orch-preserve-unknown-fields": True}
RESOURCE = {"type": "object", "x-orch-embedded-resource": True}


def struct(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


class PruningTests(SynchronousTestCase):
    def test_unknown_fields(self) -> None:
        """Unknown members are dropped, in lists and under free keys too, and named on request."""
        codec = spec_codec(
            a=struct(b=STRING), l={"type": "array", "items": struct(b=STRING)},
            m={"type": "object", "additionalProperties": struct(b=STRING)},
        )  # fmt: skip
        spec = {"a": {"b": "", "x": 1}, "l": [{"x": 1, "b": ""}], "m": {"k": {"x": {}}}, "y": [{}]}
        self.assertEqual(spec_of(codec, spec), {"a": {"b": ""}, "l": [{"b": ""}], "m": {"k": {}}})
        self.assertEqual(
            findings(codec, spec=spec, other=1),
            [f'unknown field "{name}"' for name in ("spec.a.x", "spec.l[0].x", "spec.m.k.x", "spec.y", "other")],
        )

    def test_order(self) -> None:
        """Keys are sorted, free ones too; the type and the metadata come first."""
        codec = codec_of(struct(z=STRING, b={"type": "object", "additionalProperties": STRING}))
        obj = codec.normalise({"z": "", "b": {"y": "", "x": ""}, "metadata": {}})
        self.assertEqual(list(obj), ["kind", "apiVersion", "metadata", "b", "z"])
        self.assertEqual(list(obj["b"]), ["x", "y"])

    def test_preserved(self) -> None:
        """Below a schema that preserves unknown fields those are kept, but not in what it declares."""
        codec = spec_codec(a={**struct(b=struct(c=STRING)), **KEEP}, free=KEEP)
        spec = {"a": {"b": {"c": "", "x": 1}, "y": {"z": [None]}}, "free": [{"x": {}}, 1]}
        self.assertEqual(spec_of(codec, spec), {"a": {"b": {"c": ""}, "y": {"z": [None]}}, "free": [{"x": {}}, 1]})
        self.assertEqual(findings(codec, spec=spec), ['unknown field "spec.a.b.x"'])

    def test_preserved_list(self) -> None:
        """A list that preserves unknown fields does so for its elements, but not for what is declared in them."""
        codec = spec_codec(l={"type": "array", "items": struct(a=struct(b=STRING)), **KEEP})
        spec = {"l": [{"a": {"x": 1}, "y": {"z": 1}}]}
        self.assertEqual(spec_of(codec, spec), {"l": [{"a": {}, "y": {"z": 1}}]})
        self.assertEqual(findings(codec, spec=spec), ['unknown field "spec.l[0].a.x"'])

    def test_any_key(self) -> None:
        """Where any key is free and nothing is said of values, objects are empty."""
        codec = spec_codec(a={"type": "object", "additionalProperties": True})
        spec = {"a": {"x": 1, "y": {"z": 1}, "l": [{"z": 1}, 2]}}
        self.assertEqual(spec_of(codec, spec), {"a": {"l": [{}, 2], "x": 1, "y": {}}})
        self.assertEqual(findings(codec, spec=spec), ['unknown field "spec.a.l[0].z"', 'unknown field "spec.a.y.z"'])

    def test_null(self) -> None:
        """A null that may not be counts as missing; under an unknown schema it is kept."""
        codec = spec_codec(a=STRING, b={**STRING, "nullable": True}, c=KEEP, d={**struct(), **KEEP})
        spec = {"a": None, "b": None, "c": None, "d": {"x": None}}
        self.assertEqual(spec_of(codec, spec), {"b": None, "d": {"x": None}})

    def test_too_deep(self) -> None:
        """A value too deep to be written is refused."""
        deep: Any = 1
        for _ in range(300):
            deep = [deep]
        for schema in (KEEP, {**struct(), **KEEP}, {"type": "object", "additionalProperties": True}):
            codec = spec_codec(a=schema)
            self.assertRaises(BadRequest, spec_of, codec, {"a": {"x": deep}})

    def test_numbers(self) -> None:
        """Numbers are kept without a fraction where they have none."""
        codec = spec_codec(i={"type": "integer"}, n={"type": "number"}, e={"x-orch-int-or-string": True})
        self.assertEqual(repr(spec_of(codec, {"i": 1.0, "n": 2.0, "e": 3.0})), "{'e': 3, 'i': 1, 'n': 2}")


class MetadataTests(SynchronousTestCase):
    def test_root(self) -> None:
        """Metadata is that of every object, whatever the schema says of it."""
        codec = codec_of(struct(metadata={"type": "object", "properties": {"name": {**STRING, "maxLength": 3}}}))
        value = widget_of(metadata={"name": "long", "labels": {"a": "b"}, "x": 1})
        obj, found = codec.fit(value, "Warn")
        self.assertEqual(obj["metadata"]["labels"], {"a": "b"})
        self.assertEqual(found, ['unknown field "metadata.x"'])
        causes = [str(each) for each in codec.check(obj, None)]
        self.assertEqual(causes, ["metadata.name: Too long: may not be longer than 3"])

    def test_embedded(self) -> None:
        """An embedded object names itself, and its metadata is read as any."""
        codec = spec_codec(t={**RESOURCE, **KEEP})
        spec = {"t": {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "x": 1}, "spec": {"b": 1}}}
        kept = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"b": 1}}
        self.assertEqual(spec_of(codec, spec), {"t": kept})
        self.assertEqual(findings(codec, spec=spec), ['unknown field "spec.t.metadata.x"'])
        self.assertEqual(findings(codec, spec={"t": kept}), [])

    def test_embedded_faults(self) -> None:
        """Errors in an embedded object's metadata are reported (reference CRD-35)."""
        codec = spec_codec(t={**RESOURCE, **KEEP})
        obj = codec.normalise(widget_of(spec={"t": {"kind": "", "metadata": {"name": "a/b"}}}))
        self.assertEqual(
            [str(each) for each in codec.check(obj, None)],
            [
                "spec.t.apiVersion: Required value",
                'spec.t.kind: Invalid value: "": must not be empty',
                "spec.t.metadata.name: Invalid value: \"a/b\": may not contain '/'",
            ],
        )
        obj["spec"]["t"] = {"kind": "Some_Kind", "apiVersion": "a/b/c"}
        told = [str(each) for each in codec.check(obj, None)]
        self.assertEqual(told[0], 'spec.t.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c')
        self.assertIn('spec.t.kind: Invalid value: "Some_Kind": may have mixed case, but should', told[1])

    def test_embedded_types(self) -> None:
        """Own fields of wrong types are refused as those of the object itself."""
        codec = spec_codec(l={"type": "array", "items": {**RESOURCE, **KEEP}})
        for field, value in (("kind", 1), ("metadata", {"labels": []})):
            spec: dict[str, Any] = {"l": [{"apiVersion": "v1", "kind": "Pod", field: value}]}
            failure = self.assertRaises(BadRequest, spec_of, codec, spec)
            self.assertIn(f"spec.l[0].{field}", str(failure))


class DefaultTests(SynchronousTestCase):
    def test_missing(self) -> None:
        """A default fills a missing member, and the defaults within it fill it."""
        inner = {**struct(b={**STRING, "default": "x"}), "default": {}}
        codec = spec_codec(a=inner, c={"type": "array", "items": STRING, "default": ["y"]})
        self.assertEqual(spec_of(codec, {}), {"a": {"b": "x"}, "c": ["y"]})
        self.assertEqual(spec_of(codec, {"a": {"b": ""}, "c": []}), {"a": {"b": ""}, "c": []})

    def test_not_in_what_is_missing(self) -> None:
        """A member without a default stays missing, whatever is within it."""
        codec = spec_codec(a=struct(b={**STRING, "default": "x"}))
        self.assertEqual(spec_of(codec, {}), {})
        self.assertNotIn("spec", codec.fit(widget_of(), "Warn")[0])

    def test_null(self) -> None:
        """A null counts as missing, unless it may be one; in lists and under free keys too."""
        text = {**STRING, "default": "x"}
        codec = spec_codec(
            a=text, b={**text, "nullable": True}, l={"type": "array", "items": text},
            m={"type": "object", "additionalProperties": text},
        )  # fmt: skip
        spec = {"a": None, "b": None, "l": [None, "y"], "m": {"k": None}}
        self.assertEqual(spec_of(codec, spec), {"a": "x", "b": None, "l": ["x", "y"], "m": {"k": "x"}})

    def test_fresh(self) -> None:
        """Each object has a default of its own."""
        codec = spec_codec(a={"type": "object", "additionalProperties": STRING, "default": {"k": "v"}})
        spec_of(codec, {})["a"]["k"] = "other"
        self.assertEqual(spec_of(codec, {}), {"a": {"k": "v"}})

    def test_apart(self) -> None:
        """An object is made canonical without its defaults, and filled in place later."""
        codec = spec_codec(a={**STRING, "default": "x"})
        obj = codec.normalise({"spec": {}, "metadata": {}})
        self.assertEqual(obj["spec"], {})
        codec.set_defaults(obj)
        self.assertEqual(obj["spec"], {"a": "x"})
        self.assertEqual(list(obj)[:3], ["kind", "apiVersion", "metadata"])


class RefreshTests(SynchronousTestCase):
    """Values of the store (reference CRD-36)."""

    def test_refresh(self) -> None:
        """Stored values are read by the present schema."""
        codec = spec_codec(a={**STRING, "default": "x"})
        self.assertEqual(codec.refresh(widget_of(spec={"b": 1}))["spec"], {"a": "x"})

    def test_of_another_version(self) -> None:
        """A converted object is pruned, and keeps what does not fit."""
        codec = spec_codec(a={"type": "integer", "default": 1}, b={"type": "integer", "default": 2})
        self.assertEqual(codec.pruned(widget_of(spec={"a": "x", "y": 1}))["spec"], {"a": "x"})

    def test_what_no_longer_fits(self) -> None:
        """A value that has become wrong can still be read, and so can an object with wrong metadata within it."""
        codec = spec_codec(a={"type": "integer"}, t={**RESOURCE, **KEEP}, d={**STRING, "default": ""})
        spec = {"a": "x", "t": {"kind": 1, "metadata": {"name": 1, "labels": {"a": "b"}}}, "y": 1}
        found = codec.refresh(widget_of(spec=spec, metadata={"name": "w", "labels": 1}))
        self.assertEqual(found["spec"], {"a": "x", "d": "", "t": {"metadata": {"labels": {"a": "b"}}}})
        self.assertEqual((found["metadata"]["name"], "labels" in found["metadata"]), ("w", False))


class WideTests(SynchronousTestCase):
    def test_wide(self) -> None:
        """A schema of very many members is as any."""
        members = {f"f{index}": {"type": "integer", "default": index} for index in range(300)}
        codec = spec_codec(w={**struct(**members), "minProperties": 1})
        found = spec_of(codec, {"w": {"f7": 1.0, "x": 1}})
        self.assertEqual((len(found["w"]), found["w"]["f7"], found["w"]["f8"]), (300, 1, 8))
        self.assertEqual(codec.check(codec.normalise(widget_of(spec={"w": {"f1": 1}})), None), [])
        self.assertRaises(Invalid, spec_of, codec, {"w": {"f7": "x"}})
        wrong = codec.check(codec.normalise(widget_of(spec={"w": {}})), None)
        self.assertEqual([each.field for each in wrong], ["spec.w"])
