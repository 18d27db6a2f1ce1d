"""`orchtw completion SHELL` and `orchtw man DIR`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from orchtw.commands.shell import bash, fish, manual, zsh
from orchtw.commands.shell.options import command_line
from orchtw.commands.shell.programs import programs

SCRIPTS = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}


def main(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit status (`orchtw.flags.exit_status.COMMAND`)."""
    options = command_line().parse_args(arguments)
    try:
        if options.command == "completion":
            print(SCRIPTS[options.shell](programs()), end="", flush=True)
        else:
            _write_pages(options.folder)
    except OSError as error:
        print(f"orchtw: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _write_pages(folder: Path) -> None:
    """Write a page for each program and print its path. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    described = programs()
    for program in described:
        path = folder / f"{program.name}.1"
        path.write_text(manual.page(program, described), "utf-8")
        print(path)
