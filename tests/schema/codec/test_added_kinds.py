"""Codecs of kinds that have a tree of nodes and no message."""
# covers: orchtw.schema.codec.kind_codec

from __future__ import annotations

from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.body import read_body
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.schema.codec.strict_fields import WARN
from orchtw.wire.objects import Object
from tests.registry.widgets import GROUP, schema_of, widget

CATALOGUE = Catalogue.load(Naming.orch())
V1 = f"{GROUP}/v1"


class AddedKindTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.codecs = Codecs(CATALOGUE)
        self.codec: KindCodec = self.codecs.made(widget(), schema_of(widget(), self.codecs.schemas))
        self.codecs.change((), [(widget(), self.codec)])

    def spec(self, value: Any, *, default: bool = False) -> Any:
        """Return a spec after a round trip."""
        obj = self.codec.normalise({"metadata": {"name": "a"}, "spec": value})
        if default:
            self.codec.set_defaults(obj)
        return obj.get("spec")

    def test_canonical(self) -> None:
        """Keys come in the order of the schema, unknown ones go, zero and empty values stay as they were given."""
        given = {"parts": [], "colour": "", "size": 0, "wheels": 4, "notes": {"b": "1", "a": "2"}}
        found = self.spec(given)
        expected = {"size": 0, "colour": "", "parts": [], "notes": {"a": "2", "b": "1"}}
        self.assertEqual(orjson.dumps(found), orjson.dumps(expected))

    def test_unknown_kept(self) -> None:
        """Where the schema takes any key, all of them stay, behind those that it knows."""
        found = self.spec({"box": {"z": [1, {"q": None}], "a": None, "lid": True}})
        self.assertEqual(list(found["box"].items()), [("lid", True), ("a", None), ("z", [1, {"q": None}])])

    def test_mismatch(self) -> None:
        """A value that does not fit is refused with its place, whether or not its key is known."""
        for value, place in (
            ({"size": "x"}, "spec.size"),
            ({"parts": [{"name": 1}]}, "spec.parts[0].name"),
            ({"box": {"lid": 1}}, "spec.box.lid"),
        ):
            with self.assertRaises(BadRequest) as caught:
                self.spec(value)
            self.assertIn(place, caught.exception.message)

    def test_deep(self) -> None:
        """Values under free keys are as bounded in depth as all free values."""
        deep: Any = 1
        for _ in range(100_000):
            deep = [deep]
        self.assertRaises(BadRequest, self.spec, {"box": {"a": deep}})

    def test_defaults(self) -> None:
        """Declared defaults fill what is absent, at every depth, not what is zero."""
        filled = self.spec({"parts": [{"name": "p"}]}, default=True)
        self.assertEqual(filled, {"size": 3, "parts": [{"name": "p", "count": 1}]})
        self.assertEqual(self.spec({"size": 0, "box": {"a": 1}}, default=True), {"size": 0, "box": {"a": 1}})

    def test_strict(self) -> None:
        """A strict reader finds unknown and repeated keys, but not where any key may stand."""
        body = b'{"kind":"Widget","apiVersion":"%b","spec":{"wheels":4,"size":1,"size":2,"box":{"a":1,"b":{"c":2}}}}'
        body %= V1.encode()
        _, found = read_body(self.codec, body, "json", WARN)
        self.assertEqual(found, ['unknown field "spec.wheels"', 'duplicate field "spec.size"'])
        value = orjson.loads(body)
        del value["spec"]["wheels"]
        self.assertEqual(self.codec.strict_findings(value), [])

    def test_types(self) -> None:
        """Kind and apiVersion of a body must be the codec's; foreign kinds are told apart from unknown ones."""
        self.assertEqual(self.codec.type_prefix, b'{"kind":"Widget","apiVersion":"%b",' % V1.encode())
        pod: Object = {"kind": "Pod", "apiVersion": "v1"}
        for value, why in ((pod, "it is not a Widget"), ({**pod, "kind": "Nothing"}, "no kind")):
            with self.assertRaises(BadRequest) as caught:
                self.codec.normalise(value)
            self.assertIn(why, caught.exception.message)
        with self.assertRaises(BadRequest) as caught:
            self.codecs.kind("v1", "Pod").normalise({"kind": "Widget", "apiVersion": V1})
        self.assertIn("it is not a Pod", caught.exception.message)

    def test_lists(self) -> None:
        """Lists of an added kind have a codec, and a list is never null (reference OBJ-14)."""
        codec = self.codecs.kind(V1, "WidgetList")
        found = codec.normalise({"items": None, "metadata": {"resourceVersion": "1"}})
        self.assertEqual(found["items"], [])
        self.assertEqual((codec.protobuf, self.codec.protobuf), (False, False))
        self.assertTrue(self.codecs.kind("v1", "Pod").protobuf)

    def test_yaml(self) -> None:
        """YAML is read as JSON is."""
        self.assertEqual(read_body(self.codec, b"spec:\n  size: 2\n", "yaml", WARN)[0]["spec"]["size"], 2)

    def test_removed(self) -> None:
        """A removed kind has no codec; one that is held goes on; added again, it has another schema."""
        self.codecs.kind(V1, "DeleteOptions")
        self.codecs.change([widget()], ())
        for kind in ("Widget", "WidgetList", "DeleteOptions"):
            self.assertRaises(KeyError, self.codecs.kind, V1, kind)
        self.assertEqual(self.spec({"size": 1}), {"size": 1})
        again = self.codecs.made(widget(), schema_of(widget(), self.codecs.schemas))
        self.codecs.change((), [(widget(), again)])
        self.assertIs(self.codecs.kind(V1, "Widget"), again)

    def test_not_known_yet(self) -> None:
        """A codec that has been made works before anybody finds it."""
        codec = self.codecs.made(widget("v2"), schema_of(widget("v2"), self.codecs.schemas))
        self.assertRaises(KeyError, self.codecs.kind, f"{GROUP}/v2", "Widget")
        typed = {"kind": "Widget", "apiVersion": f"{GROUP}/v2", "metadata": {"name": "a"}}
        self.assertEqual(codec.normalise(typed)["metadata"]["name"], "a")

    def test_replaced(self) -> None:
        """A kind can get another schema in one step, and its lists with it."""
        lists = self.codecs.kind(V1, "WidgetList")
        other = self.codecs.made(widget(), schema_of(widget(), self.codecs.schemas))
        self.codecs.change([widget()], [(widget(), other)])
        self.assertIs(self.codecs.kind(V1, "Widget"), other)
        self.assertIsNot(self.codecs.kind(V1, "WidgetList"), lists)

    def test_prefix_in_lists(self) -> None:
        """Items of added kinds name their kind in lists, those of the release do not (reference OBJ-14)."""
        self.assertEqual(self.codec.item_prefix, self.codec.type_prefix)
        self.assertEqual(self.codecs.kind("v1", "Pod").item_prefix, b"{")
