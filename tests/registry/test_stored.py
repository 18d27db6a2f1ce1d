"""One stored resource: keys, encodings and entries."""
# covers: orchtw.registry.target

from __future__ import annotations

import gc
from typing import Any, cast

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import StatusError
from orchtw.registry.metadata import ordered
from orchtw.registry.stored import STORED, Stored
from orchtw.registry.target import Target
from orchtw.registry.targets import Targets
from orchtw.schema.codec.codec import Codec
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.schema.tables.cached_rows import cached_row
from orchtw.storage.cache.resource import DamagedObject
from orchtw.watch.entry import ROW_BYTES, Entry
from orchtw.watch.room import Room
from orchtw.wire.objects import Object
from orchtw.wire.packing import Packed
from tests.client.world import surface

NAMING, CATALOGUE, CODECS = surface("orch")
TARGETS = Targets(CATALOGUE, CODECS, CATALOGUE.resources)


def target(plural: str, group: str = "", version: str = "v1") -> Target:
    found = TARGETS.find(group, version, plural)
    assert found is not None
    return found


def kind_codec(codec: Codec) -> KindCodec:
    """Return the codec of a kind that is built in, which has a Protobuf form."""
    assert isinstance(codec, KindCodec)
    return codec


def pod(**meta: object) -> Object:
    """A pod as the write path hands it over."""
    codec = target("pods").codec
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
    obj = codec.normalise({"metadata": {"name": "x", "namespace": "a", **meta}, "spec": spec})
    codec.set_defaults(obj)
    obj["metadata"] = ordered(obj["metadata"])
    return obj


class StoredTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.stored: Stored = target("pods").stored

    def test_keys(self) -> None:
        """Keys end in namespace and name, or in the name alone, below a prefix with the neutral group."""
        self.assertEqual((self.stored.prefix, self.stored.tail("a", "x")), ("/registry/pods/", "a/x"))
        nodes = target("nodes").stored
        self.assertEqual((nodes.prefix, nodes.tail("", "x")), ("/registry/nodes/", "x"))

    def test_shared(self) -> None:
        """Versions and groups with the same storage are one stored resource."""
        self.assertIs(target("events").stored, target("events", "events.orch.io").stored)

    def test_entry(self) -> None:
        """The commit's revision becomes the object's version, in both encodings."""
        prepared = self.stored.prepare(pod(labels={"a": "b"}))
        entry = prepared.entry(7)
        self.assertEqual((entry.key, entry.namespace, entry.name, entry.revision), ("a/x", "a", "x", 7))
        self.assertEqual(entry.labels, {"a": "b"})
        fields = dict(zip(self.stored.field_names, entry.fields, strict=True))
        self.assertEqual(fields["spec.nodeName"], "n")
        for obj in (self.stored.load(entry), kind_codec(self.stored.codec).decode_protobuf(entry.raw)):
            self.assertEqual(obj["metadata"]["resourceVersion"], "7")

    def test_version_in_other_places(self) -> None:
        """The version goes into its own place, whatever labels and annotations say."""
        sent = pod(labels={"resourceVersion": ""}, annotations={"a": '"resourceVersion":""'})
        loaded = self.stored.load(self.stored.prepare(sent).entry(7))
        sent["metadata"]["resourceVersion"] = "7"
        self.assertEqual(orjson.dumps(loaded), orjson.dumps(sent))

    def test_bytes_wait(self) -> None:
        """Waiting writes hold bytes and selector fields only: the garbage collector visits little."""
        obj = pod(labels={"a": "b"})
        prepared = self.stored.prepare(obj)
        self.assertNotIn(id(obj), {id(held) for held in gc.get_referents(prepared)})
        obj["metadata"]["labels"]["a"] = "changed"
        self.assertNotIn(b"changed", prepared.entry(7).json)

    def test_the_same_from_the_store(self) -> None:
        """A stored value equals what was cached at its write; its JSON is made on demand."""
        prepared = self.stored.prepare(pod(labels={"a": "b"}))
        entry = prepared.entry(7)
        again = self.stored.build(entry.key, prepared.value, 7)
        self.assertIsNone(again.json)
        self.assertEqual((again.raw, again.fields, again.labels), (entry.raw, entry.fields, entry.labels))
        self.assertEqual(self.stored.json_tail(again), entry.json)
        self.assertEqual(again.json, entry.json)

    def test_foreign_values(self) -> None:
        """A foreign value that is not a pod is refused as damaged, not as a server error (reference STORE-23)."""
        kind = b'{"kind":"Pod","apiVersion":"v1"'
        nameless = (kind + b"}", kind + b',"metadata":{}}', kind + b',"metadata":{"name":""}}')
        for value in (*nameless, b"", b"k8s\0", b"{}"):
            self.assertRaises((StatusError, ValueError), self.stored.build, "a/x", value, 7)

    def test_dry_run(self) -> None:
        """An object that was created in a dry run has no version in either encoding."""
        entry = self.stored.prepare(pod()).dry_run_entry()
        for obj in (self.stored.load(entry), kind_codec(self.stored.codec).decode_protobuf(entry.raw)):
            self.assertNotIn("resourceVersion", obj["metadata"])

    def test_load_is_private(self) -> None:
        """A loaded object may be changed: the next one does not show it."""
        entry = self.stored.prepare(pod(labels={"a": "b"})).entry(7)
        self.stored.load(entry)["metadata"]["labels"]["a"] = "changed"
        self.assertEqual(self.stored.load(entry)["metadata"]["labels"], {"a": "b"})

    def test_nameplate(self) -> None:
        """Of an object that cannot be read, names and version are shown."""
        entry = self.stored.placeholder("a", "x", 7)
        meta = self.stored.load(entry)["metadata"]
        self.assertEqual((entry.key, entry.revision), ("a/x", 7))
        self.assertEqual(meta, {"name": "x", "namespace": "a", "resourceVersion": "7", "creationTimestamp": None})
        self.assertEqual(target("nodes").stored.placeholder("", "x", 7).key, "x")


