"""The log file, its rotation, and the retention of old files (reference AUDIT-11, AUDIT-18)."""
# covers: orchtw.audit.old_files

from __future__ import annotations

import gzip
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from orchtw.audit.log_file import LogFile, LogSettings
from orchtw.audit.old_files import Keeper, Keeping, backup_path

NOON_S = datetime(2022, 5, 3, 12, tzinfo=UTC).timestamp()
LINE = b"x" * 39 + b"\n"


class LogFileTests(SynchronousTestCase):
    """Rotated log files (`LogFile`)."""

    def setUp(self) -> None:
        self.folder = Path(self.mktemp())
        self.path = self.folder / "deep" / "audit.log"
        self.now_s = NOON_S
        self.said: list[str] = []

    def opened(self, max_bytes: int = 100) -> LogFile:
        settings = LogSettings(path=str(self.path), max_bytes=max_bytes)
        file = LogFile(settings, lambda: self.now_s, self.said.append)
        self.addCleanup(file.close)
        return file

    def names(self) -> list[str]:
        return sorted(os.listdir(self.path.parent))

    def everything(self) -> bytes:
        return b"".join((self.path.parent / name).read_bytes() for name in self.names())

    def test_private(self) -> None:
        """The file is its owner's alone, and so is a folder that is made for it."""
        self.opened().write(LINE)
        self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.path.parent.stat().st_mode & 0o777, 0o700)

    def test_rotated(self) -> None:
        """A file that has no room for the next lines is moved away under its time, and a new one begins."""
        file = self.opened()
        for _ in range(5):
            file.write(LINE)
        old = ["audit-2022-05-03T12-00-00.000.log", "audit-2022-05-03T12-00-00.001.log", "audit.log"]
        self.assertEqual(self.names(), old)
        self.assertEqual(self.everything(), LINE * 5)
        self.assertEqual((self.path.parent / old[0]).stat().st_mode & 0o777, 0o600)

    def test_continued(self) -> None:
        """An existing file is appended to, and its size counts."""
        self.opened().write(LINE * 2)
        self.opened().write(LINE)
        self.assertEqual(len(self.names()), 2)

    def test_long_lines(self) -> None:
        """A line that no file has room for is written all the same."""
        file = self.opened(10)
        file.write(LINE)
        file.write(LINE)
        self.assertEqual(self.everything(), LINE * 2)

    def test_moved_by_others(self) -> None:
        """After a move by others and a word about it (SIGHUP), the next line is in a file of the old name."""
        file = self.opened()
        file.write(b"1\n")
        self.path.rename(self.path.with_name("moved"))
        file.write(b"2\n")
        file.reopen_later()
        file.write(b"3\n")
        self.assertEqual((self.path.read_bytes(), self.path.with_name("moved").read_bytes()), (b"3\n", b"1\n2\n"))

    def test_emptied_by_others(self) -> None:
        """A file that others copy and empty is written on from its beginning, and is not rotated too early."""
        file = self.opened()
        file.write(LINE * 2)
        os.truncate(self.path, 0)
        file.write(LINE)
        self.assertEqual((self.names(), self.path.read_bytes()), (["audit.log"], LINE))

    def test_cannot_be_rotated(self) -> None:
        """Without a way to move the file away it grows, and nothing is lost."""
        file = self.opened()
        with mock.patch("os.rename", side_effect=OSError(13, "Permission denied")):
            for _ in range(4):
                file.write(LINE)
        self.assertEqual((self.names(), self.path.read_bytes()), (["audit.log"], LINE * 4))
        said = f"{self.path.absolute()} cannot be rotated: Permission denied; it keeps growing"
        self.assertEqual(self.said, [said])

    def test_cannot_be_begun(self) -> None:
        """Without a way to begin a new file the old one gets its name back."""
        file = self.opened()
        file.write(LINE * 2)
        with mock.patch("os.open", side_effect=OSError(24, "Too many open files")):
            file.write(LINE)
        self.assertEqual((self.names(), self.path.read_bytes()), (["audit.log"], LINE * 3))

    def test_standard_output(self) -> None:
        """Standard output is written to, never rotated, opened again or closed."""
        read_fd, write_fd = os.pipe()
        self.addCleanup(os.close, read_fd)
        self.addCleanup(os.close, write_fd)
        with mock.patch("orchtw.audit.log_file.STANDARD_OUTPUT_FD", write_fd):
            file = LogFile(LogSettings(path="-", max_bytes=1), lambda: 0.0, self.said.append)
            self.assertFalse(file.regular)
            for each in (b"1\n", b"2\n"):
                file.write(each)
                file.reopen_later()
            file.close()
        self.assertEqual(os.read(read_fd, 100), b"1\n2\n")
        os.fstat(write_fd)

    def test_full_disk(self) -> None:
        """A line of which only a part could be written does not spoil the next."""
        file = self.opened()
        write = os.write
        parts: list[Any] = [lambda fd, data: write(fd, data[:3]), OSError(28, "No space left on device")]

        def failing(fd: int, data: memoryview) -> int:
            part = parts.pop(0)
            if isinstance(part, OSError):
                raise part
            written: int = part(fd, data)
            return written

        with mock.patch("os.write", failing):
            self.assertRaises(OSError, file.write, b"first\n")
        file.write(b"second\n")
        self.assertEqual(self.path.read_bytes(), b"fir\nsecond\n")


