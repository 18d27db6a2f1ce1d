"""An audit log that several processes write."""

from __future__ import annotations

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.audit.log_file import LogSettings
from orchtw.audit.shared_log_file import SharedLogFile


class SharedLogFileTests(SynchronousTestCase):
    """Two writers of one log (reference AUDIT-24)."""

    def setUp(self) -> None:
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        self.said: list[str] = []
        self.seconds = 1_000_000.0

    def opened(self, max_bytes: int) -> SharedLogFile:
        settings = LogSettings(path=str(self.folder / "audit.log"), max_bytes=max_bytes)
        file = SharedLogFile(settings, lambda: self.seconds, self.said.append, self.folder / "lock")
        self.addCleanup(file.close)
        return file

    def contents(self) -> list[bytes]:
        """Of the files, those that are over first."""
        found = [each for each in sorted(self.folder.glob("audit-*.log"))]
        return [each.read_bytes() for each in (*found, self.folder / "audit.log")]

    def test_one_file(self) -> None:
        """Lines of all come in the order in which they are written."""
        first, second = self.opened(100), self.opened(100)
        for number in range(3):
            first.write(b"a%d\n" % number)
            second.write(b"b%d\n" % number)
        self.assertEqual(self.contents(), [b"a0\nb0\na1\nb1\na2\nb2\n"])

    def test_one_rotation(self) -> None:
        """The file is as long as the lines of all; when one process begins a new one the others go on in that."""
        first, second = self.opened(8), self.opened(8)
        first.write(b"aaa\n")
        second.write(b"bbb\n")
        first.write(b"ccc\n")
        self.seconds += 1
        second.write(b"ddd\n")
        second.write(b"eee\n")
        first.write(b"fff\n")
        self.assertEqual(self.contents(), [b"aaa\nbbb\n", b"ccc\nddd\n", b"eee\nfff\n"])
        self.assertEqual(self.said, [])

    def test_standing_still(self) -> None:
        """A process that stalls with the lock delays no one for long: lines are written, the file is not rotated."""
        first, second = self.opened(4), self.opened(4)
        first.write(b"aaa\n")
        self.assertTrue(first._take())
        second.write(b"bbb\n")
        self.assertEqual(self.contents(), [b"aaa\nbbb\n"])
