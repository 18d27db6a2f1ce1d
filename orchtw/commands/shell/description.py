"""Description of a command line, which completion scripts and man pages are made from."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Final

import attrs

_STANDARD_GROUPS: Final = frozenset({"positional arguments", "options"})


class Form(Enum):
    """Form of a value: it decides how a shell completes it."""

    TEXT = "text"
    CHOICE = "choice"
    LIST = "list"  # of words, comma-separated
    SWITCHES = "switches"  # WORD=true or WORD=false, comma-separated
    SWITCH = "switch"  # true or false, only behind an equals sign
    FILE = "file"
    FOLDER = "folder"


@attrs.frozen(kw_only=True)
class Value:
    """Value of an option or argument; `name` stands for it in texts, `words` are its choices."""

    name: str
    form: Form = Form.TEXT
    words: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Option:
    """Option with all its names, dashes included; without a value it stands alone."""

    names: tuple[str, ...]
    help: str
    value: Value | None = None
    section: str = ""


@attrs.frozen(kw_only=True)
class Argument:
    """Positional argument with its value."""

    value: Value
    help: str = ""
    optional: bool = False
    repeated: bool = False


@attrs.frozen(kw_only=True)
class CommandLine:
    """Program or subcommand; `name` is the last word of it, `summary` its line in a list."""

    name: str
    summary: str
    description: str
    exit_status: str
    options: tuple[Option, ...] = ()
    arguments: tuple[Argument, ...] = ()
    commands: tuple[CommandLine, ...] = ()

    def walk(self, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], CommandLine]]:
        """Yield this command and those below it, each with the words that call it."""
        here = (*path, self.name)
        yield here, self
        for each in self.commands:
            yield from each.walk(here)


def described(parser: argparse.ArgumentParser, summary: str = "") -> CommandLine:
    """Return the description of a parser: the same texts as its `--help`."""
    commands: list[CommandLine] = []
    options: list[Option] = []
    arguments: list[Argument] = []
    for group in parser._action_groups:
        section = "" if group.title in _STANDARD_GROUPS else group.title or ""
        for action in group._group_actions:
            if isinstance(action, argparse._SubParsersAction):
                summaries = {each.dest: each.help or "" for each in action._choices_actions}
                commands += [described(each, summaries[name]) for name, each in action.choices.items()]
            elif action.option_strings:
                options.append(_option(parser, action, section))
            else:
                arguments.append(_argument(parser, action))
    description = parser.description or f"{summary[:1].upper()}{summary[1:]}."
    return CommandLine(
        name=parser.prog.rpartition(" ")[2],
        summary=summary or description.partition(": ")[0].rstrip("."),
        description=description,
        exit_status=parser.epilog or "",
        options=tuple(options),
        arguments=tuple(arguments),
        commands=tuple(commands),
    )


def _option(parser: argparse.ArgumentParser, action: argparse.Action, section: str) -> Option:
    value = None if action.nargs == 0 else _value(action)
    return Option(names=tuple(action.option_strings), help=_help(parser, action), value=value, section=section)


def _argument(parser: argparse.ArgumentParser, action: argparse.Action) -> Argument:
    return Argument(
        value=_value(action),
        help=_help(parser, action),
        optional=action.nargs in ("?", "*"),
        repeated=action.nargs in ("*", "+"),
    )


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    return parser._get_formatter()._expand_help(action) if action.help else ""


def _value(action: argparse.Action) -> Value:
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices is not None:
        return Value(name=name, form=Form.CHOICE, words=tuple(filter(None, map(str, action.choices))))
    if name == "DIR":
        return Value(name=name, form=Form.FOLDER)
    is_file = name == "FILE" or action.type is Path
    return Value(name=name, form=Form.FILE if is_file else Form.TEXT)
