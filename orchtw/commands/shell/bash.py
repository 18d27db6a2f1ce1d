"""Completion script for bash 4.4 and newer."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from orchtw.commands.shell.description import CommandLine, Value

# `_orchtw_names PATH` sets `words` to the subcommands and options of a command, `_orchtw_value PATH OPTION` (or the
# number of an argument in place of OPTION) sets `form` and `words`. bash splits words at `=`, if COMP_WORDBREAKS has
# it, so that `--a=b` comes as three words; otherwise the option is part of the word to complete.
_ENGINE: Final = """\
_orchtw() {
    local current=${COMP_WORDS[COMP_CWORD]} path=${1##*/} form='' words='' prefix='' option='' start=''
    local -i count=0 i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        local word=${COMP_WORDS[i]}
        case $word in
            =) ((i++)); option='' ;;
            -*=*) option='' ;;
            -*)
                option=$word
                _orchtw_value "$path" "$word"
                if [[ -z $form || $form == switch || ${COMP_WORDS[i + 1]} == = ]]; then
                    option=''
                elif ((++i < COMP_CWORD)); then
                    option=''
                fi
                ;;
            *)
                option=''
                if _orchtw_names "$path $word"; then path="$path $word" count=0; else ((++count)); fi
                ;;
        esac
    done
    if [[ $current == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 1]} current='' start=$option
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]} start=$option
    elif [[ $current == -*=* ]]; then
        option=${current%%=*} prefix=$option= current=${current#*=} start=$option
    fi
    if [[ -n $start && $start != -* && $current == *,* ]]; then
        for ((i = COMP_CWORD; i > 0; i--)); do
            [[ ${COMP_WORDS[i]} == -* ]] && option=${COMP_WORDS[i]} && break
        done
        _orchtw_value "$path" "$option"
    elif [[ -n $start && $start != -* ]]; then
        form=choice words='true false'
    elif [[ -n $option ]]; then
        _orchtw_value "$path" "$option"
    elif [[ $current == -* ]] || ! _orchtw_value "$path" $((count + 1)); then
        form=choice
        _orchtw_names "$path"
    fi
    _orchtw_reply
}

_orchtw_reply() {
    local - IFS=$' \\n'
    set -f
    case $form in
        choice) ;;
        switch) words='true false' ;;
        list | switches)
            if [[ $current == *,* ]]; then
                prefix=$prefix${current%,*}, current=${current##*,}
            fi
            if [[ $form == switches ]]; then
                compopt -o nospace 2>/dev/null
                words="${words// /= }="
            fi
            ;;
        file | folder)
            compopt -o filenames 2>/dev/null
            IFS=$'\\n'
            if [[ $form == folder ]]; then
                COMPREPLY=($(compgen -d -P "$prefix" -- "$current"))
            else
                COMPREPLY=($(compgen -f -P "$prefix" -- "$current"))
            fi
            return
            ;;
        *) words='' ;;
    esac
    COMPREPLY=($(compgen -P "$prefix" -W "$words" -- "$current"))
}
"""


def script(programs: Sequence[CommandLine]) -> str:
    """Return the script, which a shell has to source."""
    walked = [(" ".join(path), command) for program in programs for path, command in program.walk()]
    names = [f"        {shlex.quote(path)}) words={shlex.quote(_names(command))} ;;" for path, command in walked]
    values = [line for path, command in walked for line in _values(path, command)]
    parts = [
        "# bash completion of the commands of orchtw, written by `orchtw completion bash`",
        "",
        _ENGINE,
        _function("_orchtw_names", "$1", names, ""),
        _function("_orchtw_value", "$1 $2", values, "    form='' words=''\n"),
        f"complete -F _orchtw {' '.join(program.name for program in programs)}",
    ]
    return "\n".join(parts) + "\n"


def _function(name: str, subject: str, cases: Iterable[str], opening: str) -> str:
    lines = "\n".join(cases)
    return f'{name}() {{\n{opening}    case "{subject}" in\n{lines}\n        *) return 1 ;;\n    esac\n}}\n'


def _names(command: CommandLine) -> str:
    options = (name for option in command.options for name in option.names)
    return " ".join((*(each.name for each in command.commands), *options))


def _values(path: str, command: CommandLine) -> Iterator[str]:
    """Yield a case for each option with a value and for each argument."""
    for option in command.options:
        if option.value is not None:
            yield _case("|".join(shlex.quote(f"{path} {name}") for name in option.names), option.value)
    for number, argument in enumerate(command.arguments, 1):
        any_number = "[0-9]*" if argument.repeated else str(number)
        yield _case(f"{shlex.quote(f'{path} ')}{any_number}", argument.value)


def _case(pattern: str, value: Value) -> str:
    words = f" words={shlex.quote(' '.join(value.words))}" if value.words else ""
    return f"        {pattern}) form={value.form.value}{words} ;;"
