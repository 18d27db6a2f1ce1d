"""Creation of objects, over a store in memory (reference WRITE-5)."""

from __future__ import annotations

from orchtw.errors import AlreadyExists, BadRequest, Invalid, NotFound
from orchtw.writes import drafts
from tests.registry.writing import WriteTestCase


class CreateTests(WriteTestCase):
    def test_stored(self) -> None:
        """The server makes up UID and time of creation; the answer is what the store has."""
        made = self.config_map()
        self.assertEqual(made, self.live())
        meta = made["metadata"]
        self.assertEqual((meta["namespace"], meta["creationTimestamp"]), ("a", "2023-11-14T22:13:20Z"))
        self.assertTrue(meta["uid"])
        self.assertEqual(meta["resourceVersion"], str(self.world.store.now))

    def test_exists(self) -> None:
        """A name that is taken is a 409, and the object stays."""
        made = self.config_map()
        error = self.assertRaises(AlreadyExists, self.config_map)
        self.assertEqual(error.message, 'configmaps "x" already exists')
        self.assertEqual(self.live(), made)

    def test_generated_name(self) -> None:
        """A name is made of generateName; one that is taken by chance is a 409 that says so, without another try."""
        self.patch(drafts, "generate_name", lambda base, random: f"{base}12345")
        made = self.create({"metadata": {"generateName": "web-"}})
        self.assertEqual(made["metadata"]["name"], "web-12345")
        before = self.world.store.now
        error = self.assertRaises(AlreadyExists, self.create, {"metadata": {"generateName": "web-"}})
        self.assertIn("the server was not able to generate a unique name", error.message)
        self.assertEqual(self.world.store.now, before)

    def test_no_name(self) -> None:
        """Neither name nor generateName is a 422."""
        error = self.assertRaises(Invalid, self.create, {"metadata": {}})
        self.assertIn("name or generateName is required", error.message)

    def test_other_namespace(self) -> None:
        """An object of another namespace than the request's is a 400."""
        self.assertRaises(BadRequest, self.create, {"metadata": {"name": "x", "namespace": "b"}})

    def test_version(self) -> None:
        """An object that names a version cannot be new: 400."""
        self.assertRaises(BadRequest, self.create, {"metadata": {"name": "x", "resourceVersion": "3"}})

    def test_missing_namespace(self) -> None:
        """Nothing is created where there is no namespace: 404."""
        error = self.assertRaises(NotFound, self.create, {"metadata": {"name": "x"}}, namespace="nope")
        self.assertEqual(error.message, 'namespaces "nope" not found')

    def test_no_deletion(self) -> None:
        """A new object is not terminating, whatever it says."""
        meta = {"name": "x", "deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 3}
        self.assertEqual(
            set(self.create({"metadata": meta})["metadata"]),
            {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"},
        )

    def test_dry_run(self) -> None:
        """A dry run answers with the object, without a version, and stores nothing; a taken name is a 409."""
        before = self.world.store.now
        made = self.create({"metadata": {"name": "x"}}, dry_run=True)
        self.assertNotIn("resourceVersion", made["metadata"])
        self.assertTrue(made["metadata"]["uid"])
        self.assertEqual((self.live(), self.world.store.now), (None, before))
        self.config_map()
        self.assertRaises(AlreadyExists, self.create, {"metadata": {"name": "x"}}, dry_run=True)

    def test_terminating_name(self) -> None:
        """A create of the name of a terminating object is told that this object is terminating (reference ERR-6)."""
        self.config_map(finalizers=["example.com/wait"])
        self.assertFalse(self.delete())
        for dry_run in (False, True):
            error = self.assertRaises(AlreadyExists, self.create, {"metadata": {"name": "x"}}, dry_run=dry_run)
            self.assertEqual(error.message, 'object is being deleted: configmaps "x" already exists')
