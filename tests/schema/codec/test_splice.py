"""A revision goes into encodings without decoding them."""

from __future__ import annotations

from random import Random
from typing import Any, ClassVar

import orjson
from hypothesis import given
from hypothesis import strategies as some
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.known_fields import KNOWN_FIELDS, LONGEST, REMEMBERED, KnownFields
from orchtw.schema.codec.splice import (
    load_owned,
    metadata_of,
    set_json_version,
    set_protobuf_version,
    split_owned,
    without_json_version,
)
from tests.properties import examples

CODECS = Codecs(Catalogue.load(Naming.orch()))
TRICKY = 'x","resourceVersion":"9","metadata":{"\\'
METADATA: tuple[dict[str, Any], ...] = (
    {},
    {"name": "a"},
    {"name": "a", "generateName": "b" * 200, "namespace": "c", "uid": "d", "selfLink": "e", "generation": 7},
    {"name": TRICKY, "uid": TRICKY},
    {"annotations": {"resourceVersion": "5"}},
    {"labels": {"a": "b"}},
    {"namespace": "n", "managedFields": [{"manager": "m", "fieldsV1": {"f:metadata": {}}}]},
)


class SpliceTests(SynchronousTestCase):
    """Whatever the metadata, splicing a version equals setting the field and encoding again."""

    def _expected(self, metadata: dict[str, Any], version: str) -> dict[str, Any]:
        return CODECS.kind("v1", "Pod").normalise({"metadata": {**metadata, "resourceVersion": version}})

    def test_json(self) -> None:
        """In a JSON tail the version is inserted at its place, or replaced."""
        codec = CODECS.kind("v1", "Pod")
        for metadata in METADATA:
            tail = orjson.dumps(codec.normalise({"metadata": metadata}))[len(codec.type_prefix) :]
            for version in ("1", "18446744073709551615", "42"):
                tail = set_json_version(tail, version.encode())
                self.assertEqual(codec.type_prefix + tail, orjson.dumps(self._expected(metadata, version)))

    def test_whole_json(self) -> None:
        """The same works on a whole object."""
        codec = CODECS.kind("v1", "Pod")
        whole = set_json_version(orjson.dumps(codec.normalise({})), b"3")
        self.assertEqual(codec.normalise(orjson.loads(whole))["metadata"]["resourceVersion"], "3")

    def test_list(self) -> None:
        """The metadata of a list takes a version too, also when it is all there is."""
        self.assertEqual(
            set_json_version(b'"metadata":{},"items":[]', b"3"), b'"metadata":{"resourceVersion":"3"},"items":[]'
        )
        self.assertEqual(
            set_json_version(b'"metadata":{"resourceVersion":"1","continue":"x"}', b"22"),
            b'"metadata":{"resourceVersion":"22","continue":"x"}',
        )
        self.assertEqual(
            set_json_version(b'"metadata":{"name":"x"}', b"2"), b'"metadata":{"name":"x","resourceVersion":"2"}'
        )

    def test_protobuf(self) -> None:
        """In a message the version is replaced, lengths follow."""
        codec = CODECS.kind("v1", "Pod")
        for metadata in METADATA:
            raw = codec.encode_protobuf(codec.normalise({"metadata": metadata}))
            for version in ("1", "18446744073709551615", "42"):
                raw = set_protobuf_version(raw, version.encode())
                self.assertEqual(raw, codec.encode_protobuf(self._expected(metadata, version)))

    def test_every_stored_kind(self) -> None:
        """Both work for every kind that is stored."""
        for resource in CODECS.catalogue.resources:
            if resource.storage_version is None:
                continue
            codec = CODECS.kind(resource.api_version, resource.kind)
            obj = codec.normalise({"metadata": {"name": "a"}})
            raw = set_protobuf_version(codec.encode_protobuf(obj), b"12")
            text = set_json_version(orjson.dumps(obj), b"12")
            self.assertEqual(codec.decode_protobuf(raw), codec.normalise(orjson.loads(text)))
            self.assertEqual(codec.normalise(orjson.loads(text))["metadata"]["resourceVersion"], "12")

    def test_taken_out(self) -> None:
        """An object's JSON around its version is also that of the object without one, wherever that stands."""
        for names in (("name", "resourceVersion", "labels"), ("resourceVersion",), ("name", "resourceVersion")):
            meta = dict.fromkeys(names, "@")
            before, _, after = orjson.dumps({"metadata": {**meta, "resourceVersion": "#"}}).partition(b"#")
            del meta["resourceVersion"]
            self.assertEqual(without_json_version(before, after), orjson.dumps({"metadata": meta}))

    def test_no_metadata(self) -> None:
        """An object without metadata raises ValueError."""
        self.assertRaises(ValueError, set_json_version, b'"items":[]', b"1")
        self.assertRaises(ValueError, set_protobuf_version, b"\x12\x00", b"1")


class MetadataTests(SynchronousTestCase):
    """Metadata cut out by `metadata_of`."""

    def test_owned(self) -> None:
        """The metadata with or without its entries, wherever the first of that name are."""
        entries = [{"manager": "m", "fieldsV1": {"f:a": {}}}]
        inner = {"template": {"metadata": {"name": "t", "managedFields": entries}}, "x": 1}
        for meta in (
            {"name": "a"},
            {"name": "a", "annotations": {"x": ',"managedFields":[{}]},"'}},
            {"name": "a", "managedFields": entries},
            {"name": "a", "managedFields": [{"fieldsV1": {'f:]},"': {}}}]},
        ):
            large = {"x": "\u00fc" * 40_000}
            for rest in ({}, {"spec": {"x": [1]}}, {"spec": inner}, {"a": 1, "managedFields": entries}, large):
                tail = orjson.dumps({"metadata": meta, **rest})[1:]
                self.assertEqual(metadata_of(tail), meta)
                found = metadata_of(tail, owned=False)
                self.assertEqual({**found, "managedFields": 0}, {**meta, "managedFields": 0})


