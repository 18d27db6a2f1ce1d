"""Numbers of fields in Protobuf that clients count on (reference ENC-14)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs

CODECS = Codecs(Catalogue.load(Naming.orch()))
TIME = "2024-01-02T03:04:05Z"
SECONDS = 1704164645
META = {
    "name": (1, "n"), "generateName": (2, "g-"), "namespace": (3, "ns"), "selfLink": (4, "/s"), "uid": (5, "u"),
    "resourceVersion": (6, "7"), "generation": (7, 9), "creationTimestamp": (8, TIME), "deletionTimestamp": (9, TIME),
    "deletionGracePeriodSeconds": (10, 30), "labels": (11, {"a": "b"}), "annotations": (12, {"a": "b"}),
    "ownerReferences": (13, [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]),
    "finalizers": (14, ["example.com/f"]), "clusterName": (15, "c"),
    "managedFields": (17, [{"manager": "m", "operation": "Update", "apiVersion": "v1", "time": TIME}]),
}  # fmt: skip
"""Fields of metadata, with number and value."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at this place, and the place behind it."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def fields(data: bytes) -> dict[int, bytes | int]:
    """The fields of a message, numbers or bytes, by their numbers; the last one counts."""
    found: dict[int, bytes | int] = {}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 0:
            found[tag >> 3] = value
        else:
            assert tag & 7 == 2
            found[tag >> 3] = data[at : at + value]
            at += value
    return found


def message(value: bytes | int) -> dict[int, bytes | int]:
    """The fields of a field that is a message."""
    assert isinstance(value, bytes)
    return fields(value)


class FieldNumberTests(SynchronousTestCase):
    """Messages, taken apart by hand."""

    def test_metadata(self) -> None:
        """Each field of ObjectMeta has its number, and a time seconds and nanos (reference ENC-14)."""
        codec = CODECS.kind("v1", "ConfigMap")
        for name, (number, value) in META.items():
            obj = codec.normalise({"metadata": {name: value}})
            found = message(fields(codec.encode_protobuf(obj))[1])
            empty = message(fields(codec.encode_protobuf(codec.normalise({"metadata": {}})))[1])
            changed = {key for key in found if found[key] != empty.get(key)}
            self.assertEqual(changed, {number}, name)
            if isinstance(value, int):
                self.assertEqual(found[number], value)
            elif value == TIME:
                self.assertEqual(message(found[number]), {1: SECONDS, 2: 0})
            elif isinstance(value, str):
                self.assertEqual(found[number], value.encode())

    def test_lists(self) -> None:
        """A list is its metadata in field 1 and the items in field 2 (reference ENC-14)."""
        codec = CODECS.kind("v1", "ConfigMapList")
        item = {"metadata": {"name": "x"}, "data": {"a": "b"}}
        data = codec.encode_protobuf(codec.normalise({"metadata": {"resourceVersion": "7"}, "items": [item]}))
        found = fields(data)
        self.assertEqual(found.keys(), {1, 2})
        self.assertEqual((message(found[1])[2], message(message(found[2])[1])[1]), (b"7", b"x"))
