"""Progress of long work on a terminal (`orchtw.logs.progress`)."""

from __future__ import annotations

import io

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.logs.progress import Progress, line_start


class Terminal(io.StringIO):
    """Text stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


class Gone(Terminal):
    """Terminal that was closed by its user."""

    def write(self, text: str) -> int:
        raise OSError(5, "Input/output error")


class ProgressTests(SynchronousTestCase):
    """Lines of progress, by a clock of the test."""

    def setUp(self) -> None:
        self.clock = Clock()

    def progress(self, total: int, out: io.StringIO, unit: str = "objects") -> Progress:
        """Return a progress of the task "copying"."""
        return Progress("copying", total, unit=unit, out=out, now=self.clock.seconds)

    def test_no_terminal(self) -> None:
        """A file or pipe gets nothing."""
        out = io.StringIO()
        with self.progress(10, out) as progress:
            self.clock.advance(5)
            progress.advance(5)
        self.assertEqual((out.getvalue(), line_start(out)), ("", ""))

    def test_line(self) -> None:
        """The line has the share, the amounts, the rate and the time left, and is removed at the end."""
        out = Terminal()
        with self.progress(4000, out) as progress:
            progress.advance(500)
            self.assertEqual(out.getvalue(), "")  # short work shows nothing
            self.clock.advance(2)
            progress.advance(500)
            self.assertEqual(out.getvalue(), "\r\033[Kcopying: 25%, 1,000 of 4,000 objects, 500/s, 6s left")
            self.assertEqual(line_start(out), "\r\033[K")
        self.assertTrue(out.getvalue().endswith("left\r\033[K"))

    def test_refresh_rate(self) -> None:
        """The line is written five times a second at most, however often the work advances."""
        out = Terminal()
        progress = self.progress(0, out)
        self.clock.advance(1)
        for _ in range(100):
            self.clock.advance(0.01)
            progress.advance()
        self.assertLessEqual(out.getvalue().count("\r"), 6)

    def test_unknown_total(self) -> None:
        """Without a total the line has the time that has passed; without amounts only that."""
        progress = self.progress(0, Terminal())
        self.assertEqual(progress.text(65), "1m05s")
        progress.reach(650)
        self.assertEqual(progress.text(65), "650 objects, 10/s, 1m05s")

    def test_bytes(self) -> None:
        """Bytes are shown in MiB, and long durations in hours."""
        progress = self.progress(1 << 30, Terminal(), unit="bytes")
        progress.reach(1 << 20)
        self.assertEqual(progress.text(10), "0%, 1.0 of 1,024.0 MiB, 0.1 MiB/s, 2h50m left")

    def test_terminal_gone(self) -> None:
        """A terminal that has gone does not fail the work."""
        progress = self.progress(0, Gone())
        self.clock.advance(2)
        progress.advance()
        self.assertFalse(progress.is_shown)
