"""Exit statuses of the commands, as `--help` and the man pages give them."""

from __future__ import annotations

from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Mapping
from typing import Final

SERVER: Final = {
    0: "stopped by SIGTERM or SIGINT",
    1: "the start failed, or a second signal ended the server at once",
}
COMMAND: Final = {
    0: "success",
    1: "an error, reported on standard error",
    2: "invalid command line",
}


def exit_status_text(statuses: Mapping[int, str]) -> str:
    """Return the statuses as one sentence, such as "Exit status: 0: success; 1: an error."."""
    return f"Exit status: {'; '.join(f'{code}: {meaning}' for code, meaning in statuses.items())}."


def document_exit_status(parser: ArgumentParser, statuses: Mapping[int, str] = COMMAND) -> None:
    """End the help of a parser and of its subcommands with the exit statuses."""
    parser.epilog = exit_status_text(statuses)
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for each in action.choices.values():
                document_exit_status(each, statuses)
