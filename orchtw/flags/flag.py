"""Flags in general: what one is, how argument lists and files are read, how help is printed.

Which flags there are, and what they mean, stands in `config`. Values are spelled as the reference server
spells them: `--flag=value`, `--flag value`, `--flag` alone for a boolean, Go durations such as `5m0s`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from orchtw.values.times import duration_text, parse_duration

_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,18})?", re.ASCII)
_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


class FlagKind(msgspec.Struct, frozen=True):
    """A type of value: its name in the help, the reader of all texts given for it, and how a default is shown.

    `alone`: the next argument is never its value. `unset` is the text of a flag that stands alone, because another
    flag or nothing follows; without it the flag needs a value. `parse` raises ValueError with a reason that ends the
    sentence "invalid argument … for … flag:".
    """

    name: str
    parse: Callable[[Sequence[str]], Any]
    show: Callable[[Any], str] = str
    alone: bool = False
    unset: str = ""


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """One flag: its name without dashes, kind, default, help line and the section of the help it stands in.

    `also` is another name for it, empty if there is none.
    """

    name: str
    kind: FlagKind
    default: Any
    help: str
    section: str
    short: str = ""
    also: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name by which it may be given."""
        return (self.name, self.also) if self.also else (self.name,)


def parse_boolean(text: str) -> bool:
    """Parse a boolean as Go does. Raises ValueError for other texts."""
    if text not in _BOOLEANS:
        raise ValueError("must be true or false")
    return _BOOLEANS[text]


def parse_duration_s(text: str) -> float:
    """Return a Go duration (`5m0s`, `1.5h`, `0`) in seconds; ValueError when malformed or negative."""
    try:
        seconds = parse_duration(text) / 1e9
    except ValueError:
        seconds = -1.0
    if seconds < 0:
        raise ValueError("must be a duration of zero or more, such as 30s or 5m0s")
    return seconds


def _show_duration(seconds: float) -> str:
    return duration_text(round(seconds * 1e9))


def parse_integer(text: str) -> int:
    """Return a decimal integer of zero or more; ValueError otherwise."""
    if not text.isascii() or not text.isdigit():
        raise ValueError("must be an integer of zero or more")
    return int(text)


