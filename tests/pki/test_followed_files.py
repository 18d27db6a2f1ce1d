"""Files that are replaced while the server runs (reference REQ-26, CSR-15)."""

from __future__ import annotations

import os
from pathlib import Path

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import ConfigError
from orchtw.pki.followed_files import INTERVAL_S, FollowedFiles


class FollowedFilesTests(SynchronousTestCase):
    """Reloading of files that change (`FollowedFiles`)."""

    def setUp(self) -> None:
        self.file = Path(self.mktemp())
        self.file.write_text("one")
        self.taken: list[str] = []
        self.clock = Clock()
        self.service = FollowedFiles("files", [self.file], self.take_over, self.clock)
        self.service.startService()
        self.addCleanup(self.service.stopService)

    def take_over(self) -> None:
        text = self.file.read_text()
        if text == "bad":
            raise ConfigError("bad")
        if text == "odd":
            raise OverflowError("odd")
        self.taken.append(text)

    def replace(self, text: str) -> None:
        new = self.file.with_suffix(".new")
        new.write_text(text)
        os.replace(new, self.file)

    def test_unchanged(self) -> None:
        """Nothing is read again while the file stays."""
        self.clock.advance(INTERVAL_S)
        self.assertEqual(self.taken, [])

    def test_replaced(self) -> None:
        """A replaced file is taken over at the next look, once."""
        self.replace("two")
        self.clock.advance(INTERVAL_S)
        self.clock.advance(INTERVAL_S)
        self.assertEqual(self.taken, ["two"])

    def test_unusable(self) -> None:
        """An unusable file changes nothing, and a later good one does."""
        self.replace("bad")
        self.clock.advance(INTERVAL_S)
        self.assertEqual(self.taken, [])
        self.replace("three")
        self.clock.advance(INTERVAL_S)
        self.assertEqual(self.taken, ["three"])

    def test_unforeseen(self) -> None:
        """Whatever reading raises is logged once for each state of the files, and ends neither looks nor serving."""
        self.replace("odd")
        self.clock.advance(INTERVAL_S)
        self.clock.advance(INTERVAL_S)
        self.assertEqual(len(self.flushLoggedErrors(OverflowError)), 1)
        self.replace("three")
        self.clock.advance(INTERVAL_S)
        self.assertEqual(self.taken, ["three"])
