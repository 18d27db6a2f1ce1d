"""Metadata of stored objects: the order of its keys, and annotations (reference OBJ-4)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.registry.metadata import drop_annotation, ordered, put_annotation
from orchtw.wire.objects import Object


class OrderTests(SynchronousTestCase):
    """Order of the keys of stored metadata."""

    def test_order(self) -> None:
        """Metadata comes in the order of the release, without fields that are gone and with an empty version."""
        meta = ordered({"labels": {}, "selfLink": "/x", "uid": "u", "resourceVersion": "7", "name": "n"})
        self.assertEqual(list(meta), ["name", "uid", "resourceVersion", "creationTimestamp", "labels"])
        self.assertEqual((meta["resourceVersion"], meta["creationTimestamp"]), ("", None))


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
