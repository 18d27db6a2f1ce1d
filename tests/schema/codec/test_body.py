"""One way of a body to an object: `read_body` and `fit`."""

# covers: orchtw.schema.codec.message_codec

from __future__ import annotations

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec import body as module
from orchtw.schema.codec.body import Format, Parsed, fit_value, parse, read_body
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import wrap
from orchtw.schema.codec.strict_fields import IGNORE, STRICT, WARN
from orchtw.schema.codec.yaml_codec import encode_yaml
from orchtw.wire.objects import Object

CODECS = Codecs(Catalogue.load(Naming.orch()))
PODS = CODECS.kind("v1", "Pod")
MAPS = CODECS.kind("v1", "ConfigMap")
EVICTION = CODECS.kind("policy/v1", "Eviction")
OLDER = CODECS.kind("policy/v1beta1", "Eviction")
POD: Object = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 1}]}]}}


def bodies(api_version: str, kind: str, obj: Object) -> dict[Format, bytes]:
    """An object in each form; types may be empty."""
    types = {key: value for key, value in (("apiVersion", api_version), ("kind", kind)) if value}
    typed = {**obj, **types}
    raw = CODECS.kind(api_version or "v1", kind or "Pod").encode_protobuf(obj)
    return {"json": orjson.dumps(typed), "yaml": encode_yaml(typed), "protobuf": wrap(api_version, kind, raw)}


class ReadTests(SynchronousTestCase):
    """Bodies in all three forms."""

    def test_canonical_with_defaults(self) -> None:
        """Every form gives the same canonical object, with its type and its declared defaults, and no findings."""
        expected = PODS.normalise(POD)
        PODS.set_defaults(expected)
        self.assertEqual(expected["spec"]["containers"][0]["ports"][0]["protocol"], "TCP")
        for types in (("v1", "Pod"), ("", "")):
            for form, body in bodies(*types, POD).items():
                obj, findings = read_body(PODS, body, form, STRICT)
                self.assertEqual((orjson.dumps(obj), findings), (orjson.dumps(expected), []), form)

    def test_parsed_once(self) -> None:
        """The text is parsed one time, findings or not."""
        parsed: list[Format] = []

        def counted(body: bytes, form: Format) -> Parsed:
            parsed.append(form)
            return parse(body, form)

        self.patch(module, "parse", counted)
        for form, body in bodies("v1", "Pod", POD).items():
            read_body(PODS, body, form, WARN)
        self.assertEqual(parsed, ["json", "yaml", "protobuf"])

    def test_findings(self) -> None:
        """Warn tells what a strict reader finds, Ignore nothing, Strict refuses it all (reference WRITE-24)."""
        table: tuple[tuple[Format, bytes, list[str]], ...] = (
            ("json", b'{"foo":1,"data":{"a":"1","a":"2"}}', ['unknown field "foo"', 'duplicate field "data.a"']),
            ("yaml", b"data: {a: b,\n  a: c}\nfoo: 1", ['line 2: key "a" already set in map', 'unknown field "foo"']),
        )
        for form, body, expected in table:
            self.assertEqual(read_body(MAPS, body, form, WARN)[1], expected)
            self.assertEqual(read_body(MAPS, body, form, IGNORE)[1], [])
            self.assertNotIn("foo", read_body(MAPS, body, form, IGNORE)[0])
            error = self.assertRaises(BadRequest, read_body, MAPS, body, form, STRICT)
            start = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
            self.assertEqual(error.message, start + ", ".join(expected))

    def test_parsed_value(self) -> None:
        """A parsed value is fitted as a body is; earlier findings come first, and the caller may word the refusal."""
        value = {"data": {"a": "b"}, "foo": 1}
        expected = read_body(MAPS, orjson.dumps(value), "json", WARN)
        self.assertEqual(fit_value(MAPS, value, WARN), expected)
        self.assertEqual(fit_value(MAPS, value, WARN, found=["x"])[1], ["x", *expected[1]])
        self.assertEqual(fit_value(MAPS, value, IGNORE, found=["x"])[1], [])
        error = self.assertRaises(BadRequest, fit_value, MAPS, value, STRICT, found=["x"], refusal=BadRequest)
        self.assertEqual(error.message, 'strict decoding error: x, unknown field "foo"')

    def test_live_of_another_version(self) -> None:
        """Parts of the live object are only taken over by a value of its kind and version."""
        live = MAPS.normalise({"data": {"a": "b"}})
        for types in ({}, {"apiVersion": "v1", "kind": "ConfigMap"}):
            self.assertEqual(fit_value(MAPS, {**live, **types}, IGNORE, live=live)[0], live)
        error = self.assertRaises(BadRequest, fit_value, MAPS, {**live, "kind": "Pod"}, IGNORE, live=live)
        self.assertIn("Pod", error.message)

    def test_empty_yaml(self) -> None:
        """A YAML body without a document is an empty object, under every directive."""
        for directive in (IGNORE, WARN, STRICT):
            self.assertEqual(read_body(MAPS, b"# nothing\n", "yaml", directive), (MAPS.normalise({}), []))


