"""Identity of a written object against its request (reference ERR-16)."""
# covers: orchtw.registry.write

from __future__ import annotations

from typing import Any

from orchtw.errors import BadRequest, Conflict, Invalid
from orchtw.registry.write import Write
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from orchtw.writes import identity
from tests.registry.writing import WriteTestCase


class NameTests(WriteTestCase):
    """Names and namespaces of new objects."""

    def test_name(self) -> None:
        """An object without a name is refused, except in an apply, which names it; another name is refused."""
        write = self.write(self.maps, "x")
        self.assertRaises(BadRequest, identity.match_name, write, {})
        self.assertRaises(BadRequest, identity.match_name, write, {"name": "y"})
        applied: Object = {}
        identity.match_name(self.write(self.maps, "x", applies=True), applied)
        self.assertEqual(applied, {"name": "x"})

    def test_namespace(self) -> None:
        """A missing or empty namespace is that of the request; another one is refused."""
        write = self.write(self.maps, "x")
        for sent in ({}, {"namespace": ""}, {"namespace": "a"}):
            meta: Object = {**sent}
            identity.match_namespace(write, meta)
            self.assertEqual(meta, {"namespace": "a"})
        self.assertRaises(BadRequest, identity.match_namespace, write, {"namespace": "b"})

    def test_cluster_scope(self) -> None:
        """An object of the whole cluster loses the namespace that a client has sent (reference OBJ-2)."""
        write = self.write(self.target("nodes"), "n")
        for match in (identity.match_namespace, identity.match_place):
            meta: Object = {"name": "n", "namespace": "b"}
            match(write, meta)
            self.assertEqual(meta, {"name": "n"})


class LiveTests(WriteTestCase):
    """Metadata of an update against the live object's."""

    def setUp(self) -> None:
        super().setUp()
        self.old = self.config_map()["metadata"]
        entry = self.maps.stored.get("a", "x")
        assert entry is not None
        self.entry: Entry = entry

    def match(self, write: Write | None = None, **sent: Any) -> str:
        """Return the version that an update with this metadata asks for."""
        meta = {"name": "x", **sent}
        return identity.match_live(write or self.write(self.maps, "x"), meta, self.old, self.entry)

    def test_version(self) -> None:
        """The live version is passed on, none and zero ask for none, and an older one is a conflict."""
        live = self.old["resourceVersion"]
        self.assertEqual([self.match(resourceVersion=each) for each in (live, "", "0")], [live, "", ""])
        self.assertEqual(self.match(), "")
        error = self.assertRaises(Conflict, self.match, resourceVersion=str(int(live) + 1))
        self.assertIn("the object has been modified", error.message)
        self.assertRaises(BadRequest, self.match, resourceVersion="x")

    def test_required_version(self) -> None:
        """A kind without unconditional updates asks for a version, unless the object is made from the live one."""
        kind = self.target("customresourcedefinitions", "apiextensions.orch.io/v1")
        self.assertFalse(kind.strategy.traits.unconditional_update)
        error = self.assertRaises(Invalid, self.match, self.write(kind, "x"))
        self.assertIn("metadata.resourceVersion: Invalid value: 0x0: must be specified for an update", error.message)
        self.assertEqual(self.match(self.write(kind, "x", from_live=True)), "")

    def test_uid(self) -> None:
        """Another UID is a conflict that names both; the same one and none pass."""
        self.match(uid=self.old["uid"])
        error = self.assertRaises(Conflict, self.match, uid="other")
        why = f"Precondition failed: UID in precondition: other, UID in object meta: {self.old['uid']}"
        self.assertIn(why, error.message)

    def test_shown(self) -> None:
        """A sub-resource may not become another object's; one whose metadata is not an object has no name."""
        write, wanted = self.write(self.maps, "x"), {"metadata": self.old}
        identity.match_shown(write, {"metadata": {"name": "x", "uid": self.old["uid"]}}, wanted)
        self.assertRaises(Conflict, identity.match_shown, write, {"metadata": {"name": "x", "uid": "other"}}, wanted)
        others: tuple[object, ...] = ({"name": "y"}, {"name": "x", "namespace": "b"}, None, [])
        for meta in others:
            self.assertRaises(BadRequest, identity.match_shown, write, {"metadata": meta}, wanted)