class RoomTests(SynchronousTestCase):
    """Forms that are kept with entries, while there is room (reference LIMIT-18)."""

    def setUp(self) -> None:
        self.target = target("pods")
        self.stored: Stored = Stored(
            self.target.resource, self.target.codec, self.target.strategy, "/registry/pods/", ()
        )
        self.counted = [0, 0, 0]
        self.stored.made = self.note
        prepared = self.stored.prepare(pod(labels={"a": "b"}))
        self.entry = self.stored.build("a/x", prepared.value, 7)
        self.whole = orjson.dumps(kind_codec(self.stored.codec).decode_protobuf(self.entry.raw))
        self.tail = self.whole[len(self.stored.codec.type_prefix) :]

    def note(self, entry: Entry, *forms: int) -> None:
        self.counted = [count + form for count, form in zip(self.counted, forms, strict=True)]

    def check(self, form: type | None) -> None:
        """Check the form of the entry's JSON, and that the counted bytes are those of its forms."""
        self.assertEqual(type(self.entry.json) if self.entry.json is not None else None, form)
        self.assertEqual(tuple(self.counted), self.entry.forms())

    def test_kept(self) -> None:
        """JSON that was made is kept."""
        for make in (self.stored.listed_tail, self.stored.json_tail):
            self.assertEqual(make(self.entry), self.tail)
            self.check(bytes)

    def test_packed(self) -> None:
        """Packed JSON stays packed for lists, and is plain again for a GET."""
        self.stored.json_tail(self.entry)
        self.stored.spare(self.entry, drop=False)
        self.assertLess(len(self.entry.json or b""), len(self.tail))
        self.assertEqual(self.stored.listed_tail(self.entry), self.tail)
        self.assertEqual(type(self.entry.json), Packed)
        self.counted = list(self.entry.forms())
        self.assertEqual(self.stored.load(self.entry), orjson.loads(self.whole))
        self.check(bytes)

    def test_no_room(self) -> None:
        """JSON that a list makes without room is packed at once."""
        self.stored.room = Room(1, plain=2)
        self.assertEqual(self.stored.listed_tail(self.entry), self.tail)
        self.check(Packed)

    def test_spared(self) -> None:
        """All that can be made again goes; that the object is stored in another form does not."""
        self.stored.json_tail(self.entry)
        self.entry.other = {STORED: "v0", ("cells",): cached_row(["x"], 1)}
        self.stored.spare(self.entry, drop=True)
        self.assertEqual((self.entry.json, self.entry.other), (None, {STORED: "v0"}))
        self.assertEqual(self.entry.forms(), (0, 0, 0))

    def test_parts(self) -> None:
        """The length and the beginning of an object's JSON are the same, packed or not, and leave it as it is."""
        for form in (bytes, Packed):
            self.assertEqual(self.stored.listed_size(self.entry), len(self.tail))
            for size in (1, 100, len(self.tail)):
                self.assertEqual(self.stored.listed_head(self.entry, size), self.tail[:size])
            self.check(form)
            self.stored.spare(self.entry, drop=False)
            self.counted = list(self.entry.forms())

    def test_packed_row(self) -> None:
        """The row of a Table stays with packed JSON, and forms in other versions go."""
        self.stored.json_tail(self.entry)
        row = cached_row(["x"], 1)
        self.entry.other = {STORED: "v0", ("cells",): row, ("v2", "", "json"): b"{}"}
        self.stored.spare(self.entry, drop=False)
        self.assertEqual(self.entry.other, {STORED: "v0", ("cells",): row})
        self.assertEqual(self.entry.forms()[2], ROW_BYTES + len(row))

    def test_no_object(self) -> None:
        """An entry with malformed bytes is damaged, and the cache is told (reference STORE-23)."""
        told: list[Entry] = []

        class Told:
            def spoilt(self, entry: Entry, _error: Exception) -> DamagedObject:
                told.append(entry)
                return DamagedObject("/registry/pods/a/x", entry.revision)

        self.stored.cache = cast(Any, Told())
        self.entry.raw += b"\x12\x7f"
        for make in (self.stored.json_tail, self.stored.load, self.target.json_tail, self.target.listed_json):
            self.target.stored.cache = self.stored.cache
            self.assertRaises(DamagedObject, make, self.entry)
        self.assertEqual(told, [self.entry] * 4)