class VersionsTests(SynchronousTestCase):
    """A kind that may come in several versions."""

    def read(self, body: bytes, form: Format) -> str:
        obj, _ = read_body(EVICTION, body, form, IGNORE, (OLDER,))
        version: str = obj["apiVersion"]
        return version

    def test_by_type(self) -> None:
        """The version that a body names chooses the codec; a body that names none is of the first version."""
        for version in ("policy/v1", "policy/v1beta1"):
            for form, body in bodies(version, "Eviction", {"metadata": {"name": "p"}}).items():
                self.assertEqual(self.read(body, form), version, form)
        self.assertEqual(self.read(b'{"metadata":{"name":"p"}}', "json"), "policy/v1")
        self.assertEqual(self.read(wrap("", "", b""), "protobuf"), "policy/v1")

    def test_mentioned_elsewhere(self) -> None:
        """Another version in an annotation says nothing about the body's own."""
        meta = {"name": "p", "annotations": {"note": "policy/v1beta1"}}
        for version in ("policy/v1", ""):
            body = {"metadata": meta, **({"apiVersion": version} if version else {})}
            self.assertEqual(self.read(orjson.dumps(body), "json"), "policy/v1")
            self.assertEqual(self.read(encode_yaml(body), "yaml"), "policy/v1")

    def test_far_behind(self) -> None:
        """The version counts wherever in the body it stands."""
        body = b'{"metadata":{"annotations":{"note":"%b"}},"apiVersion":"policy/v1beta1"}' % (b"x" * 5000)
        self.assertEqual(self.read(body, "json"), "policy/v1beta1")

    def test_another_type(self) -> None:
        """Any other version, and any other kind, is refused as ever."""
        for body, text in (
            (b'{"apiVersion":"v1"}', 'no kind "Eviction" is registered for version "v1"'),
            (
                b'{"apiVersion":"policy/v1beta1","kind":"PodDisruptionBudget"}',
                "converting (v1beta1.PodDisruptionBudget) to (policy.Eviction): unknown conversion",
            ),
            (b'{"apiVersion":["policy/v1beta1"]}', "apiVersion: expected a string, got a list"),
        ):
            error = self.assertRaises(BadRequest, self.read, body, "json")
            self.assertIn(text, error.message)


class FitTests(SynchronousTestCase):
    """Values that are parsed already, such as what a patch makes of an object."""

    def test_findings_never_raise(self) -> None:
        """Findings are returned to the caller: a patch words its refusal in its own way
        (reference WRITE-28).
        """
        obj, findings = PODS.fit({**POD, "foo": 1}, STRICT)
        self.assertEqual(findings, ['unknown field "foo"'])
        self.assertEqual(obj["spec"]["containers"][0]["ports"][0]["protocol"], "TCP")
        self.assertEqual(PODS.fit({**POD, "foo": 1}, IGNORE)[1], [])
