"""Command line of `orchtw completion` and `orchtw man`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from orchtw.commands.shell import COMMANDS
from orchtw.commands.shell.description import described
from orchtw.flags.exit_status import document_exit_status

SHELLS: Final = ("bash", "zsh", "fish")


def help_lines() -> Iterator[str]:
    """Yield the lines of the server's help about these commands."""
    yield "Commands of orchtw and orch-apiserver, in place of flags:"
    yield ""
    for each in described(command_line()).commands:
        yield f"      {f'{each.name} {each.arguments[0].value.name}':<40}{each.summary}"


def command_line() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="orchtw", description="Prints completion scripts and writes man pages.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    completion, man = COMMANDS
    text = "print a script that completes the commands of orchtw in a shell"
    add = commands.add_parser(completion, help=text, description=f"{text[0].upper()}{text[1:]}.").add_argument
    add("shell", choices=SHELLS, metavar="SHELL", help=f"{', '.join(SHELLS[:-1])} or {SHELLS[-1]}")
    text = "write the man pages of all commands"
    add = commands.add_parser(man, help=text, description=f"{text[0].upper()}{text[1:]}.").add_argument
    add("folder", type=Path, metavar="DIR", help="folder for the pages, such as ~/.local/share/man/man1")
    document_exit_status(parser)
    return parser
