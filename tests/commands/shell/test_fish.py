"""Completion in a real fish (`orchtw.commands.shell.fish`)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.shell.fish import script
from orchtw.commands.shell.programs import programs


class FishTests(SynchronousTestCase):
    """Completions of command lines."""

    if shutil.which("fish") is None:
        skip = "there is no fish (Debian package fish): not run"

    def setUp(self) -> None:
        """Write the script into a folder with a file and a folder."""
        self.folder = Path(self.mktemp()).absolute()
        (self.folder / "data").mkdir(parents=True)
        (self.folder / "dump").touch()
        (self.folder / "script").write_text(script(programs()))

    def completed(self, line: str) -> list[str]:
        """Return the completions of a line's last word, without their descriptions."""
        env = {"HOME": str(self.folder), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            ["fish", "--no-config", "-c", "source ./script; complete -C $argv[1]", line],
            cwd=self.folder, env=env, capture_output=True, text=True, check=True,
        )  # fmt: skip
        self.assertEqual(done.stderr, "")
        return [each.partition("\t")[0] for each in done.stdout.splitlines()]

    def test_subcommands(self) -> None:
        """Subcommands are completed, and after them their options only."""
        self.assertEqual(self.completed("orch-store co"), ["compact"])
        self.assertEqual(self.completed("orch-store migrate --kub"), ["--kubeconfig"])
        self.assertEqual(self.completed("orch-store backup --kub"), [])

    def test_all_commands(self) -> None:
        """Every program and subcommand has exactly its own long options."""
        for program in programs():
            for path, command in program.walk():
                names = {name for option in command.options for name in option.names if name.startswith("--")}
                found = {each.rstrip("=") for each in self.completed(f"{' '.join(path)} --")}
                self.assertEqual(found, names, path)

    def test_values(self) -> None:
        """Choices, lists and switches are completed."""
        self.assertEqual(self.completed("orchtw --vocabulary k"), ["kubernetes"])
        self.assertEqual(self.completed("orchtw --vocabulary=k"), ["--vocabulary=kubernetes"])
        self.assertEqual(self.completed("orchtw --authorization-mode Node,RB"), ["Node,RBAC"])
        gate = "APIListChunking"
        self.assertEqual(self.completed(f"orchtw --feature-gates {gate}"), [f"{gate}=false", f"{gate}=true"])
        self.assertEqual(self.completed("orchtw --profiling=f"), ["--profiling=false"])
        self.assertEqual(self.completed("orchtw completion f"), ["fish"])

    def test_files(self) -> None:
        """Files and folders are completed where the value is one."""
        self.assertEqual(self.completed("orch-store check --data-dir d"), ["data/"])
        self.assertEqual(self.completed("orch-store restore du"), ["dump"])
