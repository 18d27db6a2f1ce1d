"""Decoding of Protobuf messages: those of other writers, and broken ones (reference ENC-15)."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.wire import delimited, tag, varint

CODECS = Codecs(Catalogue.load(Naming.orch()))
POD = CODECS.kind("v1", "Pod")
CRD = CODECS.kind("apiextensions.orch.io/v1", "CustomResourceDefinition")


def nested_schema(levels: int, either: bool = False) -> bytes:
    """A CustomResourceDefinition whose schema is nested `levels` deep through `not`, or `additionalProperties`."""
    schema = b""
    for _ in range(levels):
        schema = delimited(30, delimited(2, schema)) if either else delimited(28, schema)
    version = delimited(4, delimited(1, schema))
    return delimited(2, delimited(7, version))


class DecodeTests(SynchronousTestCase):
    """Decoding is at ease with other writers, and strict with broken bytes (reference ENC-15)."""

    def _refused(self, raw: bytes, why: str, codec: Any = POD) -> None:
        error = self.assertRaises(BadRequest, codec.decode_protobuf, raw)
        self.assertIn(f'{codec.kind} in version "v1" cannot be handled as a {codec.kind}: {why}', error.message)

    def test_any_order(self) -> None:
        """Fields may come in any order, repeated ones in several places."""
        container = delimited(2, b"image") + delimited(1, b"name")
        spec = (
            delimited(9, b"sa") + delimited(2, container) + delimited(3, b"Never") + delimited(2, delimited(1, b"b"))
        )
        pod = POD.decode_protobuf(delimited(3, b"") + delimited(2, spec))
        self.assertEqual(pod["spec"]["restartPolicy"], "Never")
        self.assertEqual(pod["spec"]["serviceAccount"], "sa")
        self.assertEqual([each["name"] for each in pod["spec"]["containers"]], ["name", "b"])
        self.assertEqual(pod["spec"]["containers"][0]["image"], "image")

    def test_unknown_fields(self) -> None:
        """Unknown fields of every wire type are dropped."""
        unknown = (
            tag(1000, 0)
            + varint(2**63)
            + tag(1001, 1)
            + bytes(8)
            + tag(1002, 5)
            + bytes(4)
            + delimited(100000, b"x" * 300)
        )
        pod = POD.decode_protobuf(delimited(1, unknown + delimited(1, b"p") + unknown) + unknown)
        self.assertEqual(pod["metadata"]["name"], "p")

    def test_minimal(self) -> None:
        """Fields that another writer leaves out are zero."""
        self.assertEqual(POD.decode_protobuf(b""), POD.normalise({}))
        self.assertEqual(POD.decode_protobuf(delimited(2, b""))["spec"], {"containers": None})

    def test_map_entries(self) -> None:
        """Map entries may lack key or value and come unsorted; the last one of a key counts."""
        entry = lambda *parts: delimited(11, b"".join(parts))  # noqa: E731
        labels = (
            entry(delimited(2, b"v"), delimited(1, b"z"))
            + entry(delimited(1, b"a"))
            + entry(delimited(1, b"m"), delimited(2, b"1"))
            + entry(delimited(1, b"m"), delimited(2, b"2"))
        )
        metadata = POD.decode_protobuf(delimited(1, labels))["metadata"]
        self.assertEqual(list(metadata["labels"].items()), [("a", ""), ("m", "2"), ("z", "v")])

    def test_truncated(self) -> None:
        """Bytes that end too soon, or a length that reaches too far, are a 400 that names the place."""
        self._refused(b"\x0a", "metadata: truncated")
        self._refused(b"\x0a\x05\x0a", "metadata: truncated")
        self._refused(delimited(1, b"\x0a\x05ab"), "metadata.name: truncated")
        self._refused(b"\x0a" + varint(2**62), "metadata: truncated")
        self._refused(b"\x12\x04\x12\x02\x0a\x05", "spec.containers[0].name: truncated")
        self._refused(tag(1000, 2) + varint(2**40), "truncated")
        self._refused(delimited(1, delimited(11, b"\x0a\x09a")), "metadata.labels: truncated")

    def test_wrong_wire_type(self) -> None:
        """A known field with another wire type is a 400, as it is for Go."""
        self._refused(b"\x08\x01", "metadata: wrong wire type 0")
        self._refused(delimited(1, tag(7, 2) + b"\x01a"), "metadata.generation: wrong wire type 2")
        self._refused(delimited(2, tag(20, 5) + bytes(4)), "spec.initContainers: wrong wire type 5")
        self._refused(b"\x00\x01", "field number 0 does not exist")
        self._refused(tag(1000, 3), "wire type 3 is not used")

    def test_varints(self) -> None:
        """A varint of more than 64 bits is a 400; an int32 is cut to 32 bits as every reader does."""
        self._refused(
            delimited(1, b"\x38" + b"\xff" * 10 + b"\x01"), "metadata.generation: a varint has at most 64 bits"
        )
        raw = delimited(2, delimited(2, delimited(6, tag(3, 0) + varint(2**32 + 80))))
        self.assertEqual(POD.decode_protobuf(raw)["spec"]["containers"][0]["ports"][0]["containerPort"], 80)

    def test_utf_8(self) -> None:
        """Text that is not UTF-8 is a 400, in fields, lists, keys and special forms."""
        self._refused(delimited(1, delimited(1, b"\xff")), "metadata.name: invalid UTF-8")
        self._refused(
            delimited(1, delimited(14, b"a") + delimited(14, b"\xc3")), "metadata.finalizers[1]: invalid UTF-8"
        )
        self._refused(delimited(1, delimited(11, delimited(1, b"\xed\xa0\x80"))), "metadata.labels: invalid UTF-8")

    def test_special_forms(self) -> None:
        """Special forms that hold nonsense are a 400 with their place."""
        limits = delimited(1, delimited(1, b"cpu") + delimited(2, delimited(1, b"x")))
        self._refused(
            delimited(2, delimited(2, delimited(8, limits))), "spec.containers[0].resources.limits: expected a qu"
        )
        far = delimited(8, b"\x08" + varint(2**50))
        self._refused(delimited(1, far), "metadata.creationTimestamp: expected a time in the years 1 to 9999")
        fields = delimited(17, delimited(7, delimited(1, b"{")))
        self._refused(delimited(1, fields), "metadata.managedFields[0].fieldsV1: json parse error")
        fields = delimited(17, delimited(7, delimited(1, b"[]")))
        self._refused(delimited(1, fields), "metadata.managedFields[0].fieldsV1: expected an object")
        fields = delimited(17, delimited(7, delimited(1, b'{"a":' * 500 + b"1" + b"}" * 500)))
        self._refused(delimited(1, fields), "metadata.managedFields[0].fieldsV1: expected at most 200 levels")

    def test_depth(self) -> None:
        """A recursive type may be nested, but not absurdly, and never crashes the server."""
        orjson.dumps(CRD.decode_protobuf(nested_schema(150)))
        self._refused(nested_schema(250), "spec.versions[0].schema", CRD)
        self._refused(nested_schema(20_000), "", CRD)
        self._refused(nested_schema(250, either=True), "spec.versions[0].schema", CRD)
        self._refused(nested_schema(20_000, either=True), "", CRD)

    def test_merge_of_empty_lists(self) -> None:
        """Required lists that are empty are null in JSON, as after Go's own storage."""
        role = CODECS.kind("rbac.authorization.orch.io/v1", "Role")
        self.assertIsNone(role.normalise({"rules": []})["rules"])
        self.assertIsNone(role.decode_protobuf(b"")["rules"])

    def test_decode_metadata(self) -> None:
        """The metadata alone comes out as it does with the whole object."""
        raw = POD.encode_protobuf(POD.normalise({"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {}}))
        self.assertEqual(POD.decode_metadata(raw), POD.decode_protobuf(raw)["metadata"])
        self.assertRaises(ValueError, POD.decode_metadata, b"\x12\x00")
