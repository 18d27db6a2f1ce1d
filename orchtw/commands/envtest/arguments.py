"""Command lines in the form of Go's flag packages, where most flags are passed on unread."""

from __future__ import annotations

from collections.abc import Collection, Sequence


class BadCommandLine(Exception):
    """Error about a command line that ends the program; the text is one line."""


def take(arguments: Sequence[str], names: Collection[str]) -> tuple[dict[str, str], list[str]]:
    """Split a command line into the values of the flags `names`, the last of each, and the other arguments.

    Both `--name=value` and `--name value` are read; a flag without a value has the value `true`.
    """
    found: dict[str, str] = {}
    others: list[str] = []
    rest = list(reversed(arguments))
    while rest:
        argument = rest.pop()
        name, equals, value = argument.removeprefix("--").partition("=")
        if not argument.startswith("--") or name not in names:
            others.append(argument)
        elif equals:
            found[name] = value
        else:
            found[name] = rest.pop() if rest and not rest[-1].startswith("-") else "true"
    return found, others


def asks_for_help(arguments: Sequence[str]) -> bool:
    """Report whether the help is wanted: `--help` or `-h`."""
    return "--help" in arguments or "-h" in arguments


def asks_for_version(arguments: Sequence[str]) -> bool:
    """Report whether the version is wanted: `--version`."""
    return any(each.partition("=")[0] == "--version" for each in arguments)
