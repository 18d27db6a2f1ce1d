"""The commands of the simulated shell: each a generator of steps that returns its exit code."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Final

import msgspec

from orchtw.simulation.shell.files import FOLDERS, Files
from orchtw.simulation.shell.syntax import STDERR, STDOUT
from orchtw.values.times import rfc3339

NOT_FOUND: Final = 127


class Output(msgspec.Struct, frozen=True):
    """Step: write text to an output (1 or 2)."""

    channel: int
    text: str


class Sleep(msgspec.Struct, frozen=True):
    """Step: wait that many simulated seconds."""

    seconds: float


class Read(msgspec.Struct, frozen=True):
    """Step: wait for input; the driver sends it, the empty text at its end."""


Step = Output | Sleep | Read
Steps = Generator[Step, str, int]


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """Environment of a command; `now` is the time in seconds since the epoch."""

    variables: Mapping[str, str]
    hostname: str
    now: Callable[[], float]
    files: Files = msgspec.field(default_factory=Files)


Program = Callable[[Sequence[str], Surroundings], Steps]

_SLEEP: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([smhd]?)", re.ASCII)
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "0": "\0"}


def echo(words: Sequence[str], _around: Surroundings) -> Steps:
    """Output the arguments; `-n` without a newline, `-e` with escapes."""
    options, rest = "", list(words[1:])
    while rest and re.fullmatch(r"-[neE]+", rest[0]):
        options += rest.pop(0)
    text = " ".join(rest)
    if "e" in options:
        text = _escaped(text)
    yield Output(STDOUT, text if "n" in options else f"{text}\n")
    return 0


def printf(words: Sequence[str], _around: Surroundings) -> Steps:
    """Output the format with `%s` and `%d` replaced by the arguments."""
    rest = iter(words[2:])
    text = re.sub(r"%[sd]", lambda _: next(rest, ""), _escaped(words[1] if len(words) > 1 else ""))
    yield Output(STDOUT, text)
    return 0


def cat(words: Sequence[str], around: Surroundings) -> Steps:
    """Copy the input, or the few files that there are."""
    code = 0
    for name in words[1:] or ["-"]:
        if name == "-":
            while text := (yield Read()):
                yield Output(STDOUT, text)
        elif name == "/etc/hostname":
            yield Output(STDOUT, f"{around.hostname}\n")
        elif (written := around.files.text(name)) is not None:
            yield Output(STDOUT, written)
        else:
            yield Output(STDERR, f"cat: can't open '{name}': No such file or directory\n")
            code = 1
    return code


def env(words: Sequence[str], around: Surroundings) -> Steps:
    """Output the variables; `printenv` with names writes their values."""
    if len(words) == 1:
        yield Output(STDOUT, "".join(f"{name}={value}\n" for name, value in around.variables.items()))
        return 0
    values = [around.variables.get(name) for name in words[1:]]
    yield Output(STDOUT, "".join(f"{value}\n" for value in values if value is not None))
    return 0 if None not in values else 1


def hostname(_words: Sequence[str], around: Surroundings) -> Steps:
    """Output the host's name."""
    yield Output(STDOUT, f"{around.hostname}\n")
    return 0


def ls(words: Sequence[str], around: Surroundings) -> Steps:
    """Output the folders of the root, or the names of files; no other folder has anything in it."""
    names = [word for word in words[1:] if not word.startswith("-")]
    if not names or names == ["/"]:
        yield Output(STDOUT, "".join(f"{name}\n" for name in FOLDERS))
        return 0
    files = [name for name in names if around.files.text(name) is not None]
    unknown = [name for name in names if name.strip("/") not in FOLDERS and name not in files]
    for name in files:
        yield Output(STDOUT, f"{name}\n")
    for name in unknown:
        yield Output(STDERR, f"ls: {name}: No such file or directory\n")
    return 1 if unknown else 0


