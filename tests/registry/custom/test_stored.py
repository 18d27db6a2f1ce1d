"""Custom objects in the store: in the version that they were written in, until they are written again."""
# covers: orchtw.registry.custom.strategy

from __future__ import annotations

from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.custom.kinds import kinds_of
from orchtw.registry.custom.stored import CustomStored
from orchtw.registry.custom.strategy import CustomStrategy
from orchtw.registry.metadata import ordered
from orchtw.request import UserInfo
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.custom.codec import CustomCodec
from orchtw.watch.entry import Entry
from orchtw.watch.room import Room
from orchtw.wire.objects import Object
from orchtw.wire.packing import Packed
from tests.registry.custom.definitions import GROUP, INTEGER, STRING, definition, lamp, struct, version

NAMING = Naming.orch()
V1 = {"openAPIV3Schema": struct(spec=struct(old=STRING, size={**INTEGER, "default": 1}))}
V2 = {"openAPIV3Schema": struct(spec=struct(new={**STRING, "default": "n"}, size=INTEGER))}


def stored(*, same: bool) -> CustomStored:
    """Lamps whose storage version is v2 today."""
    codecs = Codecs(Catalogue.load(NAMING))
    lamps = definition(version("v1", schema=V1, storage=False), version("v2", schema=V2))
    made = {
        resource.api_version: (resource, CustomCodec(resource, schema, codecs))
        for resource, schema in kinds_of(lamps, codecs.schemas)
    }
    home, codec = made[f"{GROUP}/v2"]
    strategy = CustomStrategy(home, NAMING, codec)
    each = {api_version: codec for api_version, (_, codec) in made.items()}
    return CustomStored(home, codec, strategy, "/registry/x/lamps/", each, same=same)


def value(name: str, more: Object | None = None, **spec: Any) -> bytes:
    meta = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "", "creationTimestamp": None}
    meta.update(more or {})
    obj = lamp(version=name, spec=spec)
    return orjson.dumps({"kind": "Lamp", "apiVersion": obj["apiVersion"], "metadata": meta, "spec": spec})


class StoredTests(SynchronousTestCase):
    def read(self, home: CustomStored, text: bytes) -> tuple[Object, str, bool]:
        """The object that is in the cache, the version of its bytes, and whether the store has it like that."""
        entry = home.build("n/a", text, 7)
        self.assertEqual((entry.name, entry.namespace), ("a", "n"))
        obj = home.load(entry)
        self.assertEqual(obj["metadata"]["resourceVersion"], "7")
        self.assertEqual(list(obj)[:3], ["kind", "apiVersion", "metadata"])
        return obj, home.version_of(entry).rpartition("/")[2], home.is_current(entry)

    def test_current(self) -> None:
        """Values in the storage version as they would be written are current; incomplete ones are not
        (reference CRD-16, CRD-40).
        """
        for same in (True, False):
            home = stored(same=same)
            obj, found, current = self.read(home, value("v2", new="x", size=2))
            self.assertEqual((obj["spec"], found, current), ({"new": "x", "size": 2}, "v2", True))
            obj, found, current = self.read(home, value("v2", old="x"))
            self.assertEqual((obj["spec"], found, current), ({"new": "n"}, "v2", False))

    def test_by_name(self) -> None:
        """Without a webhook an older object gets the defaults of its own version, and what is left of it in the
        storage version (reference CRD-40, CRD-41).
        """
        obj, found, current = self.read(stored(same=True), value("v1", old="x"))
        self.assertEqual((obj["spec"], found, current), ({"size": 1}, "v2", False))
        self.assertEqual(obj["apiVersion"], f"{GROUP}/v2")

    def test_by_webhook(self) -> None:
        """Values that need a webhook stay unconverted until they are read: a start needs no webhook
        (reference CRD-40).
        """
        obj, found, current = self.read(stored(same=False), value("v1", old="x"))
        self.assertEqual((obj["spec"], found, current), ({"old": "x", "size": 1}, "v1", False))
        self.assertEqual(obj["apiVersion"], f"{GROUP}/v1")

    def test_unknown_version(self) -> None:
        """An object in a version that is not defined any more is read all the same (reference CRD-40)."""
        obj, found, current = self.read(stored(same=True), value("v0", size=3, odd=1))
        self.assertEqual((obj["spec"], found, current), ({"size": 3}, "v2", False))
        obj, found, current = self.read(stored(same=False), value("v0", size=3, odd=1))
        self.assertEqual((obj["spec"], found, current), ({"size": 3, "odd": 1}, "v0", False))

    def test_odd_values(self) -> None:
        """Values that no longer fit their schema are shown as they are, and other values are damaged."""
        home = stored(same=False)
        obj, _, _ = self.read(home, value("v2", new=3, size="large"))
        self.assertEqual(obj["spec"], {"new": 3, "size": "large"})
        other = value("v2").replace(b'"Lamp"', b'"Pump"')
        lamp_of = b'{"kind":"Lamp","apiVersion":"%s"%s}'
        nameless = [b"", *(b',"metadata":' + meta for meta in (b"null", b"{}", b'{"name":""}', b'{"name":7}'))]
        found = [lamp_of % (group_version, more) for group_version in (b"v1", b"x/v2") for more in nameless]
        for text in (b"", b"[]", b"{}", b"7", b'{"kind":"Lamp","metadata":{"name":"a"}}', other, *found):
            self.assertRaises(ValueError, home.build, "n/a", text, 7)

    def test_read_again(self) -> None:
        """Written values are current when they are read again."""
        codecs = Codecs(Catalogue.load(NAMING))
        ((resource, schema),) = kinds_of(definition(version()), codecs.schemas)
        codec = CustomCodec(resource, schema, codecs)
        strategy = CustomStrategy(resource, NAMING, codec)
        home = CustomStored(resource, codec, strategy, "/registry/x/", {codec.api_version: codec}, same=True)
        sent = lamp(
            spec={"weight": 1.0, "box": {"b": [{"z": None, "a": 1}], "a": 2**53}, "labels": {"z": "1", "a": ""},
                  "parts": [{"name": "y"}, {"name": "x", "count": 3}]},
            status={"phase": "Up", "conditions": []}, extra="x",
        )  # fmt: skip
        sent["metadata"] |= {"namespace": "n", "labels": {"b": "", "a": "c"}, "annotations": {"z": "1", "y": "2"}}
        obj, _ = codec.fit(sent, "Ignore")
        strategy.prepare_for_create(obj, UserInfo(name="ann"))
        obj["metadata"] = ordered(obj["metadata"])
        found = home.build("n/a", home.prepare(obj).value, 7)
        self.assertTrue(home.is_current(found), home.load(found))

    def test_written(self) -> None:
        """Written values are in the storage version, and current."""
        home = stored(same=False)
        prepared = home.prepare(home.load(home.build("n/a", value("v2", size=2), 7)))
        self.assertTrue(prepared.value.startswith(f'{{"kind":"Lamp","apiVersion":"{GROUP}/v2",'.encode()))
        self.assertTrue(home.is_current(prepared.entry(8)))


