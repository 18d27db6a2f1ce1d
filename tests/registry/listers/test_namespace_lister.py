"""Objects by namespace, as values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchtw.registry.listers.namespace_lister import NamespaceLister
from orchtw.wire.objects import Object
from tests.client.world import WorldTestCase


class NamespaceListerTests(WorldTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.read: list[str] = []
        self.changed: list[str] = []
        self.world.config_map("old")
        stored = self.world.targets.stored_target("", "v1", "configmaps").stored
        self.lister: NamespaceLister[str] = NamespaceLister(stored, self.name_of, self.changed.append)

    def name_of(self, obj: Object) -> str:
        name: str = obj["metadata"]["name"]
        self.read.append(name)
        return name

    def found(self, namespace: str = "a") -> list[str]:
        return [value for _, value in self.lister.of(namespace)]

    def test_follows(self) -> None:
        """Existing objects are found at the first look, then changes, in the order of names."""
        self.assertEqual(self.found(), ["old"])
        self.world.config_map("new")
        self.assertEqual(self.found(), ["new", "old"])
        self.world.run(self.world.client.delete(self.world.resource("configmaps"), "a", "old"))
        self.assertEqual(self.found(), ["new"])
        self.world.run(self.world.client.delete(self.world.resource("configmaps"), "a", "new"))
        self.assertEqual((self.found(), self.found("b")), ([], []))
        self.assertEqual(self.changed, ["a", "a", "a"])

    def test_reads_once(self) -> None:
        """Each version is read once, and an object again when it has changed."""
        self.found()
        self.world.config_map("new")
        self.found()
        self.found()
        self.assertEqual(self.read, ["old", "new"])
        self.world.patch("configmaps", "old", {"labels": {"a": "b"}})
        self.assertEqual(self.found(), ["new", "old"])
        self.assertEqual(self.read, ["old", "new", "old"])
        entries = [entry for entry, _ in self.lister.of("a")]
        self.assertEqual(entries[1].labels, {"a": "b"})

    def test_get(self) -> None:
        """Single objects share the values of the list; a missing one is None."""
        self.assertEqual(self.found(), ["old"])
        self.assertEqual([self.lister.get(namespace, "old") for namespace in ("a", "b")], ["old", None])
        self.assertEqual((self.read, self.lister.due()), (["old"], None))

    def test_large(self) -> None:
        """Large objects are read in a thread, once."""
        sizes: list[int] = []

        async def run(size_bytes: int, work: Callable[[], Any]) -> Any:
            sizes.append(size_bytes)
            return work()

        large = {"metadata": {"name": "large"}, "data": {"a": "x" * 100_000}}
        self.world.run(self.world.client.create(self.world.resource("configmaps"), "a", large))
        for _ in range(2):
            found = self.world.run(self.lister.ready("a", run))
            self.assertEqual([value for _, value in found], ["large", "old"])
        self.assertEqual((len(sizes), self.read), (1, ["large", "old"]))
        self.world.patch("configmaps", "old", {"labels": {"a": "b"}})
        self.world.run(self.lister.ready("a", run))
        self.assertEqual((len(sizes), self.read), (1, ["large", "old", "old"]))
        self.assertEqual(self.world.run(self.lister.ready("b", run)), ())
