"""Files that are read again when they have changed (reference AUTHN-62)."""

from __future__ import annotations

from pathlib import Path

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import ConfigError
from orchtw.outbound.followed_file import INTERVAL_S, FollowedFile


class FollowedFileTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.path, self.clock = Path(self.mktemp()), Clock()
        self.path.write_text("a")
        self.reads, self.wrong = 0, False
        followed = FollowedFile(self.path, "file", self.read, self.clock)
        followed.startService()
        self.addCleanup(followed.stopService)

    def read(self) -> None:
        self.reads += 1
        if self.wrong:
            raise ConfigError("wrong")

    def look(self) -> int:
        """Return how often the file has been read after one more look."""
        self.clock.advance(INTERVAL_S)
        return self.reads

    def test_changes(self) -> None:
        """A file is read once for each change, and not for a look (reference AUTHN-62)."""
        self.assertEqual(self.look(), 0)
        self.path.write_text("bc")
        self.assertEqual([self.look(), self.look()], [1, 1])

    def test_failures(self) -> None:
        """A changed file that cannot be read is tried again, though it stays as it is (reference AUTHN-62)."""
        self.wrong = True
        self.path.write_text("bc")
        self.assertEqual([self.look(), self.look()], [1, 2])
        self.wrong = False
        self.assertEqual([self.look(), self.look()], [3, 3])
