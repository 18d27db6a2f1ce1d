"""Frames on the wire, byte by byte."""

from __future__ import annotations

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Expired, StatusError
from orchtw.schema.codec.wire import varint
from orchtw.watch.entry import NO_LABELS, Entry
from orchtw.watch.frames import JsonWire, ProtobufWire


def status_raw(error: StatusError) -> bytes:
    """In place of the Status codec."""
    return error.message.encode()


def tail_of(entry: Entry) -> bytes:
    """The entry's JSON, which these tests give it."""
    assert entry.json is not None
    return entry.json


JSON = JsonWire(
    b'{"kind":"Pod","apiVersion":"v1",',
    tail_of,
    lambda tail, version: tail.replace(b'"7"', b'"%b"' % version),
    lambda revision, _: b'"metadata":{"resourceVersion":"%d","creationTimestamp":null}}' % revision,
)
PROTOBUF = ProtobufWire(
    "v1",
    "Pod",
    lambda entry: entry.raw,
    lambda raw, version: raw.replace(b"7", version),
    lambda revision, _: b"mark %d" % revision,
    status_raw,
)
POD = Entry("ns/a", "ns", "a", 7, NO_LABELS, (), b"pod 7", b'"metadata":{"name":"a","resourceVersion":"7"}}')


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A varint of `data` and the position after it."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data: bytes) -> dict[int, bytes]:
    """The length-delimited fields of a Protobuf message."""
    out: dict[int, bytes] = {}
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        size, at = read_varint(data, at)
        out[tag >> 3] = data[at : at + size]
        at += size
    return out


def opened(frame: bytes) -> tuple[str, dict[int, bytes], dict[int, bytes]]:
    """Type, TypeMeta and Unknown of a Protobuf watch frame."""
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    event = fields(frame[4:])
    raw = fields(event[2])[1]
    assert raw.startswith(b"k8s\0")
    unknown = fields(raw[4:])
    return event[1].decode(), fields(unknown[1]), unknown


class JsonWireTests(SynchronousTestCase):
    def test_line(self) -> None:
        """An event is one line of JSON with type and object (reference WATCH-5)."""
        frame = JSON.frame("ADDED", POD, 7)
        obj = b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"7"}}'
        self.assertEqual(frame, b'{"type":"ADDED","object":' + obj + b"}\n")

    def test_deleted_has_the_deletions_version(self) -> None:
        """DELETED shows the last state with the deletion's resourceVersion (reference WATCH-7)."""
        obj = orjson.loads(JSON.frame("DELETED", POD, 12))["object"]
        self.assertEqual(obj["metadata"], {"name": "a", "resourceVersion": "12"})

    def test_bookmark(self) -> None:
        """A bookmark is an object of the kind with nothing but its version (reference WATCH-13)."""
        event = orjson.loads(JSON.bookmark(9))
        self.assertEqual(event["type"], "BOOKMARK")
        self.assertEqual(event["object"]["metadata"]["resourceVersion"], "9")

    def test_error(self) -> None:
        """An error's object is the Status (reference WATCH-10)."""
        event = orjson.loads(JSON.error(Expired.watch(3, 8)))
        self.assertEqual((event["type"], event["object"]["kind"], event["object"]["code"]), ("ERROR", "Status", 410))


class PiecesTests(SynchronousTestCase):
    def test_pieces_are_the_frame(self) -> None:
        """A frame in pieces is the frame, around the object's own bytes."""
        for size in (0, 100, 127, 128, 20_000, 900_000):
            entry = Entry("a", "", "a", 7, NO_LABELS, (), b"x" * size, b'"x":"' + b"x" * size + b'"}')
            for wire, own in ((JSON, entry.json), (PROTOBUF, entry.raw)):
                pieces = wire.pieces("ADDED", entry)
                self.assertEqual(b"".join(pieces), wire.frame("ADDED", entry, 7))
                self.assertIs(pieces[1], own)


class ProtobufWireTests(SynchronousTestCase):
    def test_frame(self) -> None:
        """An event is a length and a WatchEvent whose raw object is an enveloped message (reference WATCH-15)."""
        event_type, meta, unknown = opened(PROTOBUF.frame("MODIFIED", POD, 7))
        self.assertEqual((event_type, meta), ("MODIFIED", {1: b"v1", 2: b"Pod"}))
        self.assertEqual((unknown[2], unknown[3], unknown[4]), (b"pod 7", b"", b""))

    def test_large(self) -> None:
        """Lengths of more than one byte are right at every level."""
        large = Entry("a", "", "a", 7, NO_LABELS, (), b"x" * 70_000)
        self.assertEqual(opened(PROTOBUF.frame("ADDED", large, 7))[2][2], large.raw)

    def test_deleted_has_the_deletions_version(self) -> None:
        """DELETED shows the last state with the deletion's resourceVersion (reference WATCH-7)."""
        self.assertEqual(opened(PROTOBUF.frame("DELETED", POD, 12))[2][2], b"pod 12")

    def test_bookmark_and_error(self) -> None:
        """Bookmarks carry the kind, errors a v1 Status (reference WATCH-10, WATCH-13)."""
        self.assertEqual(opened(PROTOBUF.bookmark(5))[2][2], b"mark 5")
        event_type, meta, _ = opened(PROTOBUF.error(Expired.list()))
        self.assertEqual((event_type, meta), ("ERROR", {1: b"v1", 2: b"Status"}))


class VarintTests(SynchronousTestCase):
    def test_values(self) -> None:
        """Base 128, the least significant group first (Protobuf encoding)."""
        self.assertEqual([varint(n) for n in (0, 127, 128, 300)], [b"\0", b"\x7f", b"\x80\x01", b"\xac\x02"])
