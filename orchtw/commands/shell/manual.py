"""Man pages in the macros of man(7)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from orchtw import __version__
from orchtw.commands.shell.description import Argument, CommandLine, Form, Option, Value

_STATUS: Final = re.compile(r"(\d+): ([^;]+?)(?:; |\.$)")


def page(program: CommandLine, programs: Sequence[CommandLine]) -> str:
    """Return the page of a program; `programs` are those that it refers to."""
    title = program.name.upper()
    others = [f"{each.name}(1)" for each in programs if each.name != program.name]
    lines = [
        f'.TH {_escaped(title)} 1 "" "orchtw {__version__}" "orchtw"',
        ".ad l",
        *(".SH NAME", _line(f"{program.name} - {program.summary[:1].lower()}{program.summary[1:]}")),
        *(".SH SYNOPSIS", *_synopses(program)),
        *(".SH DESCRIPTION", _line(program.description)),
    ]
    if program.commands:
        lines += [".SH COMMANDS", *(line for each in program.commands for line in _subcommand(each))]
    lines += _arguments(program.arguments, ".SH ARGUMENTS")
    lines += [*_options(program), ".SH EXIT STATUS"]
    for code, meaning in _STATUS.findall(program.exit_status):
        lines += [".TP", f".B {code}", _line(f"{meaning[:1].upper()}{meaning[1:]}.")]
    return "\n".join((*lines, ".SH SEE ALSO", _line(", ".join(others)))) + "\n"


def _synopses(program: CommandLine) -> Iterator[str]:
    """Yield a line for the program and for each of its subcommands; a program may do without only if it is one."""
    if not program.commands or len(program.options) > 1:
        yield _synopsis((program.name,), program)
        yield from ((".br",) if program.commands else ())
    for number, each in enumerate(program.commands):
        yield from ((".br",) if number else ())
        yield _synopsis((program.name, each.name), each)


def _synopsis(path: Sequence[str], command: CommandLine) -> str:
    parts = [f"\\fB{_escaped(' '.join(path))}\\fR", "[\\fIoptions\\fR]"]
    for each in command.arguments:
        shown = f"\\fI{_escaped(each.value.name)}\\fR" + ("..." if each.repeated else "")
        parts.append(f"[{shown}]" if each.optional else shown)
    return " ".join(parts)


def _subcommand(command: CommandLine) -> Iterator[str]:
    yield f".SS {_escaped(command.name)}"
    yield _line(command.description)
    yield from _arguments(command.arguments, "")
    for option in command.options:
        if "--help" not in option.names:
            yield from _option(option)


def _arguments(arguments: Sequence[Argument], heading: str) -> Iterator[str]:
    if arguments and heading:
        yield heading
    for each in arguments:
        yield from (".TP", f".I {_escaped(each.value.name)}", *_text(each.help, each.value))


def _options(program: CommandLine) -> Iterator[str]:
    yield ".SH OPTIONS"
    section = ""
    for option in program.options:
        if option.section != section:
            section = option.section
            yield f".SS {_escaped(f'{section[:1].upper()}{section[1:]}')}"
        yield from _option(option)


def _option(option: Option) -> Iterator[str]:
    names = ", ".join(f"\\fB{_escaped(name)}\\fR" for name in option.names)
    value = option.value
    if value is not None:
        shown = f"\\fI{_escaped(value.name)}\\fR"
        names += "[=true|false]" if value.form is Form.SWITCH else f" {shown}"
    yield from (".TP", names, *_text(option.help, value))


def _text(text: str, value: Value | None) -> Iterator[str]:
    """Yield the help text, and the choices of a value unless the text already has them."""
    if value is not None and value.words and value.words[-1] not in text:
        text = f"{text} ({', '.join(value.words)})"
    if text:
        yield _line(text)


def _line(text: str) -> str:
    """Return a text as one input line: roff gives a leading dot or apostrophe a meaning of its own."""
    escaped = _escaped(text)
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
