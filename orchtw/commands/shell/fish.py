"""Completion script for fish 3.1 and newer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchtw.commands.shell.description import CommandLine, Form, Option, Value


def script(programs: Sequence[CommandLine]) -> str:
    """Return the script, to be sourced or put in fish's folder `conf.d`."""
    lines = ["# fish completion of the commands of orchtw, written by `orchtw completion fish`"]
    for program in programs:
        lines += ["", f"complete -c {program.name} -f", *_lines(program.name, program, _before(program))]
        for each in program.commands:
            lines += _lines(program.name, each, f"__fish_seen_subcommand_from {each.name}")
    return "\n".join(lines) + "\n"


def _before(program: CommandLine) -> str:
    """Return the condition for what comes before a subcommand; empty without subcommands."""
    names = " ".join(each.name for each in program.commands)
    return f"not __fish_seen_subcommand_from {names}" if names else ""


def _lines(program: str, command: CommandLine, condition: str) -> Iterator[str]:
    start = f"complete -c {program}" + (f" -n {_quoted(condition)}" if condition else "")
    for each in command.commands:
        yield f"{start} -a {each.name} -d {_quoted(each.summary)}"
    for option in command.options:
        yield f"{start} {_names(option)}{_value(option)} -d {_quoted(option.help)}"
    for argument in command.arguments:
        if offered := _offered(argument.value):
            yield f"{start} {offered} -d {_quoted(argument.help or argument.value.name)}"


def _names(option: Option) -> str:
    return " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)


def _value(option: Option) -> str:
    value = option.value
    if value is None:
        return ""
    if value.form is Form.SWITCH:  # stands alone, or has its value behind an equals sign
        return " -a 'true false'"
    return " -r " + _offered(value) if value.form is Form.FILE else f" -x {_offered(value)}".rstrip()


def _offered(value: Value) -> str:
    words = " ".join(value.words)
    match value.form:
        case Form.CHOICE:
            return f"-a {_quoted(words)}"
        case Form.LIST:
            return f"-a {_list(value.words)}"
        case Form.SWITCHES:
            return f"-a {_list([f'{each}={on}' for each in value.words for on in ('true', 'false')])}"
        case Form.FILE:
            return "-F"
        case Form.FOLDER:
            return "-a '(__fish_complete_directories)'"
    return ""


def _list(words: Sequence[str]) -> str:
    return _quoted(f'(__fish_complete_list , "string split , {",".join(words)}")')


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
