"""The loop of updates, over a store in memory (reference WRITE-2, WRITE-9, WRITE-10)."""

from __future__ import annotations

from orchtw.errors import BadRequest, Conflict, Invalid, NotFound
from orchtw.wire.objects import Object
from orchtw.writes import update
from tests.registry.writing import Rival, WriteTestCase


class UpdateTests(WriteTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.made = self.config_map()

    def changed(self, **meta: object) -> Object:
        return {**self.made, "metadata": {**self.made["metadata"], **meta}, "data": {"key": "new"}}

    def test_stored(self) -> None:
        """The wanted object replaces the live one; identity and times of the server's stay."""
        written = self.put(self.changed(creationTimestamp="2020-01-01T00:00:00Z"))
        after = self.live()
        assert after is not None
        self.assertEqual(self.maps.load(written.entry), after)
        self.assertFalse(written.created)
        self.assertEqual(after["data"], {"key": "new"})
        for key in ("uid", "creationTimestamp"):
            self.assertEqual(after["metadata"][key], self.made["metadata"][key])

    def test_nothing_to_do(self) -> None:
        """A write that changes nothing ends before the store and keeps the version."""
        before = self.world.store.now
        written = self.put(self.made)
        self.assertEqual((self.world.store.now, written.entry.revision), (before, before))

    def test_lost_race(self) -> None:
        """A write without a version that was overtaken is made again from the newer object: nothing is lost."""
        self.plugin.mutate = Rival(lambda: self.label(by="rival"))
        self.set_data("new")
        after = self.live()
        assert after is not None
        self.assertEqual((after["metadata"]["labels"], after["data"]), ({"by": "rival"}, {"key": "new"}))

    def test_lost_race_with_version(self) -> None:
        """One that names the version it was made from is a 409, also if it is overtaken on its way."""
        self.plugin.check = Rival(lambda: self.label(by="rival"))
        error = self.assertRaises(Conflict, self.put, self.changed())
        self.assertIn("the object has been modified", error.message)
        self.assertEqual(self.data(), {"key": "old"})

    def test_stale_version(self) -> None:
        """A version that is not the live one's is a 409; one that is not a number a 400."""
        self.assertRaises(Conflict, self.put, self.changed(resourceVersion="1"))
        self.assertRaises(BadRequest, self.put, self.changed(resourceVersion="one"))

    def test_version_required(self) -> None:
        """Some kinds ask for the version of an update: 422 without."""
        leases = self.target("leases", "coordination.orch.io/v1")
        self.create({"metadata": {"name": "l"}}, leases)
        error = self.assertRaises(Invalid, self.put, {"metadata": {"name": "l"}}, leases)
        self.assertIn("must be specified for an update", error.message)

    def test_other_uid(self) -> None:
        """An object of another UID is a 409: the name stands for something else now."""
        error = self.assertRaises(Conflict, self.put, self.changed(uid="other"))
        self.assertIn("Precondition failed: UID in precondition: other", error.message)

    def test_other_name(self) -> None:
        """An object of another name or namespace than the request's is a 400."""
        for meta in ({"name": "y"}, {"namespace": "b"}, {"name": ""}):
            self.assertRaises(BadRequest, self.update, lambda live, meta=meta: self.changed(**meta))

    def test_overtaken_by_a_delete(self) -> None:
        """An object that is deleted meanwhile is a 404."""
        client, maps = self.world.client, self.world.resource("configmaps")
        self.plugin.check = Rival(lambda: client.delete(maps, "a", "x"))
        self.assertRaises(NotFound, self.set_data, "new")
        self.assertIsNone(self.live())

    def test_no_end(self) -> None:
        """A write that is always overtaken gives up: 409."""
        self.patch(update, "MAX_ATTEMPTS", 3)
        counts = iter(range(10))
        self.plugin.check = Rival(lambda: self.label(count=str(next(counts))), times=10)
        self.assertRaises(Conflict, self.set_data, "new")
        self.assertEqual(next(counts), 3)

    def test_dry_run(self) -> None:
        """A dry run answers with the change, at the live version, and stores nothing."""
        before = self.world.store.now
        written = self.set_data("new", dry_run=True)
        self.assertEqual(self.maps.load(written.entry)["data"], {"key": "new"})
        self.assertEqual(written.entry.revision, before)
        self.assertEqual((self.data(), self.world.store.now), ({"key": "old"}, before))

    def test_missing(self) -> None:
        """There is nothing to update: 404, unless the kind's PUT creates."""
        self.assertRaises(NotFound, self.put, {"metadata": {"name": "nope"}})


class CreateByUpdateTests(WriteTestCase):
    """Kinds whose PUT creates (reference WRITE-9, KIND-8)."""

    def setUp(self) -> None:
        super().setUp()
        self.endpoints = self.target("endpoints")

    def subsets(self, address: str, **meta: str) -> Object:
        subset = {"addresses": [{"ip": address}], "ports": [{"port": 80}]}
        return {"metadata": {"name": "e", **meta}, "subsets": [subset]}

    def test_created(self) -> None:
        """A PUT of a missing object creates it."""
        written = self.put(self.subsets("10.0.0.1"), self.endpoints)
        self.assertTrue(written.created)
        self.assertEqual(self.live("e", self.endpoints), self.endpoints.load(written.entry))

    def test_any_version(self) -> None:
        """The version of an object that is gone does not matter, its UID does: 409."""
        self.assertTrue(self.put(self.subsets("10.0.0.1", resourceVersion="7"), self.endpoints).created)
        self.delete("e", self.endpoints)
        self.assertRaises(Conflict, self.put, self.subsets("10.0.0.1", uid="u"), self.endpoints)

    def test_overtaken(self) -> None:
        """When somebody else creates it meanwhile, the PUT becomes an update of that object."""
        client, endpoints = self.world.client, self.world.resource("endpoints")
        rival = self.subsets("10.0.0.9", namespace="a")
        self.plugin.check = Rival(lambda: client.create(endpoints, "a", rival))
        written = self.put(self.subsets("10.0.0.1"), self.endpoints)
        self.assertFalse(written.created)
        found = self.live("e", self.endpoints)
        assert found is not None
        self.assertEqual(found["subsets"][0]["addresses"], [{"ip": "10.0.0.1"}])

    def test_subresource(self) -> None:
        """A sub-resource never creates: 404."""
        self.assertRaises(NotFound, self.put, {"metadata": {"name": "e"}}, self.endpoints, subresource="status")


class FinalizerTests(WriteTestCase):
    """Updates of objects that wait for their end (reference DEL-11, WRITE-15)."""

    def setUp(self) -> None:
        super().setUp()
        self.config_map(finalizers=["example.com/one", "example.com/two"])
        self.assertFalse(self.delete())

    def without(self, *finalizers: str, dry_run: bool = False) -> bool:
        """Take finalizers off; whether the object is gone."""

        def change(live: Object | None) -> Object:
            assert live is not None
            live["metadata"].pop("resourceVersion")
            kept = [each for each in live["metadata"]["finalizers"] if each not in finalizers]
            live["metadata"]["finalizers"] = kept
            return live

        self.update(change, from_live=True, dry_run=dry_run)
        return self.live() is None

    def test_last(self) -> None:
        """The update that takes the last finalizer off removes the object, and only that one."""
        self.assertFalse(self.without("example.com/one"))
        self.assertTrue(self.without("example.com/two"))

    def test_dry_run(self) -> None:
        """A dry run of it removes nothing."""
        self.assertFalse(self.without("example.com/one", "example.com/two", dry_run=True))

    def test_no_new_ones(self) -> None:
        """No finalizers are added to what is terminating: 422."""

        def more(live: Object | None) -> Object:
            assert live is not None
            live["metadata"]["finalizers"].append("example.com/three")
            return live

        error = self.assertRaises(Invalid, self.update, more)
        self.assertIn("no new finalizers can be added", error.message)

    def test_overtaken(self) -> None:
        """A removal that was overtaken looks again: what the other has added to the object keeps nothing alive."""
        self.plugin.check = Rival(lambda: self.label(by="rival"))
        self.assertTrue(self.without("example.com/one", "example.com/two"))

    def test_lives_on(self) -> None:
        """An object without finalizers that nobody deletes is only changed."""
        self.without("example.com/one", "example.com/two")
        self.config_map(finalizers=["example.com/one"])
        self.assertFalse(self.without("example.com/one"))
