"""The protocol of codecs, by its implementations for built-in and for custom kinds."""

from __future__ import annotations

import inspect

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.names import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.body import read_body
from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.schema.codec.strict_fields import IGNORE, WARN
from orchtw.schema.custom.codec import CustomCodec
from tests.schema.custom.made import spec_codec, widget_of

INTEGER = {"type": "integer"}

BUILT_IN: Codec = Codecs(Catalogue.load(Naming.orch())).kind("v1", "ConfigMap")
MEMBERS = sorted(name for name in vars(Codec) if not name.startswith("_"))


class CodecTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.custom: Codec = spec_codec(a=INTEGER)

    def test_members(self) -> None:
        """Both implementations have every member of the protocol, methods with the protocol's parameters."""
        for codec in (BUILT_IN, self.custom):
            for name in MEMBERS:
                wanted = vars(Codec)[name]
                found = getattr(codec, name)
                if inspect.isfunction(wanted) and name != "set_defaults":  # that one is a compiled function
                    parameters = list(inspect.signature(wanted).parameters)[1:]
                    self.assertEqual(list(inspect.signature(found).parameters), parameters, f"{type(codec)} {name}")

    def test_one_way(self) -> None:
        """One function reads the bodies of both, into objects that begin with their type."""
        for codec, obj in (
            (BUILT_IN, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"k": "v"}}),
            (self.custom, widget_of(spec={"a": 1})),
        ):
            body = orjson.dumps({**obj, "unknown": 1})
            read, findings = read_body(codec, body, "json", WARN)
            self.assertEqual(findings, ['unknown field "unknown"'])
            self.assertTrue(orjson.dumps(read).startswith(codec.type_prefix))
            self.assertEqual(read, read_body(codec, orjson.dumps(read), "json", IGNORE)[0])
            self.assertEqual(codec.check(read, None), [])

    def test_protobuf(self) -> None:
        """Only a built-in kind has the methods of Protobuf."""
        self.assertEqual((BUILT_IN.protobuf, isinstance(BUILT_IN, KindCodec)), (True, True))
        self.assertEqual((self.custom.protobuf, isinstance(self.custom, CustomCodec)), (False, True))
