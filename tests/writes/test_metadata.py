"""Metadata that the server writes, and that clients cannot change (reference OBJ-3 to OBJ-5)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.wire.objects import Object
from orchtw.writes.metadata import Stamp, drop_deletion, keep_server_fields, keep_times, set_owners, without_version

DELETION, GRACE = "deletionTimestamp", "deletionGracePeriodSeconds"
LATER, NOW = "2022-05-04T00:00:00Z", "2022-05-03T00:00:00Z"


class NewObjectTests(SynchronousTestCase):
    """Metadata of new objects."""

    def test_identity(self) -> None:
        """A new object gets a UID of its own and the time in whole seconds, whatever the client has sent."""
        stamp = Stamp(now=lambda: 1_651_536_000.9, new_uid=lambda: "fresh")
        meta: Object = {"uid": "sent", "creationTimestamp": LATER}
        stamp.created(meta)
        self.assertEqual(meta, {"uid": "fresh", "creationTimestamp": NOW})

    def test_deletion(self) -> None:
        """The marks of a deletion are taken from a new object."""
        meta: Object = {"name": "n", "deletionTimestamp": NOW, "deletionGracePeriodSeconds": 30}
        drop_deletion(meta)
        self.assertEqual(meta, {"name": "n"})


class UpdateTests(SynchronousTestCase):
    """Metadata of updates against the stored metadata."""

    def kept(self, new: Object, old: Object) -> Object:
        """Return the metadata of an update, in which the server's fields have been put back."""
        meta = {**new}
        keep_server_fields(meta, old)
        return meta

    def test_identity(self) -> None:
        """An update cannot change, add or remove what identifies the object."""
        old = {"uid": "u", "creationTimestamp": NOW}
        self.assertEqual(self.kept({"uid": "other", "generateName": "x-"}, old), old)
        self.assertEqual(self.kept({}, old), old)

    def test_termination(self) -> None:
        """A termination stays; one that a client begins, and another grace period, are left to validation."""
        old = {DELETION: NOW, GRACE: 30}
        self.assertEqual(self.kept({}, old), old)
        self.assertEqual(self.kept({DELETION: LATER, GRACE: None}, old), old)
        self.assertEqual(self.kept({GRACE: 5}, old), {DELETION: NOW, GRACE: 5})
        self.assertEqual(self.kept({DELETION: NOW}, {}), {DELETION: NOW})


class ComparisonTests(SynchronousTestCase):
    """Metadata of two states of an object."""

    def test_without_version(self) -> None:
        """Two versions of an object are compared without their resourceVersion; the object itself keeps it."""
        obj = {"metadata": {"name": "n", "resourceVersion": "7"}, "data": {}}
        self.assertEqual(without_version(obj), {"metadata": {"name": "n"}, "data": {}})
        self.assertEqual(obj["metadata"]["resourceVersion"], "7")

    def test_times(self) -> None:
        """Times of field owners stay if nothing else of the owners changes (reference APPLY-23)."""
        old = {"managedFields": [{"manager": "a", "time": NOW}]}
        for manager, expected in (("a", NOW), ("b", LATER)):
            new: Object = {"managedFields": [{"manager": manager, "time": LATER}]}
            keep_times(new, old)
            self.assertEqual(new, {"managedFields": [{"manager": manager, "time": expected}]})

    def test_owners(self) -> None:
        """Field owners are the last key; without owners there is no key."""
        meta: Object = {"managedFields": [{"manager": "a"}], "name": "n"}
        set_owners(meta, [{"manager": "b"}])
        self.assertEqual(list(meta.items()), [("name", "n"), ("managedFields", [{"manager": "b"}])])
        set_owners(meta, None)
        self.assertEqual(meta, {"name": "n"})
