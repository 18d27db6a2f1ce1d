"""The protocol of codecs, by its implementations for built-in and for custom kinds."""

from __future__ import annotations

import inspect

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.body import fit_own, read_body
from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.strict_fields import IGNORE, WARN
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
        self.assertEqual((BUILT_IN.protobuf, BUILT_IN.with_message), (True, BUILT_IN))
        self.assertEqual((self.custom.protobuf, self.custom.with_message), (False, None))

    def test_may_take_long(self) -> None:
        """Only checks of a custom kind may take long for a small object: those of many conditions."""
        self.assertFalse(BUILT_IN.may_take_long(1 << 20))
        self.assertFalse(self.custom.may_take_long(1 << 20))
        self.assertTrue(spec_codec(a={**INTEGER, "anyOf": [{}, {}]}).may_take_long(1 << 20))

    def test_own(self) -> None:
        """An object of the server's own gets type and defaults from either codec, and loses what is unknown."""
        custom = spec_codec(a={**INTEGER, "default": 1})
        self.assertEqual(fit_own(custom, {"spec": {"z": 2}})["spec"], {"a": 1})
        self.assertEqual(fit_own(custom, {"spec": {}})["kind"], "Widget")
        self.assertEqual(fit_own(BUILT_IN, {"data": {}, "z": 1}), BUILT_IN.normalise({"data": {}}))
