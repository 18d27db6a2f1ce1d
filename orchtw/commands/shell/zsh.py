"""Completion script for zsh, which is autoloaded from a folder of `fpath` or sourced after `compinit`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from orchtw.commands.shell.description import Argument, CommandLine, Form, Option, Value


def script(programs: Sequence[CommandLine]) -> str:
    """Return the script, to be autoloaded or sourced."""
    names = " ".join(program.name for program in programs)
    walked = [(path, command) for program in programs for path, command in program.walk()]
    cases = "\n".join(f"        {program.name}) {_function_name((program.name,))} ;;" for program in programs)
    return "\n".join(
        (
            f"#compdef {names}",
            "# zsh completion of the commands of orchtw, written by `orchtw completion zsh`",
            "",
            *(_function(path, command) for path, command in walked),
            f"_orchtw_programs() {{\n    case $service in\n{cases}\n    esac\n}}\n",
            'if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n    _orchtw_programs "$@"',
            f"else\n    compdef _orchtw_programs {names}\nfi",
        )
    ) + "\n"


def _function_name(path: Sequence[str]) -> str:
    return f"_orchtw_{'_'.join(path)}"


def _function(path: tuple[str, ...], command: CommandLine) -> str:
    specs = [*map(_option, command.options), *_arguments(command.arguments)]
    lines = [f"{_function_name(path)}() {{", "    local curcontext=$curcontext state line"]
    if command.commands:
        known = " ".join(shlex.quote(f"{each.name}:{each.summary}") for each in command.commands)
        lines.append(f"    local -a commands=({known})")
        specs += ["'1: :{_describe command commands}'", "'*:: :->rest'"]
    lines.append(" \\\n        ".join(("    _arguments -s -S -C", *specs)))
    if command.commands:
        lines += ["    [[ $state == rest ]] || return 0", "    case $line[1] in"]
        lines += [f"        {each.name}) {_function_name((*path, each.name))} ;;" for each in command.commands]
        lines.append("    esac")
    return "\n".join((*lines, "}\n"))


def _option(option: Option) -> str:
    """Return the spec of an option; all its names but the first exclude each other, unless it is repeatable."""
    value = option.value
    about = f"[{_escaped(option.help, '[]:')}]"
    if value is None:
        message, sign = "", ""
    elif value.form is Form.SWITCH:
        message, sign = "::value:(true false)", "=-"
    else:
        message, sign = f":{_escaped(value.name, ':')}:{_action(value)}", "="
    specs = (f"*{name}{sign if name.startswith('--') else '+' if value else ''}" for name in option.names)
    return " ".join(shlex.quote(f"{spec}{about}{message}") for spec in specs)


def _arguments(arguments: Sequence[Argument]) -> Iterator[str]:
    for number, argument in enumerate(arguments, 1):
        place = "*" if argument.repeated else str(number)
        colons = "::" if argument.optional and not argument.repeated else ":"
        value = argument.value
        # A text that is only a message would keep zsh from completing options.
        action = f"_guard '[^-]*' {shlex.quote(value.name)}" if value.form is Form.TEXT else _action(value)
        yield shlex.quote(f"{place}{colons}{_escaped(value.name, ':')}:{action}")


def _action(value: Value) -> str:
    words = " ".join(map(shlex.quote, value.words))
    match value.form:
        case Form.CHOICE:
            return f"({words})"
        case Form.LIST:
            return f"{{_sequence compadd - {words}}}"
        case Form.SWITCHES:
            return f"{{_sequence compadd -S '' - {' '.join(f'{each}={on}' for each in value.words for on in _ON)}}}"
        case Form.FILE:
            return "_files"
        case Form.FOLDER:
            return "_files -/"
    return " "


_ON = ("true", "false")


def _escaped(text: str, characters: str) -> str:
    for each in ("\\", *characters):
        text = text.replace(each, f"\\{each}")
    return text
