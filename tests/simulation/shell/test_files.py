"""Files that commands have moved (reference SIM-21)."""

from __future__ import annotations

from collections.abc import Mapping

from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.shell.files import MOST_MOVED, Files


class MoveTests(SynchronousTestCase):
    """Files of a web server's folder."""

    def setUp(self) -> None:
        self.told: list[Mapping[str, str]] = []
        self.files = Files(told=lambda moved: self.told.append(dict(moved)))

    def test_there_and_back(self) -> None:
        """A file that has gone cannot be moved again, and is forgotten once it is back."""
        self.assertFalse(self.files.move("/tmp/a", "/www/"))
        self.assertTrue(self.files.move("/www/a", "/tmp/"))
        self.assertFalse(self.files.move("/www/a", "/tmp"))
        self.assertTrue(self.files.move("/tmp/a", "/www/"))
        self.assertEqual(self.told, [{"/www/a": "/tmp/a"}, {}])

    def test_onward(self) -> None:
        """A file that is moved on stays away from its first place; a root folder takes it in."""
        self.files.move("/www/a", "/tmp")
        self.files.move("/tmp/a", "/www/b")
        self.assertEqual(self.files.moved, {"/www/a": "/www/b"})

    def test_bound(self) -> None:
        """Only so many files can be elsewhere."""
        moved = [self.files.move(f"/www/{at}", "/tmp/") for at in range(MOST_MOVED + 1)]
        self.assertEqual(moved, [True] * MOST_MOVED + [False])
