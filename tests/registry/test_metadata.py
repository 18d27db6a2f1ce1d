"""Metadata that the server writes, and what clients cannot change of it (reference OBJ-3 to OBJ-5)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.registry.metadata import drop_annotation, keep_server_fields, ordered, put_annotation
from orchtw.wire.objects import Object

DELETION, GRACE = "deletionTimestamp", "deletionGracePeriodSeconds"
LATER, NOW = "2022-05-04T00:00:00Z", "2022-05-03T00:00:00Z"


class OrderTests(SynchronousTestCase):
    """Order of the keys of stored metadata."""

    def test_order(self) -> None:
        """Metadata comes in the order of the release, without fields that are gone and with an empty version."""
        meta = ordered({"labels": {}, "selfLink": "/x", "uid": "u", "resourceVersion": "7", "name": "n"})
        self.assertEqual(list(meta), ["name", "uid", "resourceVersion", "creationTimestamp", "labels"])
        self.assertEqual((meta["resourceVersion"], meta["creationTimestamp"]), ("", None))


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


class AnnotationTests(SynchronousTestCase):
    """Annotations that the server adds and removes."""

    def test_put(self) -> None:
        """An annotation comes to its place by name, also where there are none, in a map of its own."""
        before = {"a": "1", "c": "3"}
        meta: Object = {"annotations": before}
        put_annotation(meta, "b", "2")
        self.assertEqual(list(meta["annotations"].items()), [("a", "1"), ("b", "2"), ("c", "3")])
        self.assertEqual(before, {"a": "1", "c": "3"})
        for empty in ({}, {"annotations": None}):
            bare: Object = {**empty}
            put_annotation(bare, "b", "2")
            self.assertEqual(bare, {"annotations": {"b": "2"}})

    def test_drop(self) -> None:
        """The last annotation takes the map along; an annotation that is not there changes nothing."""
        meta: Object = {"annotations": {"a": "1", "b": "2"}}
        for key, expected in (
            ("x", {"annotations": {"a": "1", "b": "2"}}),
            ("a", {"annotations": {"b": "2"}}),
            ("b", {}),
            ("b", {}),
        ):
            drop_annotation(meta, key)
            self.assertEqual(meta, expected)
