"""Completion in a real zsh (`orchtw.commands.shell.zsh`)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.shell.programs import programs
from orchtw.commands.shell.zsh import script

# zsh completes only in its line editor: a shell in a terminal of its own gets the line and the Tab key, and a widget
# shows what the line has become.
COMPLETE = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; stty columns 200; autoload -U compinit; compinit -u -D; source ./script
show () { print -r -- "<$BUFFER>" }; zle -N show; bindkey "^I" complete-word; bindkey "^X" show; print re""ady'
zpty -r shell out '*ready*'
zpty -w -n shell $1$'\t\C-x'
zpty -r shell out '*<*>*'
print -r -- $out
"""


class ZshTests(SynchronousTestCase):
    """Syntax and completions of the script."""

    if shutil.which("zsh") is None:
        skip = "there is no zsh (Debian package zsh): not run"

    def setUp(self) -> None:
        """Write the script to a folder."""
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        (self.folder / "script").write_text(script(programs()))

    def completed(self, line: str) -> str:
        """Return a line after the Tab key."""
        command = ["zsh", "-f", "-c", COMPLETE, "zsh", line]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120)
        return done.stdout.rpartition("<")[2].partition(">")[0]

    def test_syntax(self) -> None:
        """The script has no syntax error."""
        subprocess.run(["zsh", "-n", "script"], cwd=self.folder, check=True)

    def test_subcommands(self) -> None:
        """Subcommands are completed, and after them their options."""
        self.assertEqual(self.completed("orch-store co"), "orch-store compact ")
        self.assertEqual(self.completed("orch-store migrate --kub"), "orch-store migrate --kubeconfig=")

    def test_options_before_a_text(self) -> None:
        """Options are completed where the argument that is missing is a text of any form."""
        self.assertEqual(self.completed("orch-user --versi"), "orch-user --version ")
        self.assertEqual(self.completed("orch-record show --token-fil"), "orch-record show --token-file=")

    def test_values(self) -> None:
        """Choices, lists, switches and files are completed."""
        for given, expected in (
            ("orchtw --vocabulary=k", "orchtw --vocabulary=kubernetes "),
            ("orchtw --vocabulary k", "orchtw --vocabulary kubernetes "),
            ("orchtw --authorization-mode=Node,RB", "orchtw --authorization-mode=Node,RBAC,"),
            ("orchtw --feature-gates=APIListChunking=f", "orchtw --feature-gates=APIListChunking=false"),
            ("orchtw --profiling=f", "orchtw --profiling=false "),
            ("orchtw completion f", "orchtw completion fish "),
            ("orch-store restore scr", "orch-store restore script "),
        ):
            self.assertEqual(self.completed(given), expected)
