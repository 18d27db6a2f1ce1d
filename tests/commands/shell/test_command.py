"""`orchtw completion` and `orchtw man` as commands (`orchtw.commands.shell.command`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.shell.options import SHELLS


class CommandTests(SynchronousTestCase):
    """The commands in processes of their own."""

    def run_command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `orchtw` with arguments."""
        return subprocess.run([sys.executable, "-m", "orchtw", *arguments], capture_output=True, text=True)

    def test_completion(self) -> None:
        """The script for each shell is printed; another shell is a wrong command line."""
        for shell in SHELLS:
            done = self.run_command("completion", shell)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(f"{shell} completion of the commands of orchtw", done.stdout)
        self.assertEqual(self.run_command("completion", "csh").returncode, 2)

    def test_man(self) -> None:
        """The pages are written to a new folder, and their paths printed; a file in its place is an error."""
        folder = Path(self.mktemp())
        done = self.run_command("man", str(folder))
        self.assertEqual(done.stdout.splitlines(), [str(folder / each) for each in _pages()])
        self.assertIn(".SH NAME", (folder / "orch-store.1").read_text())
        done = self.run_command("man", str(folder / "orch-store.1"))
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))


def _pages() -> list[str]:
    names = ("orchtw", "apiserver", "envelope", "envtest-assets", "load", "record", "store", "user")
    return [f"{name if name == 'orchtw' else f'orch-{name}'}.1" for name in names]
