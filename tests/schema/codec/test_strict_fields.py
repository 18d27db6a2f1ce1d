"""Strict findings: unknown and repeated keys (reference WRITE-26, WRITE-27)."""

from __future__ import annotations

import json
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as some
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.body import read_body
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.strict_fields import MAX_FINDINGS, WARN, Pairs, may_repeat, pairs_of, repeated_keys
from orchtw.schema.codec.yaml_codec import decode_yaml
from tests.properties import examples

_CODECS = Codecs(Catalogue.load(Naming.of("orch")))
_KEYS = some.text('ab:"\\\n \u00e4', max_size=3)
_VALUES = some.recursive(
    some.none() | some.booleans() | some.integers(-9, 9) | _KEYS,
    lambda inner: some.lists(inner, max_size=3) | some.lists(some.tuples(_KEYS, inner), max_size=4).map(Pairs),
)


def findings(kind: str, body: bytes, api_version: str = "v1") -> list[str]:
    """Return the findings in a JSON text."""
    return read_body(_CODECS.kind(api_version, kind), body, "json", WARN)[1]


class UnknownFieldTests(SynchronousTestCase):
    """Keys that the schema does not know."""

    def test_places(self) -> None:
        """Each is named with its place, and what is below it is not looked at."""
        pod: dict[str, Any] = {
            "foo": {"bar": 1},
            "kind": "Pod",
            "metadata": {"name": "p", "labels": {"any": "key"}, "ownerReferences": [{"uid": "u", "x": 1}]},
            "spec": {"containers": [{"name": "a"}, {"name": "b", "env": [{"name": "E", "valuefrom": {}}]}]},
        }
        expected = ["foo", "metadata.ownerReferences[0].x", "spec.containers[1].env[0].valuefrom"]
        self.assertEqual(findings("Pod", orjson.dumps(pod)), [f'unknown field "{place}"' for place in expected])

    def test_known(self) -> None:
        """Kind and apiVersion are known where an object may say them, free keys and null everywhere."""
        claim = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "spec": None}
        body = {"kind": "StatefulSet", "apiVersion": "apps/v1", "spec": {"volumeClaimTemplates": [claim, None]}}
        self.assertEqual(findings("StatefulSet", orjson.dumps(body), "apps/v1"), [])
        body = {"spec": {"template": {"kind": "Pod"}}}
        found = findings("StatefulSet", orjson.dumps(body), "apps/v1")
        self.assertEqual(found, ['unknown field "spec.template.kind"'])

    def test_schemas(self) -> None:
        """A JSON schema inside a definition is looked at, in its maps and alternatives; its defaults are not."""
        schema = {
            "properties": {"a": {"items": {"zap": 1}, "default": {"zap": 1}}},
            "additionalProperties": {"zap": 2},
            "anyOf": [{"zap": 3}],
        }
        version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
        found = findings(
            "CustomResourceDefinition", orjson.dumps({"spec": {"versions": [version]}}), "apiextensions.orch.io/v1"
        )
        root = "spec.versions[0].schema.openAPIV3Schema"
        places = (".properties.a.items.zap", ".additionalProperties.zap", ".anyOf[0].zap")
        self.assertEqual(found, [f'unknown field "{root}{place}"' for place in places])

    def test_limit(self) -> None:
        """No more than a hundred are reported."""
        body = orjson.dumps({str(number): 1 for number in range(MAX_FINDINGS + 5)})
        self.assertEqual(len(findings("ConfigMap", body)), MAX_FINDINGS)


class RepeatedKeyTests(SynchronousTestCase):
    """Keys that come twice."""

    def test_places(self) -> None:
        """Each is named with its place, between the unknown ones in the order of the text."""
        body = b'{"metadata":{"name":"a","name":"b","x":{"y":1,"y":2}},"data":{"k":"1","l":"2","k":"3"}}'
        expected = ['duplicate field "metadata.name"', 'unknown field "metadata.x"', 'duplicate field "data.k"']
        self.assertEqual(findings("ConfigMap", body), expected)

    def test_without_schema(self) -> None:
        """Where nothing is known of the value, every object counts."""
        body = b'{"a":[{"b":1,"b":2}],"c":{"d":{"e":1,"e":1}}}'
        expected = ['duplicate field "a[0].b"', 'duplicate field "c.d.e"']
        self.assertEqual(repeated_keys(body, orjson.loads(body)), expected)

    def test_spellings(self) -> None:
        """Space, escapes and colons inside of strings hide none and make none."""
        for body in (
            b'{"a": 1, "a" : 2}',
            b'{"a":1,"\\u0061":2}',
            b'{"a":"\\u003a","a":1}',
            b'{"a":"\\u003A::","b":1,"a":1}',
            b'{"a:":":","a:":"\\":"}',
        ):
            self.assertTrue(may_repeat(body, orjson.loads(body)), body)
            self.assertEqual(len(repeated_keys(body, orjson.loads(body))), 1, body)
        for body in (b'{"a": ":", "b" : "\\":"}', b'{"\\\\":1,"\\":":[":","::"]}', b'{"a":"\\u003a"}'):
            self.assertEqual(repeated_keys(body, orjson.loads(body)), [], body)

    @examples(300)
    @given(_VALUES, some.booleans())
    def test_the_quick_test_misses_none(self, value: Any, ascii_only: bool) -> None:
        """Whatever the text, a repeated key is noticed; compact texts without one pass quickly."""
        body = _written(value, ascii_only).encode()
        self.assertEqual(pairs_of(body), value)
        if _repeats(value):
            self.assertTrue(may_repeat(body, orjson.loads(body)))
        else:
            self.assertFalse(may_repeat(body, orjson.loads(body)))


class YAMLTests(SynchronousTestCase):
    """Keys that come twice in YAML."""

    def test_lines(self) -> None:
        """Repeated keys are named with their line; merged keys do not count."""
        text = b"a: 1\nb: {c: 1, c: 2}\na: 3\nd: &d {x: 1}\ne: {<<: *d, x: 2}\n"
        repeated: list[str] = []
        value = decode_yaml(text, repeated)
        self.assertEqual(value["a"], 3)
        self.assertEqual(repeated, ['line 2: key "c" already set in map', 'line 3: key "a" already set in map'])


def _written(value: Any, ascii_only: bool) -> str:
    """Compact JSON, repeated keys and all."""
    if isinstance(value, Pairs):
        members = (f"{json.dumps(key, ensure_ascii=ascii_only)}:{_written(item, ascii_only)}" for key, item in value)
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_written(item, ascii_only) for item in value) + "]"
    return json.dumps(value, ensure_ascii=ascii_only)


def _repeats(value: Any) -> bool:
    if isinstance(value, Pairs):
        return len(dict(value)) < len(value) or any(_repeats(item) for _, item in value)
    return isinstance(value, list) and any(map(_repeats, value))
