"""Syntax of the simulated shell: commands joined by `;`, `&&` and `||`, quotes, variables, redirected output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal

import msgspec

LIMIT: Final = 4_096
"""Longest line in characters; longer ones are not simulated. Its thousand commands take some 30 ms."""
EXPANDED_LIMIT: Final = 16_384
"""Longest command in characters, after its variables are replaced."""

_WORD: Final = re.compile(
    r"""(?P<space>[ \t]+)|(?P<comment>\#[^\n]*)|(?P<join>&&|\|\||;|\n)|(?P<redirect>[12]?>{1,2}&?[ \t]*)"""
    r"""|(?P<other>[|&<()`])"""
    r"""|(?P<word>(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\;&|<>()`])+)|(?P<bad>.)""",
    re.DOTALL,
)
_PIECE: Final = re.compile(
    r"""'(?P<raw>[^']*)'|"(?P<quoted>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<plain>[^'"\\]+)""", re.DOTALL
)
_VARIABLE: Final = re.compile(r"\$(?:\{(?P<long>\w+)\}|(?P<short>\w+)|(?P<code>\?)|(?P<other>\())")
_KEYWORDS: Final = frozenset(
    {"if", "while", "do", "done", "until", "for", "case", "function", "{", "!", "[[", "trap", "wait"}
)

Join = Literal["", ";", "&&", "||"]
STDOUT, STDERR, NOWHERE = 1, 2, 0
_NULL: Final = "/dev/null"


class NotSimulated(Exception):
    """Error: the line has syntax that this shell does not have."""


class OutputFile(msgspec.Struct, frozen=True, kw_only=True):
    """File that an output goes to, as its name is written."""

    word: str
    appends: bool = False


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One command of a line: words as they are written, and where its two outputs go. `join`: to what is before."""

    join: Join
    words: tuple[str, ...]
    stdout: int | OutputFile = STDOUT
    stderr: int | OutputFile = STDERR


class Loop(msgspec.Struct, frozen=True, kw_only=True):
    """Commands that run again and again while others succeed."""

    join: Join
    condition: tuple[Call, ...]
    body: tuple[Call, ...]


def parse(line: str) -> list[Call | Loop]:
    """Return the commands of a line. Raises NotSimulated."""
    parts = iter(_calls(line))
    return [_loop(call, parts) if call.words[0] == "while" else _outside(call) for call in parts]


def _loop(first: Call, rest: Iterator[Call]) -> Loop:
    """Return the loop that begins with a command, and take the commands that belong to it."""
    condition = [_without(first)]
    for call in rest:
        if call.words[0] == "do":
            break
        condition.append(_outside(call))
    else:
        raise NotSimulated("while without do")
    body = [_without(call)]
    for call in rest:
        if call.words == ("done",):
            return Loop(join=first.join, condition=tuple(condition), body=tuple(body))
        body.append(_outside(call))
    raise NotSimulated("do without done")


def _without(call: Call) -> Call:
    """Return a command without the keyword before it."""
    if len(call.words) == 1:
        raise NotSimulated(call.words[0])
    return _outside(msgspec.structs.replace(call, words=call.words[1:], join=";"))


def _outside(call: Call) -> Call:
    """Return a command that does not begin with a keyword. Raises NotSimulated for one that does."""
    if call.words[0] in _KEYWORDS:
        raise NotSimulated(call.words[0])
    return call


def _calls(line: str) -> list[Call]:
    calls: list[Call] = []
    join: Join = ""
    tokens = list(_tokens(line))
    start = 0
    for at, (kind, text) in enumerate([*tokens, ("join", ";")]):
        if kind == "join":
            if at > start:
                calls.append(_call(join, tokens[start:at]))
            elif text in ("&&", "||"):
                raise NotSimulated("unexpected operator")
            join = ";" if text == "\n" else text  # type: ignore[assignment]
            start = at + 1
    return calls


def expanded(word: str, variables: Mapping[str, str], code: int) -> str:
    """Return a word without its quotes and with its variables.

    Raises NotSimulated for a substituted command, and for a result beyond EXPANDED_LIMIT.
    """
    made: list[str] = []
    size = 0

    def value(found: re.Match[str]) -> str:
        nonlocal size
        text = _value(found, variables, code)
        size += len(text)
        if size > EXPANDED_LIMIT:
            raise NotSimulated("command too long")
        return text

    for piece in _PIECE.finditer(word):
        if piece["raw"] is not None:
            made.append(piece["raw"])
        elif piece["escaped"] is not None:
            made.append(piece["escaped"])
        else:
            text = piece["plain"] if piece["quoted"] is None else re.sub(r'\\(["\\$`])', r"\1", piece["quoted"])
            made.append(_VARIABLE.sub(value, text))
    return "".join(made)


def _tokens(line: str) -> Iterator[tuple[str, str]]:
    if len(line) > LIMIT:
        raise NotSimulated("line too long")
    for match in _WORD.finditer(line):
        kind = str(match.lastgroup)
        if kind in ("other", "bad"):
            raise NotSimulated(f"syntax of {match[0]!r}")
        if kind not in ("space", "comment"):
            yield kind, match[0]


def _call(join: Join, tokens: list[tuple[str, str]]) -> Call:
    words: list[str] = []
    outputs: dict[str, int | OutputFile] = {"1": STDOUT, "2": STDERR}
    waiting = iter(tokens)
    for kind, text in waiting:
        if kind == "word":
            words.append(text)
            continue
        target = next(waiting, ("", ""))
        if target[0] != "word":
            raise NotSimulated("redirection without a target")
        channel = text[0] if text[0] in outputs else "1"
        if text.rstrip().endswith("&"):
            outputs[channel] = outputs.get(target[1], NOWHERE)
        else:
            outputs[channel] = NOWHERE if target[1] == _NULL else OutputFile(word=target[1], appends=">>" in text)
    if not words:
        raise NotSimulated("redirection without a command")
    return Call(join=join, words=tuple(words), stdout=outputs["1"], stderr=outputs["2"])


def _value(found: re.Match[str], variables: Mapping[str, str], code: int) -> str:
    if found["other"]:
        raise NotSimulated("substituted command")
    return str(code) if found["code"] else variables.get(found["long"] or found["short"], "")
