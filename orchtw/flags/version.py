"""`--version` of the commands besides the server, whose own answer names the release that it speaks too."""

from __future__ import annotations

from argparse import ArgumentParser

from orchtw import __version__


def add_version(parser: ArgumentParser) -> None:
    """Add `--version`, which prints the program's name and the version of this project, and exits."""
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}", help="print the version")
