"""Custom objects in the store: in the version that they were written in, until they are written again."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming import Naming
from orchtw.objects import Object
from orchtw.registry.custom.kinds import kinds_of
from orchtw.registry.custom.stored import CustomStored
from orchtw.registry.custom.strategy import CustomStrategy
from orchtw.registry.system_metadata import ordered
from orchtw.request import UserInfo
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.custom.codec import CustomCodec
from tests.registry.custom.definitions import GROUP, INTEGER, STRING, definition, lamp, struct, version

NAMING = Naming.orch()
V1 = {"openAPIV3Schema": struct(spec=struct(old=STRING, size={**INTEGER, "default": 1}))}
V2 = {"openAPIV3Schema": struct(spec=struct(new={**STRING, "default": "n"}, size=INTEGER))}


def stored(*, same: bool) -> CustomStored:
    """Lamps whose storage version is v2 today."""
    codecs = Codecs(Catalogue.load(NAMING))
    lamps = definition(version("v1", schema=V1, storage=False), version("v2", schema=V2))
    made = {
        resource.api_version: (resource, codecs.made(resource, schema, CustomCodec))
        for resource, schema in kinds_of(lamps, codecs.schemas)
    }
    home, codec = made[f"{GROUP}/v2"]
    strategy = CustomStrategy(home, NAMING, codec)
    each = {api_version: codec for api_version, (_, codec) in made.items()}
    return CustomStored(home, codec, strategy, "/registry/x/lamps/", each, same=same)


def value(name: str, **spec: Any) -> bytes:
    meta = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "", "creationTimestamp": None}
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
        """What lies in the storage version as it would be written is current; what has to be completed is not
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
        """What a webhook has to convert stays as it is until somebody asks: a start needs no webhook
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
        """What does not fit its schema any more is shown as it is, and what is no such object is damaged."""
        home = stored(same=False)
        obj, _, _ = self.read(home, value("v2", new=3, size="large"))
        self.assertEqual(obj["spec"], {"new": 3, "size": "large"})
        other = value("v2").replace(b'"Lamp"', b'"Pump"')
        for text in (b"", b"[]", b"{}", b'{"kind":"Lamp","apiVersion":"v1"}', other):
            self.assertRaises((ValueError, KeyError, TypeError), home.build, "n/a", text, 7)

    def test_read_again(self) -> None:
        """What has been written is current when it is read again."""
        codecs = Codecs(Catalogue.load(NAMING))
        ((resource, schema),) = kinds_of(definition(version()), codecs.schemas)
        codec = codecs.made(resource, schema, CustomCodec)
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
        """What is written lies in the storage version, and is current."""
        home = stored(same=False)
        prepared = home.prepare(home.load(home.build("n/a", value("v2", size=2), 7)))
        self.assertTrue(prepared.value.startswith(f'{{"kind":"Lamp","apiVersion":"{GROUP}/v2",'.encode()))
        self.assertTrue(home.is_current(prepared.entry(8)))