OWNED = {"labels": {"app": "web"}, "managedFields": [{"manager": "m", "fieldsV1": {'k:{"a":"]},"}': {}}}]}
SPECS: tuple[Object, ...] = (
    {}, {"new": "x", "size": 2}, {"old": "x"}, {"size": "large"}, {"template": {"metadata": {"labels": {"a": "b"}}}}
)  # fmt: skip


class UnreadTests(SynchronousTestCase):
    """Values left unread at the start, against values that are read at once (reference STORE-23)."""

    def unread(self, home: CustomStored, text: bytes) -> Entry:
        """The entry of somebody who has asked for its labels."""
        self.assertTrue(home.is_plain("n/a", text))
        labels, fields, raw, other = home.glance(text, 7)
        return Entry("n/a", "n", "a", 7, labels, fields, raw, None, other)

    def test_like_what_is_built(self) -> None:
        """Labels, JSON, the version of it, and whether it is current are the same."""
        for same in (True, False):
            for name in ("v1", "v2"):
                for more in ({}, OWNED, {"labels": {"app": "web"}}, {**OWNED, "annotations": {"x": "\n\x1f"}}):
                    for spec in SPECS:
                        home, text = stored(same=same), value(name, more, **spec)
                        built, found = home.build("n/a", text, 7), self.unread(home, text)
                        self.assertEqual(found.labels, built.labels)
                        self.assertEqual(home.metadata(found), home.metadata(built))
                        self.assertEqual(home.version_of(found), home.version_of(built))
                        self.assertEqual(home.text(found), home.text(built))
                        self.assertEqual(home.is_current(found), home.is_current(built), text)
                        self.assertEqual(home.version_of(found), home.version_of(built))

    def test_kept_once(self) -> None:
        """The JSON of what is stored as it is shown is its stored bytes; other JSON can be made again."""
        home = stored(same=True)
        found = self.unread(home, value("v2", OWNED, new="x", size=2))
        self.assertIs(home.json_tail(found), found.raw)
        home.spare(found, drop=True)
        self.assertIs(found.json, found.raw)
        found = self.unread(home, value("v1", OWNED, old="x", size=3))
        tail = home.json_tail(found)
        self.assertIsNot(tail, found.raw)
        home.spare(found, drop=False)
        self.assertIsNone(found.json)
        self.assertEqual((home.json_tail(found), home.version_of(found)), (tail, f"{GROUP}/v2"))

    def test_no_room(self) -> None:
        """Where there is no room for more forms, none is made of what is stored as it is shown."""
        home = stored(same=True)
        home.room = Room(1)
        home.room.plain = 9
        self.assertGreater(home.room.excess, 0)
        found = self.unread(home, value("v2", OWNED, new="x", size=2))
        self.assertIs(home.listed_tail(found), found.raw)
        self.assertIs(found.json, found.raw)
        found = self.unread(home, value("v2", OWNED, size=2))
        tail = home.listed_tail(found)
        self.assertIs(type(found.json), Packed)
        self.assertEqual(home.json_tail(found), tail)

    def test_what_is_read_at_once(self) -> None:
        """Values of another kind, scope or unknown version are read when they are loaded."""
        home = stored(same=True)
        for key, text in (
            ("a", value("v2")),
            ("n/a", value("v0")),
            ("n/a", value("v2").replace(b'"Lamp"', b'"Pump"')),
            ("n/a", b""),
            ("n/a", b'{"kind":"Lamp"}'),
        ):
            self.assertFalse(home.is_plain(key, text))