class TargetTests(SynchronousTestCase):
    """The same objects through a version that is not the stored one."""

    def setUp(self) -> None:
        self.budgets = target("poddisruptionbudgets", "policy", "v1beta1")
        codec = self.budgets.codec
        obj = codec.normalise({"metadata": {"name": "x", "namespace": "a"}, "spec": {"minAvailable": 1}})
        codec.set_defaults(obj)
        obj["metadata"] = ordered(obj["metadata"])
        self.entry = self.budgets.stored.prepare(self.budgets.store_form(obj)).entry(7)

    def test_load(self) -> None:
        """Objects come in the asked version, and lie in the stored one."""
        self.assertEqual(self.budgets.load(self.entry)["apiVersion"], "policy/v1beta1")
        self.assertEqual(self.budgets.stored.load(self.entry)["apiVersion"], "policy/v1")

    def test_encodings_are_kept(self) -> None:
        """JSON and Protobuf of the asked version are made once and kept with the entry."""
        tail = self.budgets.json_tail(self.entry)
        self.assertIs(self.budgets.json_tail(self.entry), tail)
        raw = self.budgets.protobuf(self.entry)
        self.assertIs(self.budgets.protobuf(self.entry), raw)
        self.assertEqual(orjson.loads(b"{" + tail)["spec"], {"minAvailable": 1})
        self.assertEqual(kind_codec(self.budgets.codec).decode_protobuf(raw)["metadata"]["resourceVersion"], "7")