class SplitTests(SynchronousTestCase):
    """Parts made by `split_owned`."""

    def test_parts(self) -> None:
        """The object without its entries, and the end of its metadata, entries included."""
        entries = [{"manager": "m", "fieldsV1": {"f:a": {}}}]
        tail = orjson.dumps({"metadata": {"name": "a", "managedFields": entries}, "spec": {"x": [1]}})[1:]
        found = split_owned(tail)
        assert found is not None
        obj, end = found
        self.assertEqual(obj, {"metadata": {"name": "a"}, "spec": {"x": [1]}})
        self.assertEqual(
            orjson.loads(b"{" + tail[:end] + b"}"), {"metadata": {"name": "a", "managedFields": entries}}
        )

    def test_not_split(self) -> None:
        """Without entries of its own, or where the cut would be wrong, an object is left whole."""
        inner = {"template": {"metadata": {"name": "t", "managedFields": []}}, "x": 1}
        for obj in (
            {"metadata": {"name": "a"}, "spec": {"x": 1, "managedFields": [{"manager": "m"}]}, "status": {}},
            {"metadata": {"name": "a"}, "spec": {}},
            {"metadata": {"name": "a"}, "spec": inner},
            {"metadata": {"name": "a", "managedFields": [{"fieldsV1": {'f:]},': {}}}]}, "spec": {}},
            {"metadata": {"name": "a", "managedFields": [{"manager": "m"}]}},
        ):
            self.assertIsNone(split_owned(orjson.dumps(obj)[1:]), obj)


class LoadOwnedTests(SynchronousTestCase):
    TYPES: ClassVar = {"kind": "Pod", "apiVersion": "v1"}

    @examples(200)
    @given(some.integers(0, 2**32))
    def test_as_parsed(self, seed: int) -> None:
        """An object with any entries is the object of its text, and its field sets have their own texts."""
        random = Random(seed)
        entries = [entry(random) for _ in range(random.randrange(4))]
        meta: dict[str, Any] = {"name": random.choice(("a", TRICKY)), "managedFields": entries}
        if not entries:
            del meta["managedFields"]
        rest = random.choice(({}, {"spec": {"x": [1]}}, {"spec": {"managedFields": [{"fieldsV1": 0}]}, "status": {}}))
        text = orjson.dumps({**self.TYPES, "metadata": meta, **rest})
        tail = text[len(orjson.dumps(self.TYPES)) :]
        for _ in range(2):
            found = load_owned(self.TYPES, tail)
            self.assertEqual(orjson.dumps(found), text)
            for each in found["metadata"].get("managedFields", ()):
                fields = each.get("fieldsV1")
                self.assertEqual(KNOWN_FIELDS.text_of(fields), orjson.dumps(fields))

    def test_shared(self) -> None:
        """Objects with equal field sets share them, and nothing else."""
        owned = {"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": {"f:x": {}}}, "subresource": "status"}
        tails = [
            orjson.dumps({"metadata": {"name": "a", "managedFields": [{**owned, "manager": name}]}, "spec": {}})[1:]
            for name in "mn"
        ]
        first, second = (load_owned(self.TYPES, tail)["metadata"]["managedFields"][0] for tail in tails)
        self.assertIs(first["fieldsV1"], second["fieldsV1"])
        self.assertIsNot(first, load_owned(self.TYPES, tails[0])["metadata"]["managedFields"][0])
        self.assertEqual((first["manager"], second["manager"]), ("m", "n"))


def entry(random: Random) -> dict[str, Any]:
    """An entry of managedFields: as this server writes them, or any other that a client may have sent."""
    sets: tuple[Any, ...] = (
            {}, None, 0, {"f:a": {"f:b": {}}}, {'k:{"fieldsV1":1}': {".": {}}}, {"fieldsV1": {"f:x": {}}}, [[{}]],
            {"f:subresource": {}}, {TRICKY: {}}, {"f:a": {"subresource": "s"}}, {"f:a": [{"manager": "m"}]},
            {"x": [{"f": 1}, {"manager": "m", "fieldsV1": {}}]})  # fmt: skip
    found = {"manager": random.choice(("m", "", TRICKY, '},{"manager":"')), "fieldsV1": random.choice(sets)}
    if random.random() < 0.3:
        del found[random.choice(("manager", "fieldsV1"))]
    if random.random() < 0.5:
        found["subresource"] = random.choice(("status", "", TRICKY))
    return found


class KnownFieldsTests(SynchronousTestCase):
    def test_bounded(self) -> None:
        """A full cache is cleared; long sets are not kept; sets that are not kept have texts all the same."""
        known = KnownFields()
        for number in range(2 * REMEMBERED + 1):
            fields = b'{"f:%d":{}}' % number
            entries = known.entries(b'[{"fieldsV1":%b}]' % fields)
            assert entries is not None
            (found,) = entries
            self.assertEqual(known.text_of(found["fieldsV1"]), fields)
            self.assertLessEqual(len(known._values), REMEMBERED)
        self.assertEqual((len(known._values), len(known._texts)), (1, 1))
        known.entries(b'[{"fieldsV1":{"f:%b":{}}}]' % (b"x" * LONGEST))
        self.assertEqual(len(known._values), 1)
        self.assertEqual(known.text_of({"f:a": {}}), b'{"f:a":{}}')
