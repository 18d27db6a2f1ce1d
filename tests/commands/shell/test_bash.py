"""Completion in a real bash (`orchtw.commands.shell.bash`)."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.shell.bash import script
from orchtw.commands.shell.programs import programs

COMPLETE = """
source ./script
words=$(complete -p {program}) && words=${{words#*-F }} && function=${{words%% *}}
COMP_WORDS=({words}) COMP_CWORD=$(({count} - 1))
$function {program} '' ''
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


class BashTests(SynchronousTestCase):
    """Completions of command lines, in words as bash splits them: an equals sign is a word."""

    if shutil.which("bash") is None:
        skip = "there is no bash: not run"

    def setUp(self) -> None:
        """Write the script into a folder with a file and a folder."""
        self.folder = Path(self.mktemp())
        (self.folder / "data").mkdir(parents=True)
        (self.folder / "dump of all").touch()
        (self.folder / "script").write_text(script(programs()))

    def completed(self, *words: str) -> list[str]:
        """Return the completions of the last word."""
        text = COMPLETE.format(program=words[0], words=shlex.join(words), count=len(words))
        done = subprocess.run(["bash", "-c", text], cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertNotIn("script", done.stderr)
        return [line for line in done.stdout.splitlines() if line]

    def test_subcommands(self) -> None:
        """Subcommands are completed, and after them their options only."""
        self.assertEqual(self.completed("orch-store", "co"), ["compact"])
        self.assertIn("backup", self.completed("orch-store", ""))
        self.assertEqual(self.completed("orch-store", "migrate", "--kub"), ["--kubeconfig"])
        self.assertEqual(self.completed("orch-store", "backup", "--kub"), [])

    def test_all_commands(self) -> None:
        """Every program and subcommand has exactly its own long options."""
        for program in programs():
            for path, command in program.walk():
                names = {name for option in command.options for name in option.names if name.startswith("--")}
                self.assertEqual(set(self.completed(*path, "--")), names, path)

    def test_server(self) -> None:
        """The server's flags are completed under both of its names, after other flags too."""
        for name in ("orchtw", "orch-apiserver"):
            self.assertEqual(self.completed(name, "--secure-p"), ["--secure-port"])
            self.assertEqual(self.completed(name, "--profiling", "--secure-p"), ["--secure-port"])
            self.assertEqual(self.completed(name, "completion", ""), ["bash", "zsh", "fish"])

    def test_choices(self) -> None:
        """Choices are completed behind a space and behind an equals sign."""
        self.assertEqual(self.completed("orchtw", "--vocabulary", "k"), ["kubernetes"])
        self.assertEqual(self.completed("orchtw", "--vocabulary", "=", "k"), ["kubernetes"])
        self.assertEqual(self.completed("orchtw", "--vocabulary", "="), ["orch", "kubernetes"])
        self.assertEqual(self.completed("orchtw", "--vocabulary=k"), ["--vocabulary=kubernetes"])
        self.assertEqual(self.completed("orch-record", "list", "-o", "j"), ["json"])

    def test_lists(self) -> None:
        """The last name of a list is completed."""
        self.assertEqual(self.completed("orchtw", "--authorization-mode", "=", "Node,RB"), ["Node,RBAC"])
        self.assertEqual(self.completed("orchtw", "--feature-gates", "=", "APIListCh"), ["APIListChunking="])
        self.assertEqual(self.completed("orchtw", "--feature-gates", "=", "APIListChunking", "=", "f"), ["false"])
        last = ("--feature-gates", "=", "AllAlpha", "=", "true,APIListCh")
        self.assertEqual(self.completed("orchtw", *last), ["true,APIListChunking="])

    def test_switches(self) -> None:
        """A boolean has its value behind an equals sign only."""
        self.assertEqual(self.completed("orchtw", "--profiling", "=", ""), ["true", "false"])
        self.assertNotIn("true", self.completed("orchtw", "--profiling", ""))

    def test_files(self) -> None:
        """Files and folders are completed where the value is one, names with spaces included."""
        self.assertEqual(self.completed("orch-store", "--data-dir", "d"), [])
        self.assertEqual(self.completed("orch-store", "check", "--data-dir", "d"), ["data"])
        self.assertEqual(self.completed("orch-store", "restore", "du"), ["dump of all"])
        self.assertEqual(sorted(self.completed("orch-envelope", "decode", "data", "d")), ["data", "dump of all"])
        self.assertEqual(self.completed("orch-store", "restore", "data", "d"), [])
