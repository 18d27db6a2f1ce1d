"""Parser of the release's JSONPath dialect, as far as columns need it (reference CRD-60)."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, Final

from orchtw.schema.jsonpath import steps
from orchtw.schema.jsonpath.steps import PathError, Step

_END: Final = ""
_TERMINATORS: Final = frozenset(("", " ", "\t", "\r", "\n", ".", ",", "[", "]", "$", "@", "{", "}"))
_KEY: Final = re.compile(r"'([^']*)'")
_SLICE: Final = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_COMPARISON: Final = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_ESCAPE: Final = re.compile(
    r"\\(?:[xuU](?P<hex>(?<=x)[0-9a-fA-F]{2}|(?<=u)[0-9a-fA-F]{4}|(?<=U)[0-9a-fA-F]{8})"
    r"|(?P<octal>[0-7]{3})|(?P<simple>.))",
    re.DOTALL,
)
_SIMPLE_ESCAPES: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\",
}  # fmt: skip
_MOST_DIGITS: Final = 18
_DEEPEST: Final = 20  # paths inside filters and unions of others


def parse(text: str, depth: int = 0) -> tuple[list[Step], tuple[str, ...] | None]:
    """Return the steps of a path, and its keys if it consists of nothing but keys. Raises PathError."""
    if depth > _DEEPEST:
        raise PathError("nested too deeply")
    parser = _Parser(text, depth)
    parser.run()
    return parser.steps, tuple(parser.keys) if parser.plain else None


class _Parser:
    def __init__(self, text: str, depth: int) -> None:
        self._text = text
        self._at = 0
        self._depth = depth
        self.steps: list[Step] = []
        self.keys: list[str] = []
        self.plain = True

    def run(self) -> None:
        """Read all of the text."""
        descended = False
        while (char := self._peek()) != _END:
            if self._text.startswith("..", self._at):
                if descended:
                    raise PathError("invalid multiple recursive descent")
                self._at += 2
                self._add(steps.descent)
                descended = True
                if (after := self._peek()).isalnum() or after == "_":
                    self._field()
                    descended = False
                continue
            descended = descended and char in " @$"
            self._element(char)

    def _element(self, char: str) -> None:
        if self._text.startswith("[?(", self._at):
            self._filter()
        elif char in " @$":
            self._at += 1
        elif char == "[":
            self._brackets()
        elif char in "\"'":
            self._quoted(char)
        elif char == ".":
            self._at += 1
            self._field()
        elif char in "+-" or char.isdigit():
            self._number()
        elif char.isalnum() or char == "_":
            self._word()
        else:
            raise PathError(f"unrecognized character in action: {char!r}")

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _add(self, step: Step) -> None:
        self.steps.append(step)
        self.plain = False

    def _until(self, ends: Callable[[str], bool]) -> str:
        start = self._at
        while not ends(self._peek()):
            self._at += 1
        return self._text[start : self._at]

    def _field(self) -> None:
        start = self._at
        while (char := self._peek()) not in _TERMINATORS:
            self._at += 2 if char == "\\" else 1
        name = self._text[start : self._at]
        if name == "*":
            self._add(steps.wildcard)
        else:
            key = name.replace("\\", "")
            self.steps.append(steps.field(key))
            self.keys.append(key)

    def _word(self) -> None:
        word = self._until(_TERMINATORS.__contains__)
        self._add(steps.constant(word == "true") if word in ("true", "false") else steps.nonsense)

    def _number(self) -> None:
        sign = self._peek() if self._peek() in "+-" else ""
        self._at += len(sign)
        digits = self._until(lambda char: not (char == "." or char.isdigit()))
        try:
            if len(digits) > _MOST_DIGITS:
                raise ValueError
            number: Any = float(sign + digits) if "." in digits else int(sign + digits)
        except ValueError:
            raise PathError(f"cannot parse number {sign}{digits}") from None
        self._add(steps.constant(number))

    def _quoted(self, quote: str) -> None:
        end = self._at + 1
        while (end := self._text.find(quote, end)) > 0 and self._text[end - 1] == "\\":
            end += 1
        if end < 0:
            raise PathError("unterminated quoted string")
        self._add(steps.text(_unquoted(self._text[self._at + 1 : end], quote)))
        self._at = end + 1

    def _brackets(self) -> None:
        end = self._text.find("]", self._at)
        if end < 0:
            raise PathError("unterminated array")
        inside = self._text[self._at + 1 : end]
        self._at = end + 1
        parts = inside.split(",")
        if len(parts) > 1:
            self._add(steps.union([parse(f"[{part.strip(' ')}]", self._depth + 1)[0] for part in parts]))
        elif key := _KEY.fullmatch(inside):
            found, keys = parse(f".{key[1]}", self._depth + 1)
            self.steps += found
            self.keys += keys or ()
            self.plain = self.plain and keys is not None
        else:
            self._add(_slice(":" if inside == "*" else inside))

    def _filter(self) -> None:
        start = self._at + len("[?(")
        end = self._filter_end(start)
        if self._text[end + 1 : end + 2] != "]":
            raise PathError("unclosed array expect ]")
        condition = self._text[start:end]
        self._at = end + 2
        parts = _COMPARISON.fullmatch(condition)
        if parts is None:
            self._add(steps.existing(parse(condition, self._depth + 1)[0]))
        else:
            left, right = parse(parts[1], self._depth + 1)[0], parse(parts[3], self._depth + 1)[0]
            self._add(steps.comparison(left, parts[2], right))

    def _filter_end(self, start: int) -> int:
        """Return where the condition ends: at the first closing parenthesis outside of quotes."""
        quote, closed = "", True
        for at in range(start, len(self._text)):
            char = self._text[at]
            if char in "\"'":
                if not quote:
                    quote, closed = char, False
                elif char == quote and self._text[at - 1] != "\\":
                    closed = True
            elif char == ")" and closed:
                return at
        raise PathError("unterminated filter")


def _slice(inside: str) -> Step:
    parts = _SLICE.fullmatch(inside)
    if parts is None:
        raise PathError(f"invalid array index {inside}")
    start, end, step = parts[1], parts[2], parts[3]
    return steps.array(
        _index(start), _index(end[1:]) if end else None, _index(step[1:]) if step else None, single=end is None
    )


def _index(digits: str) -> int | None:
    if not digits:
        return None
    if digits == "-" or len(digits) > _MOST_DIGITS:
        raise PathError(f"array index {digits} is not a number")
    return int(digits)


def _unquoted(inside: str, quote: str) -> str:
    def character(match: re.Match[str]) -> str:
        simple = match["simple"]
        if simple is None:
            code = int(match["hex"], 16) if match["hex"] else int(match["octal"], 8)
            if code > sys.maxunicode:
                raise PathError("invalid syntax")
            return chr(code)
        if simple == quote:
            return quote
        if simple not in _SIMPLE_ESCAPES:
            raise PathError("invalid syntax")
        return _SIMPLE_ESCAPES[simple]

    return _ESCAPE.sub(character, inside) if "\\" in inside else inside
