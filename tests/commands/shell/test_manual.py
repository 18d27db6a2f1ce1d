"""Man pages of the programs (`orchtw.commands.shell.manual`)."""

from __future__ import annotations

import re
import shutil
import subprocess

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.shell.description import CommandLine, Option
from orchtw.commands.shell.manual import page
from orchtw.commands.shell.programs import programs


class PageTests(SynchronousTestCase):
    """Pages as text, and as groff reads them."""

    def test_special_characters(self) -> None:
        """Backslashes, dashes and leading dots are text, not requests to roff."""
        option = Option(names=("--a-b",), help=".so \\n is text")
        made = CommandLine(name="tool", summary="Do", description="'x", exit_status="Exit status: 3: a; 4: b.",
                       options=(option,))  # fmt: skip
        text = page(made, (made,))
        self.assertIn("\n\\fB\\-\\-a\\-b\\fR\n\\&.so \\en is text\n", text)
        self.assertIn("\n\\&'x\n", text)
        self.assertIn("\n.B 3\nA.\n.TP\n.B 4\nB.\n", text)

    def test_sections(self) -> None:
        """Every page has the usual sections, and every option of its program."""
        described = programs()
        for program in described:
            text = page(program, described)
            heads = re.findall(r"^\.SH (.+)$", text, re.M)
            self.assertEqual([heads[0], heads[1], heads[-2], heads[-1]],
                             ["NAME", "SYNOPSIS", "EXIT STATUS", "SEE ALSO"])  # fmt: skip
            for _, command in program.walk():
                for option in command.options:
                    self.assertIn(option.names[0].replace("-", "\\-"), text)

    def test_groff(self) -> None:
        """The formatter of man has no warning."""
        if shutil.which("groff") is None:
            self.skipTest("there is no groff (Debian package groff): not run")
        described = programs()
        for program in described:
            command, text = ["groff", "-man", "-Tutf8", "-ww", "-z"], page(program, described)
            done = subprocess.run(command, input=text, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), program.name)