def parse_levels(texts: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """`a=1,b*=2` as pairs of a pattern and a number; ValueError otherwise."""
    levels = []
    for text in split_list(texts):
        pattern, _, level = text.rpartition("=")
        if not pattern or not level.isascii() or not level.isdigit():
            raise ValueError("expect comma-separated list of filename=N")
        levels.append((pattern, int(level)))
    return tuple(levels)


def parse_number(text: str) -> float:
    """Return a decimal number of zero or more; ValueError otherwise."""
    if not _NUMBER.fullmatch(text):
        raise ValueError("must be a number of zero or more")
    return float(text)


def parse_pairs(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """`a=1,b` given once or several times as (key, value) pairs; a key alone has the value `true`."""
    pairs = []
    for text in split_list(texts):
        key, equals, value = text.partition("=")
        pairs.append((key.strip(), value.strip() if equals else "true"))
    return tuple(pairs)


def parse_switches(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Parse as `parse_pairs`; a key alone raises ValueError."""
    for text in split_list(texts):
        if "=" not in text:
            raise ValueError(f"missing bool value for {text}")
    return parse_pairs(texts)


def parse_claims(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return a `key=value` of each text, whatever commas the value has; ValueError without `=`. The last of a key
    counts.
    """
    pairs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise ValueError("malformed pair, expect string=string")
        pairs[key.strip()] = value.strip()
    return tuple(pairs.items())


def split_list(texts: Iterable[str]) -> tuple[str, ...]:
    """Read the parts between commas of all texts, without spaces around them; empty ones do not count."""
    return tuple(part.strip() for text in texts for part in text.split(",") if part.strip())


def _path(texts: Sequence[str]) -> Path | None:
    return Path(texts[-1]) if texts[-1] else None


def _show_pairs(pairs: Iterable[tuple[str, object]]) -> str:
    return ",".join(f"{key}={value}" for key, value in pairs)


TEXT = FlagKind("string", lambda texts: texts[-1])
PATHS = FlagKind(
    "files",
    lambda texts: tuple(Path(text) for text in split_list(texts)),
    lambda paths: ",".join(map(str, paths)),
)
PATH = FlagKind("file", _path, lambda path: str(path or ""))
INTEGER = FlagKind("int", lambda texts: parse_integer(texts[-1]))
LEVELS = FlagKind("pattern=N,...", parse_levels, _show_pairs)
FLOAT = FlagKind("float32", lambda texts: parse_number(texts[-1]), lambda value: f"{value:g}")
BOOLEAN = FlagKind(
    "", lambda texts: parse_boolean(texts[-1]), lambda value: "" if value is None else str(value).lower(), alone=True
)
DURATION = FlagKind("duration", lambda texts: parse_duration_s(texts[-1]), _show_duration)
LIST = FlagKind("strings", split_list, ",".join)
PAIRS = FlagKind("mapStringString", parse_pairs, _show_pairs)
CLAIMS = FlagKind("mapStringString", parse_claims, _show_pairs)
SWITCHES = FlagKind("mapStringBool", parse_switches, _show_pairs)


def scan(arguments: Sequence[str], flags: Iterable[Flag]) -> tuple[dict[str, list[str]], list[str]]:
    """Read an argument list: the texts given for each flag name, and the problems found, a line each."""
    long = {name: flag for flag in flags for name in flag.names}
    short = {flag.short: flag for flag in long.values() if flag.short}
    given: dict[str, list[str]] = {}
    problems: list[str] = []
    rest = list(reversed(arguments))
    while rest:
        argument = rest.pop()
        if len(argument) < 2 or argument[0] != "-":
            problems.append(f'unexpected argument "{argument}"')
            continue
        name, value = _name_and_value(argument)
        flag = long.get(name[2:]) if name.startswith("--") else short.get(name[1:])
        if flag is None:
            problems.append(f"unknown flag: {name}")
            if value is None and rest and not rest[-1].startswith("-"):
                rest.pop()
            continue
        if value is None:
            value = _next_value(flag.kind, rest)
        if value is None:
            problems.append(f"flag needs an argument: {name}")
        else:
            given.setdefault(flag.name, []).append(value)
    return given, problems


def _next_value(kind: FlagKind, rest: list[str]) -> str | None:
    """Take the value of a flag without `=` from the arguments that follow, the next one last; None: it lacks one."""
    if kind.alone:
        return "true"
    if kind.unset and (not rest or rest[-1].startswith("-")):
        return kind.unset
    return rest.pop() if rest else None


def _name_and_value(argument: str) -> tuple[str, str | None]:
    """`--a=b` as ("--a", "b"), `-a5` and `-a=5` as ("-a", "5"); no value in the same word: None."""
    if argument.startswith("--"):
        name, equals, value = argument.partition("=")
        return name, value if equals else None
    return argument[:2], argument[2:].removeprefix("=") or None


def scan_mapping(values: object, flags: Iterable[Flag], source: str) -> tuple[dict[str, list[str]], list[str]]:
    """Read a parsed YAML document that holds flags as keys; as `scan`, problems name `source`."""
    if values is None:
        return {}, []
    if not isinstance(values, Mapping):
        return {}, [f"{source}: must be a mapping of flag names to values"]
    names = {name: flag.name for flag in flags for name in flag.names}
    given: dict[str, list[str]] = {}
    problems: list[str] = []
    for key, value in values.items():
        if key not in names:
            problems.append(f"{source}: unknown key: {key}")
            continue
        try:
            given[names[key]] = _texts(value)
        except ValueError as error:
            problems.append(f'{source}: invalid value for key "{key}": {error}')
    return given, problems


def _texts(value: object) -> list[str]:
    """Return the YAML value of one key as the texts that a command line would hold."""
    if isinstance(value, Mapping):
        return [f"{key}={_scalar(item)}" for key, item in value.items()]
    if isinstance(value, list):
        return [_scalar(item) for item in value]
    return [_scalar(value)]


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ValueError("must be a plain value, a list or a mapping of plain values")


def convert(given: Mapping[str, Sequence[str]], flags: Iterable[Flag]) -> tuple[dict[str, Any], list[str]]:
    """Return the value of each flag that was given, by flag name, and the problems found, a line each."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for flag in flags:
        texts = given.get(flag.name)
        if texts is None:
            continue
        try:
            values[flag.name] = flag.kind.parse(texts) if texts else flag.kind.parse([""])
        except ValueError as error:
            shown = texts[-1] if texts else ""
            problems.append(f'invalid argument "{shown}" for "--{flag.name}" flag: {error}')
    return values, problems


def help_text(flags: Sequence[Flag]) -> str:
    """Return every flag with its kind, help line and default, by section, in the order of `flags`."""
    lines: list[str] = []
    for section in dict.fromkeys(flag.section for flag in flags):
        lines += ["", f"{section} flags:", ""]
        lines += [_help_line(flag) for flag in flags if flag.section == section]
    return "\n".join(lines[1:])


def _help_line(flag: Flag) -> str:
    dashes = f"  -{flag.short}, " if flag.short else "      "
    head = f"{dashes}--{flag.name} {flag.kind.name}".rstrip()
    shown = flag.kind.show(flag.default)
    default = f" (default {shown})" if shown else ""
    return f"{head:<46} {flag.help}{default}"
