"""Lister over a cache."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.registry.listers.lister import CachedLister
from tests.client.world import World


class CachedListerTests(SynchronousTestCase):
    """Objects that a lister has read out of the cache."""

    def setUp(self) -> None:
        self.world = World()
        self.maps = self.world.client.resource("", "v1", "configmaps")
        self.read: list[str] = []

        def read(stored: Any, entry: Any) -> dict[str, str]:
            self.read.append(entry.name)
            data: dict[str, str] = stored.load(entry).get("data", {})
            return data

        stored = self.world.targets.stored_target("", "v1", "configmaps").stored
        self.lister = CachedLister(stored, read, most=2)

    def create(self, name: str, value: str) -> None:
        """Store a ConfigMap in the default namespace."""
        obj = {"metadata": {"name": name, "namespace": "default"}, "data": {"key": value}}
        self.world.run(self.world.client.create(self.maps, "default", obj))

    def test_once(self) -> None:
        """An object is read once for each of its versions; one that does not exist is None."""
        self.create("a", "1")
        for _ in range(2):
            self.assertEqual(self.lister.get("default", "a"), {"key": "1"})
        self.assertIsNone(self.lister.get("default", "b"))
        self.assertIsNone(self.lister.get("other", "a"))
        self.assertEqual(self.read, ["a"])

    def test_list(self) -> None:
        """All objects come by name, more of them than are kept too."""
        for name in ("c", "a", "b"):
            self.create(name, name)
        self.assertEqual([each["key"] for each in self.lister.list()], ["a", "b", "c"])
