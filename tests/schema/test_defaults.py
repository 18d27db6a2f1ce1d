"""Declared defaults fill what is absent, in place and in order."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.json_codec import normalisers
from orchtw.schema.defaults import Defaults
from orchtw.schema.nodes import Field, ListSchema, MapSchema, Scalar, StructSchema

CODECS = Codecs(Catalogue.load(Naming.orch()))

INNER = StructSchema(
    "Inner",
    [
        Field(name="a", node=Scalar.STRING, omitempty=True),
        Field(name="b", node=Scalar.INT32, omitempty=True, default=5),
        Field(name="c", node=Scalar.BOOL, omitempty=True, pointer=True, default=False),
        Field(name="d", node=Scalar.STRING, default="x"),
    ],
)
OUTER = StructSchema(
    "Outer",
    [
        Field(name="one", node=INNER, omitempty=True, pointer=True),
        Field(name="made", node=INNER, omitempty=True, pointer=True, default={}),
        Field(name="list", node=ListSchema(INNER), omitempty=True),
        Field(name="map", node=MapSchema(INNER), omitempty=True),
        Field(name="plain", node=ListSchema(Scalar.STRING), omitempty=True, default=["p"]),
    ],
)


class DefaultsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.normalise = normalisers()
        self.defaults = Defaults(self.normalise)

    def _filled(self, value: dict[str, Any]) -> dict[str, Any]:
        obj: dict[str, Any] = self.normalise[OUTER](value)
        self.defaults[OUTER](obj)
        return obj

    def test_absent_only(self) -> None:
        """A field that is set stays; zero is set behind a pointer and absent without one (reference KIND-14)."""
        found = self._filled({"one": {"b": 0, "c": True, "d": ""}, "made": {"b": 7, "d": "y"}, "plain": ["q"]})
        self.assertEqual(found["one"], {"b": 5, "c": True, "d": "x"})
        self.assertEqual(found["made"], {"b": 7, "c": False, "d": "y"})
        self.assertEqual(found["plain"], ["q"])

    def test_everywhere(self) -> None:
        """Defaults reach into structs, lists, maps and structs that are defaults themselves; nothing else is made."""
        full = {"b": 5, "c": False, "d": "x"}
        self.assertEqual(self._filled({}), {"made": full, "plain": ["p"]})
        found = self._filled({"one": {}, "list": [{}, {"a": "z"}], "map": {"k": {}}})
        self.assertEqual(found["one"], full)
        self.assertEqual(found["list"], [full, {"a": "z", **full}])
        self.assertEqual(found["map"], {"k": full})

    def test_order(self) -> None:
        """Keys stay in emission order."""
        found = self._filled({"list": [{"a": "z", "d": "w"}], "map": {"k": {}}})
        self.assertEqual(list(found), ["made", "list", "map", "plain"])
        self.assertEqual(list(found["list"][0]), ["a", "b", "c", "d"])

    def test_fresh_values(self) -> None:
        """Two objects never share a default."""
        first, second = self._filled({}), self._filled({})
        self.assertIsNot(first["plain"], second["plain"])
        self.assertIsNot(first["made"], second["made"])

    def test_pod(self) -> None:
        """A pod's declared defaults are filled wherever its containers stand (reference KIND-14)."""
        codec = CODECS.kind("v1", "Pod")
        pod = codec.normalise({"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 1}]}]}})
        codec.set_defaults(pod)
        self.assertEqual(list(pod), ["kind", "apiVersion", "metadata", "spec", "status"])
        self.assertEqual(pod["spec"]["restartPolicy"], "Always")
        self.assertEqual(pod["spec"]["terminationGracePeriodSeconds"], 30)
        container = pod["spec"]["containers"][0]
        self.assertEqual(container["ports"], [{"containerPort": 1, "protocol": "TCP"}])
        self.assertEqual(container["terminationMessagePolicy"], "File")
        self.assertEqual(orjson.dumps(codec.normalise(pod)), orjson.dumps(pod))

    def test_top_level(self) -> None:
        """A default beside the metadata leaves kind and apiVersion first."""
        codec = CODECS.kind("v1", "Secret")
        secret = codec.normalise({})
        codec.set_defaults(secret)
        self.assertEqual(list(secret), ["kind", "apiVersion", "metadata", "type"])
        self.assertEqual(secret["type"], "Opaque")

    def test_twice(self) -> None:
        """Filling again changes nothing."""
        codec = CODECS.kind("apps/v1", "Deployment")
        obj = codec.normalise({"spec": {"template": {"spec": {"containers": [{}]}}}})
        codec.set_defaults(obj)
        text = orjson.dumps(obj)
        codec.set_defaults(obj)
        self.assertEqual(orjson.dumps(obj), text)