def mv(words: Sequence[str], around: Surroundings) -> Steps:
    """Move files; `-v` says so."""
    names = [word for word in words[1:] if not word.startswith("-")]
    if len(names) < 2:
        yield Output(STDERR, "mv: missing file operand\n")
        return 1
    code = 0
    for name in names[:-1]:
        if not around.files.move(name, names[-1]):
            yield Output(STDERR, f"mv: can't rename '{name}': No such file or directory\n")
            code = 1
        elif "-v" in words:
            yield Output(STDOUT, f"'{name}' -> '{names[-1]}'\n")
    return code


def rm(words: Sequence[str], around: Surroundings) -> Steps:
    """Remove files; those that are not there matter without `-f`."""
    options = "".join(word for word in words[1:] if word.startswith("-"))
    code = 0
    for name in (word for word in words[1:] if not word.startswith("-")):
        if not around.files.exists(name) and "f" not in options:
            yield Output(STDERR, f"rm: can't remove '{name}': No such file or directory\n")
            code = 1
        around.files.remove(name)
    return code


def touch(words: Sequence[str], around: Surroundings) -> Steps:
    """Make files that are not there."""
    for name in (word for word in words[1:] if not word.startswith("-")):
        around.files.write(name, "", appends=True)
    return 0
    yield


def test(words: Sequence[str], around: Surroundings) -> Steps:
    """Look at a file (`-f` and the like) or compare texts; `[` ends with `]`."""
    rest = list(words[1:-1] if words[0] == "[" and words[-1] == "]" else words[1:])
    negated = rest[:1] == ["!"]
    found = _tested(rest[negated:], around)
    if found is None:
        yield Output(STDERR, f"{words[0]}: not simulated\n")
        return 2
    return int(found == negated)


def tail(words: Sequence[str], _around: Surroundings) -> Steps:
    """Follow a file (`-f`), to which nothing is added."""
    while any(word.startswith("-") and "f" in word.lower() for word in words[1:]):
        yield Sleep(86_400.0 * 365)
    return 0


def sleep(words: Sequence[str], _around: Surroundings) -> Steps:
    """Wait, by the simulated clock."""
    total = 0.0
    for word in words[1:]:
        if word in ("infinity", "inf"):
            while True:
                yield Sleep(86_400.0 * 365)
        match = _SLEEP.fullmatch(word)
        if match is None:
            yield Output(STDERR, f"sleep: invalid number '{word}'\n")
            return 1
        total += float(match[1]) * _UNITS[match[2]]
    yield Sleep(total)
    return 0


def date(_words: Sequence[str], around: Surroundings) -> Steps:
    """Output the simulated time."""
    yield Output(STDOUT, f"{rfc3339(int(around.now()))}\n")
    return 0


def _fixed(text: str, code: int = 0) -> Program:
    def program(_words: Sequence[str], _around: Surroundings) -> Steps:
        if text:
            yield Output(STDOUT, text)
        return code

    return program


def _tested(rest: Sequence[str], around: Surroundings) -> bool | None:
    """Return the outcome of a test; None for one that is not simulated."""
    if len(rest) == 1:
        return bool(rest[0])
    if len(rest) == 2:
        kind, word = rest
        if kind in ("-n", "-z"):
            return bool(word) == (kind == "-n")
        if kind in ("-s", "-f", "-e", "-d", "-r"):
            return around.files.exists(word) and (kind != "-s" or around.files.text(word) != "")
    if len(rest) == 3 and rest[1] in ("=", "==", "!="):
        return (rest[0] == rest[2]) == (rest[1] != "!=")
    return None


def _escaped(text: str) -> str:
    return re.sub(r"\\([ntr\\0])", lambda found: _ESCAPES[found[1]], text)


PROGRAMS: Final[Mapping[str, Program]] = {
    "echo": echo,
    "printf": printf,
    "cat": cat,
    "env": env,
    "printenv": env,
    "hostname": hostname,
    "ls": ls,
    "mv": mv,
    "rm": rm,
    "touch": touch,
    "test": test,
    "[": test,
    "tail": tail,
    "sleep": sleep,
    "date": date,
    "pwd": _fixed("/\n"),
    "whoami": _fixed("root\n"),
    "true": _fixed(""),
    ":": _fixed(""),
    "false": _fixed("", 1),
}
