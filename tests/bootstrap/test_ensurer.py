"""Bootstrap objects that another writer changes back (reference CTRL-53)."""

from __future__ import annotations

from orchtw.bootstrap.ensurer import Ensurer
from orchtw.rules.contests import Contests
from orchtw.wire.objects import Object
from tests.client.world import WorldTestCase


class ContestTests(WorldTestCase):
    """A ConfigMap that the server keeps as it should be, every five seconds."""

    def setUp(self) -> None:
        super().setUp()
        world = self.world
        contests = Contests(world.clock.seconds)
        self.ensurer = Ensurer(
            targets=world.targets, writes=world.registry.writes, naming=world.naming, contests=contests
        )

    def wanted(self, **data: str) -> Object:
        return {"metadata": {"name": "m", "namespace": "a"}, "data": data or {"k": "ours"}}

    def keep(self, obj: Object) -> bool:
        """Look once; whether the object is as it should be then."""
        self.world.run(self.ensurer.ensure_content("", "v1", "configmaps", obj))
        return bool((self.world.get("configmaps", "m") or {}).get("data") == obj["data"])

    def undo(self, text: str = "theirs") -> None:
        """Let another writer put back what was there."""
        maps = self.world.resource("configmaps")
        self.world.run(self.world.client.patch(maps, "a", "m", {"data": {"k": text}}))

    def test_undone_again_and_again(self) -> None:
        """In ten minutes it is put right ten times, and left as it is for the rest."""
        done = 0
        self.assertTrue(self.keep(self.wanted()))
        for _ in range(120):
            self.undo()
            self.world.settle(5)
            done += self.keep(self.wanted())
        self.assertLess(done, 12)
        self.assertGreater(done, 6)

    def test_deleted_again_and_again(self) -> None:
        """The same of one that is deleted."""
        done = 0
        for _ in range(120):
            done += self.keep(self.wanted())
            if self.world.get("configmaps", "m") is not None:
                self.world.run(self.world.client.delete(self.world.resource("configmaps"), "a", "m"))
            self.world.settle(5)
        self.assertLess(done, 12)

    def test_what_is_new(self) -> None:
        """New content is written at once, and correct content is not written."""
        for _ in range(6):
            self.keep(self.wanted())
            self.undo()
        self.assertFalse(self.keep(self.wanted()))
        self.assertTrue(self.keep(self.wanted(k="new")))
        before = self.world.store.now
        for _ in range(5):
            self.assertTrue(self.keep(self.wanted(k="new")))
        self.assertEqual(self.world.store.now, before)
