"""Drafts kept for the next update: given away once, bounded, and equal to what is parsed."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.registry.recent_drafts import LONGEST, MEMORY_OF_A_BYTE, RECENT_DRAFTS, SHORTEST, RecentDrafts
from orchtw.watch.entry import Entry
from tests.client.world import World


def entry(revision: int, size: int = SHORTEST) -> Entry:
    return Entry("a/x", "a", "x", revision, {}, (), b"", b" " * size)


class RecentDraftsTests(SynchronousTestCase):
    """Drafts that are kept for the next update."""

    def test_taken_once(self) -> None:
        """A draft is given away once, for its entry and target alone, with the resourceVersion of the entry."""
        recent, here, there = RecentDrafts(), object(), object()
        stored = entry(7)
        recent.keep(here, stored, {"metadata": {"resourceVersion": ""}})
        self.assertIsNone(recent.take(here, entry(7)))
        self.assertEqual(recent.take(here, stored), {"metadata": {"resourceVersion": "7"}})
        self.assertIsNone(recent.take(here, stored))
        recent.keep(here, stored, {"metadata": {}})
        self.assertIsNone(recent.take(there, stored))
        self.assertEqual(recent.size_bytes, 0)

    def test_bounded(self) -> None:
        """The oldest drafts go when all together exceed the limit."""
        recent, target = RecentDrafts(2 * SHORTEST * MEMORY_OF_A_BYTE), object()
        entries = [entry(revision) for revision in (1, 2, 3)]
        for each in entries:
            recent.keep(target, each, {"metadata": {}})
        self.assertEqual(recent.size_bytes, 2 * SHORTEST * MEMORY_OF_A_BYTE)
        self.assertEqual([recent.take(target, each) is None for each in entries], [True, False, False])
        self.assertEqual(recent.size_bytes, 0)

    def test_sizes(self) -> None:
        """Objects that are as quick to parse are not kept, nor are large ones."""
        recent, target = RecentDrafts(), object()
        for size in (SHORTEST - 1, LONGEST + 1):
            stored = entry(1, size)
            recent.keep(target, stored, {"metadata": {}})
            self.assertIsNone(recent.take(target, stored))

    def test_updates(self) -> None:
        """An update leaves its draft to the next one, which may change it."""
        world = World()
        self.addCleanup(world.stop)
        world.namespace("a")
        maps, target = world.resource("configmaps"), world.targets.find("", "v1", "configmaps")
        assert target is not None
        new = {"metadata": {"name": "x"}, "data": {"text": "a" * SHORTEST}}
        world.run(world.client.create(maps, "a", new))
        for number in ("1", "2"):
            world.run(world.client.patch(maps, "a", "x", {"data": {"number": number}}))
            stored = target.stored.get("a", "x")
            assert stored is not None
            left = RECENT_DRAFTS.take(target, stored)
            self.assertEqual(left, target.load_draft(stored))
            assert left is not None
            RECENT_DRAFTS.keep(target, stored, left)
