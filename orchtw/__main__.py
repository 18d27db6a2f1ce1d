"""`orchtw`, `orch-apiserver` and `python -m orchtw`: the server in the foreground, without the words around it.

The same as `twistd -n --pidfile= orch-apiserver`, with the same flags. `completion` and `man` in their place print
completion scripts and write man pages.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from orchtw.assembly.foreground import run_in_foreground
from orchtw.commands.shell import COMMANDS


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the server until a signal ends it; `arguments` are its flags, or one of COMMANDS and its arguments."""
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0] in COMMANDS:
        from orchtw.commands.shell.command import main as run_command

        sys.exit(run_command(given))
    run_in_foreground(given)


if __name__ == "__main__":
    main()
