"""Descriptions of command lines (`orchtw.commands.shell.description`, `server` and `programs`)."""

# covers: orchtw.commands.shell.server

from __future__ import annotations

import argparse
import io
from configparser import ConfigParser
from contextlib import redirect_stdout
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw import __version__
from orchtw.assembly.flags import FLAGS, parse
from orchtw.commands.shell.description import Form, described
from orchtw.commands.shell.programs import SERVER_NAMES, programs
from orchtw.commands.shell.server import words_of_flags
from orchtw.errors import ConfigError
from orchtw.flags.exit_status import COMMAND, document_exit_status, exit_status_text
from orchtw.pki import user_command
from orchtw.plugins.entry_points import NO_PLUGINS
from tests.emulated import since

ROOT = Path(__file__).resolve().parents[3]


class DescribedTests(SynchronousTestCase):
    """Descriptions of argparse parsers."""

    def setUp(self) -> None:
        """Describe a parser with one of everything."""
        parser = argparse.ArgumentParser("tool", description="Does things.")
        add = parser.add_subparsers(dest="command").add_parser("do", help="do a thing").add_argument
        add("source", nargs="?", metavar="FILE", help="file to read")
        add("-o", "--output", choices=("json", "yaml"), default="json", help="form (default: %(default)s)")
        add("--data-dir", metavar="DIR")
        add("--dry", action="store_true")
        document_exit_status(parser)
        self.tool = described(parser)
        (self.do,) = self.tool.commands

    def test_options(self) -> None:
        """Options have the names, the help and the form of value that the parser gives them."""
        found = {each.names: (each.help, each.value and each.value.form) for each in self.do.options}
        self.assertEqual(found[("-o", "--output")], ("form (default: json)", Form.CHOICE))
        self.assertEqual(found[("--data-dir",)], ("", Form.FOLDER))
        self.assertEqual(found[("--dry",)], ("", None))

    def test_arguments(self) -> None:
        """An argument is named by its metavar, which says that it is a file."""
        (argument,) = self.do.arguments
        self.assertEqual((argument.value.name, argument.value.form, argument.optional), ("FILE", Form.FILE, True))

    def test_texts(self) -> None:
        """A subcommand's summary is its line in the help, and every help ends with the exit statuses."""
        self.assertEqual((self.do.name, self.do.summary, self.do.description), ("do", "do a thing", "Do a thing."))
        self.assertEqual(self.do.exit_status, exit_status_text(COMMAND))


class ProgramsTests(SynchronousTestCase):
    """Descriptions of the programs of this distribution."""

    def test_complete(self) -> None:
        """Every console script of setup.cfg is described."""
        settings = ConfigParser()
        settings.read(ROOT / "setup.cfg")
        scripts = settings["options.entry_points"]["console_scripts"].strip().splitlines()
        names = {line.partition(" = ")[0] for line in scripts}
        self.assertEqual({each.name for each in programs()}, names)

    def test_texts(self) -> None:
        """Every command has a summary and exit statuses; options and arguments have a help text."""
        for program in programs():
            for path, command in program.walk():
                self.assertTrue(command.summary and command.exit_status, path)
                texts = [*(each.help for each in command.options), *(each.help for each in command.arguments)]
                self.assertTrue(all(texts), path)
                self.assertFalse([text for text in texts if text.endswith(("None)", "[])"))], path)

    def test_version(self) -> None:
        """Every program has `--version`; those besides the server print the version of this project."""
        for program in programs():
            self.assertIn("--version", {name for option in program.options for name in option.names})
        printed = io.StringIO()
        with redirect_stdout(printed), self.assertRaises(SystemExit) as ended:
            user_command.main(["--version"])
        self.assertEqual((printed.getvalue(), ended.exception.code), (f"orch-user {__version__}\n", 0))

    def test_server(self) -> None:
        """The server has all flags, under each of its names."""
        for program in programs()[: len(SERVER_NAMES)]:
            names = {name for option in program.options for name in option.names}
            self.assertLessEqual({f"--{flag.name}" for flag in FLAGS}, names)

    @since((1, 33))
    def test_words(self) -> None:
        """Flags with a fixed set of values exist, and take each of the values that are completed."""
        for name, words in words_of_flags(NO_PLUGINS).items():
            for word in words:
                value = f"{word}=false" if name == "feature-gates" else word
                try:
                    parse([f"--{name}={value}"], NO_PLUGINS)
                except ConfigError as error:
                    wrong = ("unknown flag", "is not one of", "is not known", "unknown", "unrecognized")
                    self.assertFalse([each for each in error.problems if any(map(each.__contains__, wrong))], value)