class KeeperTests(SynchronousTestCase):
    """Clean-up of old log files (`Keeper`)."""

    def setUp(self) -> None:
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        self.path = self.folder / "audit.log"
        self.now = datetime(2022, 5, 10, tzinfo=UTC)

    def tidied(self, *days: int, **keeping: Any) -> list[str]:
        """Return the files kept of those that ended so many days ago."""
        for each in days:
            backup_path(self.path, (self.now - timedelta(days=each)).timestamp()).write_bytes(b"old\n" * 10)
        (self.folder / "audit-of-somebody-else.log").touch()
        Keeper(self.path, Keeping(**keeping), lambda text: self.fail(text)).tidy(self.now)
        names = sorted(os.listdir(self.folder))
        names.remove("audit-of-somebody-else.log")
        return [name.removeprefix("audit-2022-05-") for name in names]

    def test_count(self) -> None:
        """The newest are kept."""
        self.assertEqual(self.tidied(1, 2, 3, files=2), ["08T00-00-00.000.log", "09T00-00-00.000.log"])

    def test_age(self) -> None:
        """Files older than the maximum age are deleted."""
        self.assertEqual(self.tidied(1, 5, 8, days=6), ["05T00-00-00.000.log", "09T00-00-00.000.log"])

    def test_compressed(self) -> None:
        """Old files are compressed under their name, for their owner alone; compressed ones count as one each."""
        left = self.tidied(1, 2, 3, files=2, compress=True)
        self.assertEqual(left, ["08T00-00-00.000.log.gz", "09T00-00-00.000.log.gz"])
        packed = self.folder / f"audit-2022-05-{left[0]}"
        self.assertEqual(gzip.decompress(packed.read_bytes()), b"old\n" * 10)
        self.assertEqual(packed.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.tidied(files=1, compress=True), left[1:])

    def test_after_a_crash(self) -> None:
        """A file that was being compressed is compressed anew."""
        self.tidied(1)
        name = "audit-2022-05-09T00-00-00.000.log.gz"
        for left in (name, f"{name}.part"):
            (self.folder / left).write_bytes(b"torn")
        self.assertEqual(self.tidied(compress=True), ["09T00-00-00.000.log.gz"])
        self.assertEqual(gzip.decompress((self.folder / name).read_bytes()), b"old\n" * 10)

    def test_in_a_thread(self) -> None:
        """Clean-up runs in a thread that ends by itself, and never after the keeper was stopped."""
        backup_path(self.path, 0).write_bytes(b"old\n")
        keeper = Keeper(self.path, Keeping(days=1), lambda text: self.fail(text))
        keeper.look()
        keeper.wait()
        keeper.stop()
        self.assertEqual(os.listdir(self.folder), [])
        backup_path(self.path, 0).write_bytes(b"old\n")
        keeper.look()
        self.assertEqual(len(os.listdir(self.folder)), 1)
