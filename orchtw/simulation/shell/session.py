"""Execution of a command line as steps, and what a container's command comes to without input (SIM-21)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from orchtw.simulation.shell.programs import NOT_FOUND, PROGRAMS, Output, Read, Sleep, Steps, Surroundings
from orchtw.simulation.shell.syntax import (
    EXPANDED_LIMIT,
    LIMIT,
    NOWHERE,
    STDERR,
    STDOUT,
    Call,
    Loop,
    NotSimulated,
    OutputFile,
    expanded,
    parse,
)

SHELLS: Final = frozenset({"sh", "bash", "ash", "dash"})
PROMPT: Final = "/ # "
_STEPS: Final = 1_000
"""Most steps of a container's command that are looked at in advance."""
_FOREVER_S: Final = 86_400.0 * 300
_ROUND_S: Final = 0.01
"""Length of a loop's round beside its commands: one without a delay must not keep the server busy."""
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=", re.ASCII)


class Exited(Exception):
    """Raised by `exit`, with its code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def executed(words: Sequence[str], around: Surroundings, *, prompts: bool = False) -> Steps:
    """Run a command; return its code, 127 for one that there is not. `prompts`: a terminal reads the answers."""
    name = words[0].rpartition("/")[2] if words else ""
    if name in SHELLS:
        return (yield from _shell(words, around, prompts))
    program = PROGRAMS.get(name)
    if program is None:
        yield Output(STDERR, f"{words[0] if words else ''}: not found\n")
        return NOT_FOUND
    return (yield from program(words, around))


def _shell(words: Sequence[str], around: Surroundings, prompts: bool) -> Steps:
    """Run the line after `-c` (`-ec`, …), or the lines of the input."""
    options = [word for word in words[1:] if word.startswith("-") and "c" in word.lstrip("-")]
    try:
        if options:
            at = list(words).index(options[0]) + 1
            return (yield from _line(words[at] if at < len(words) else "", around, 0))
        return (yield from _lines(around, prompts))
    except Exited as end:
        return end.code


def _lines(around: Surroundings, prompts: bool) -> Steps:
    code, rest = 0, ""
    while True:
        if prompts:
            yield Output(STDOUT, PROMPT)
        while "\n" not in rest:
            text = yield Read()
            if not text:
                return (yield from _line(rest, around, code))
            rest += text
            if "\n" not in rest:
                rest = rest[: LIMIT + 1]  # more than that is not simulated anyway
        line, _, rest = rest.partition("\n")
        code = yield from _line(line, around, code)


def _line(line: str, around: Surroundings, code: int) -> Steps:
    try:
        return (yield from _sequence(parse(line), around, code))
    except NotSimulated as error:
        yield Output(STDERR, f"sh: not simulated: {error}\n")
        return 2


def _sequence(calls: Sequence[Call | Loop], around: Surroundings, code: int) -> Steps:
    for call in calls:
        if (call.join == "&&" and code) or (call.join == "||" and not code):
            continue
        if isinstance(call, Loop):
            code = yield from _looped(call, around, code)
        else:
            code = yield from _called(call, around, code)
    return code


def _looped(loop: Loop, around: Surroundings, code: int) -> Steps:
    """Run the body of a loop as long as its condition succeeds; return the last code of the body."""
    result = 0
    while not (code := (yield from _sequence(loop.condition, around, code))):
        code = result = yield from _sequence(loop.body, around, code)
        yield Sleep(_ROUND_S)
    return result


def _called(call: Call, around: Surroundings, code: int) -> Steps:
    words = _words(call, around, code)
    assigned = _assigned(call.words)
    if assigned:
        values = dict(word.split("=", 1) for word in words[:assigned])
        words = words[assigned:]
        if not words:
            raise NotSimulated("assignment without a command")
        around = msgspec.structs.replace(around, variables={**around.variables, **values})
    if words[0] == "exec":
        words = words[1:]
    if words[:1] == ["exit"]:
        raise Exited(int(words[1]) % 256 if words[1:] and words[1].isdigit() else code)
    outputs = {STDOUT: _opened(call.stdout, around, code), STDERR: _opened(call.stderr, around, code)}
    steps = executed(words, around)
    sent = ""
    try:
        step = next(steps)
        while True:
            if not isinstance(step, Output):
                sent = yield step
            elif isinstance(channel := outputs[step.channel], str):
                around.files.write(channel, step.text, appends=True)
            elif channel != NOWHERE:
                sent = yield Output(channel, step.text)
            step = steps.send(sent)
    except StopIteration as end:
        return int(end.value)


def _assigned(words: Sequence[str]) -> int:
    """Return the number of words at the start that give a variable a value for one command."""
    return next((at for at, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))


def _opened(target: int | OutputFile, around: Surroundings, code: int) -> int | str:
    """Return the channel of an output, or the name of the file that it goes to, which is there from now on."""
    if isinstance(target, int):
        return target
    name = expanded(target.word, around.variables, code)
    around.files.write(name, "", appends=target.appends)
    return name


def _words(call: Call, around: Surroundings, code: int) -> list[str]:
    """Return the words of a command with their variables. Raises NotSimulated if they are too long together."""
    words, left = [], EXPANDED_LIMIT
    for word in call.words:
        words.append(expanded(word, around.variables, code))
        left -= len(words[-1])
        if left < 0:
            raise NotSimulated("command too long")
    return words


class Foreseen(msgspec.Struct, frozen=True, kw_only=True):
    """Foreseen run of a command: its output by seconds after its start, its length, and its exit code.

    `files` are the files that it changes, in order: seconds, name, and text, None for one that it removes.
    """

    output: tuple[tuple[float, str], ...]
    length_s: float
    code: int
    files: tuple[tuple[float, str, str | None], ...] = ()


def foreseen(words: Sequence[str], around: Surroundings, *, waits: bool = False) -> Foreseen | None:
    """Return what a command comes to without input; None for one that is not simulated.

    One that never ends has an infinite length; with `waits`, so has one that reads its input, which nobody ends.
    """
    if not _known(words):
        return None
    output: list[tuple[float, str]] = []
    changes: list[tuple[float, str, str | None]] = []
    at_s = 0.0
    files = around.files.observed(lambda name, text: changes.append((at_s, name, text)))
    steps = executed(words, msgspec.structs.replace(around, files=files))
    try:
        step = next(steps)
        for _ in range(_STEPS):
            if isinstance(step, Sleep):
                at_s += step.seconds
                if at_s > _FOREVER_S:
                    break
            elif isinstance(step, Output):
                output.append((at_s, step.text))
            elif waits:
                break
            step = steps.send("")
    except StopIteration as end:
        return Foreseen(output=tuple(output), length_s=at_s, code=int(end.value), files=tuple(changes))
    return Foreseen(output=tuple(output), length_s=float("inf"), code=0, files=tuple(changes))


def _known(words: Sequence[str]) -> bool:
    """Report whether all commands of a line are simulated: one that is not would be misunderstood."""
    name = words[0].rpartition("/")[2] if words else ""
    if name not in SHELLS:
        return name in PROGRAMS
    lines = [words[at + 1] for at, word in enumerate(words[:-1]) if word.startswith("-") and "c" in word]
    if not lines:
        return len(words) == 1
    try:
        calls = [call for part in parse(lines[0]) for call in _parts(part)]
    except NotSimulated:
        return False
    substituted = any("$(" in word for call in calls for word in call.words)
    return not substituted and {_name(call) for call in calls} <= {*PROGRAMS, "exit"}


def _parts(call: Call | Loop) -> tuple[Call, ...]:
    return (*call.condition, *call.body) if isinstance(call, Loop) else (call,)


def _name(call: Call) -> str:
    """Return the name of the program that a command runs; empty if it only gives variables values."""
    words = call.words[_assigned(call.words) :]
    return words[words[0] == "exec" and len(words) > 1].rpartition("/")[2] if words else ""
