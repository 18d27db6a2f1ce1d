"""Reads from the cache: of a namespace, at a revision, in pages, by selectors."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.errors import Expired, Timeout
from orchtw.rules.selectors import parse_fields, parse_labels
from orchtw.storage.store import (
    Op,
)
from orchtw.watch.entry import Entry
from orchtw.watch.selection import Selection
from tests.storage.cache.case import (
    CacheTestCase,
    past,
    result,
)


class ReadTests(CacheTestCase):
    def keys(self, entries: Sequence[Entry]) -> list[str]:
        """Return keys with revisions."""
        return [f"{entry.key}@{entry.revision}" for entry in entries]

    def test_namespace(self) -> None:
        """A namespace's snapshot holds that namespace, not those whose names begin alike."""
        pods = self.start()
        for key in ("a/x", "a-b/x", "a.b/x", "a0/x", "ab/x", "a/w"):
            self.store.put(f"/registry/pods/{key}")
        self.assertEqual(self.keys(pods.snapshot("a")), ["a/w@7", "a/x@2"])

    def test_exact_revision(self) -> None:
        """A snapshot at a revision shows what was there then, in key order (reference STORE-6, READ-5)."""
        pods = self.start()
        for key in ("a/x", "b/y", "a/z"):
            self.store.put(f"/registry/pods/{key}")
        self.store.write([Op("/registry/pods/a/x", None), Op("/registry/pods/b/y", b"new")])
        self.store.put("/registry/pods/a/new")
        self.assertEqual(self.keys(past(pods, 4)), ["a/x@2", "a/z@4", "b/y@3"])
        self.assertEqual(self.keys(past(pods, 4, "a")), ["a/x@2", "a/z@4"])
        self.assertEqual(self.keys(past(pods, 5)), ["a/z@4", "b/y@3"])
        self.assertEqual(self.keys(past(pods, 7)), ["a/new@7", "a/z@4", "b/y@6"])
        self.assertRaises(Timeout, pods.past, 8, Selection())

    def test_expired_revision(self) -> None:
        """A revision before the log raises Expired for lists (410)."""
        self.store.put("/registry/pods/a/x")
        pods = self.start()
        error = self.assertRaises(Expired, pods.past, 1, Selection())
        self.assertEqual(error.message, Expired.list().message)

    def test_pages(self) -> None:
        """A page begins at its start key, inclusive, now or at an exact revision."""
        pods = self.start()
        for key in ("a/x", "a/y", "b/x"):
            self.store.put(f"/registry/pods/{key}")
        self.store.write([Op("/registry/pods/a/y", None)])
        self.assertEqual(self.keys(pods.snapshot(start="a/x\0")), ["b/x@4"])
        self.assertEqual(self.keys(past(pods, 4, start="a/x\0")), ["a/y@3", "b/x@4"])
        self.assertEqual(self.keys(pods.snapshot("a", "a/x")), ["a/x@2"])

    def test_select(self) -> None:
        """Selections are answered in key order; a single object is looked up."""
        pods = self.start()
        for key, value in (("a/x", b"web n1"), ("a/y", b"api n1"), ("b/x", b"web n2")):
            self.store.put(f"/registry/pods/{key}", value)
        names = ("spec.nodeName",)
        table = [
            (Selection(), ["a/x@2", "a/y@3", "b/x@4"]),
            (Selection("a"), ["a/x@2", "a/y@3"]),
            (Selection("", parse_labels("l=web")), ["a/x@2", "b/x@4"]),
            (Selection("", None, parse_fields("spec.nodeName=n1", names), names), ["a/x@2", "a/y@3"]),
            (Selection("a", parse_labels("l=web"), parse_fields("metadata.name=x", ())), ["a/x@2"]),
            (Selection("a", parse_labels("l=api"), parse_fields("metadata.name=x", ())), []),
            (Selection("a", None, parse_fields("metadata.name=none", ())), []),
        ]
        for selection, expected in table:
            self.assertEqual(self.keys(result(pods.select(selection))), expected, f"{selection}")
            present = result(pods.past(pods.revision - 1, selection).steps())
            older = [key for key in expected if key != "b/x@4"]
            self.assertEqual(self.keys([each for each in present if selection.matches(each)]), older, f"{selection}")

    def test_by_name(self) -> None:
        """Of a kind without namespaces one object is looked up by its name; of others it is searched for."""
        pods, nodes = self.start(), self.cacher.of(self.nodes)
        named = Selection("", None, parse_fields("metadata.name=x", ()))
        self.assertEqual((len(nodes.candidates(named)), len(pods.candidates(named))), (0, 0))
        for key in ("nodes/w", "nodes/x", "pods/a/w", "pods/a/x", "pods/b/x"):
            self.store.put(f"/registry/{key}")
        self.assertEqual((self.keys(nodes.candidates(named)), len(pods.candidates(named))), (["x@3"], 3))
        self.assertEqual(self.keys(result(pods.select(named))), ["a/x@5", "b/x@6"])
