"""Syntax check of regular expressions in schemas: RE2's, which are matched in linear time (reference CRD-27).

There are no backreferences and no lookaround. Nothing here recurses.
"""

from __future__ import annotations

import re
from typing import Final

_LONGEST_SHOWN: Final = 128
_MOST_REPEATS: Final = 1000
_DEEPEST: Final = 1000

_COUNT: Final = re.compile(r"\{(\d+)(,(\d*))?\}")
_FLAGS: Final = re.compile(r"\?([imsU]*)(-[imsU]+)?[:)]")
_NAMED: Final = re.compile(r"\?P<([^>]*)>")
_NAME: Final = re.compile(r"\w+", re.ASCII)
_CLASS_NAME: Final = re.compile(r"\[:(\^?\w+):\]")
_CLASS_NAMES: Final = frozenset(
    "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit".split()
)
_ESCAPED_CLASSES: Final = frozenset("dDsSwW")
_ESCAPED_PLACES: Final = frozenset("AbBzC")
_ESCAPED_SIGNS: Final = frozenset("afnrtv")
_HEX: Final = re.compile(r"x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,8})\})")
_OCTAL: Final = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_PROPERTY: Final = re.compile(r"[pP](?:\{\^?(\w+)\}|(\w))")
_LAST_CHARACTER: Final = 0x10FFFF


class _Fault(Exception):
    """Syntax error in a regular expression."""

    def __init__(self, why: str, what: str) -> None:
        super().__init__(f"{why}: `{what[:_LONGEST_SHOWN]}`")


def fault(pattern: str) -> str:
    """Return the syntax error of a pattern in the API's words, or ""."""
    try:
        _Reader(pattern).read()
    except _Fault as found:
        return str(found)
    return ""


class _Reader:
    """Parser that makes one pass over a pattern."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._open = 0
        self._names: set[str] = set()

    def read(self) -> None:
        """Parse the whole pattern. Raises _Fault."""
        pattern, repeatable, repeated_from = self._pattern, False, -1
        while self._at < len(pattern):
            char = pattern[self._at]
            if char in "*+?" or (char == "{" and _COUNT.match(pattern, self._at)):
                begin = self._at
                self._repeat(repeatable, repeated_from)
                repeatable, repeated_from = True, begin
                continue
            repeated_from = -1
            repeatable = self._piece(char)
        if self._open:
            raise _Fault("missing closing )", pattern)

    def _piece(self, char: str) -> bool:
        """Parse one element without repetition; return whether it may be repeated."""
        if char == "(":
            return self._group()
        if char == ")":
            if not self._open:
                raise _Fault("unexpected )", self._pattern)
            self._open -= 1
        elif char == "[":
            self._class()
            return True
        elif char == "\\":
            if self._pattern.startswith("\\Q", self._at):
                end = self._pattern.find("\\E", self._at)
                self._at = len(self._pattern) if end < 0 else end + 2
            else:
                self._escape(in_class=False)
            return True
        self._at += 1
        return char != "|"

    def _repeat(self, repeatable: bool, repeated_from: int) -> None:
        """Parse `*`, `+`, `?` or a count, each maybe followed by `?`."""
        pattern, begin = self._pattern, self._at
        count = _COUNT.match(pattern, begin)
        end = count.end() if count else begin + 1
        if count:
            least = _number(count[1])
            most = least if count[2] is None or not count[3] else _number(count[3])
            if max(least, most) > _MOST_REPEATS or most < least:
                raise _Fault("invalid repeat count", count[0])
        if end < len(pattern) and pattern[end] == "?":
            end += 1
        if not repeatable:
            raise _Fault("missing argument to repetition operator", pattern[begin:end])
        if repeated_from >= 0:
            raise _Fault("invalid nested repetition operator", pattern[repeated_from:end])
        self._at = end

    def _group(self) -> bool:
        """Parse the opening of a group, or flags for the rest; return False, as neither may be repeated."""
        pattern, inside = self._pattern, self._at + 1
        self._at = inside
        if pattern.startswith("?", inside):
            if named := _NAMED.match(pattern, inside):
                self._name(named[1], named[0])
                self._at = named.end()
            elif (flags := _FLAGS.match(pattern, inside)) and flags[0] != "?)":
                self._at = flags.end()
                if flags[0].endswith(")"):
                    return False
            elif pattern.startswith("?P<", inside):
                raise _Fault("invalid named capture", pattern[inside - 1 :])
            elif ")" not in pattern[inside:] and not pattern.startswith(("?=", "?!", "?<", "?>"), inside):
                raise _Fault("missing closing )", pattern)
            else:
                shown = 4 if pattern.startswith(("?<=", "?<!"), inside) else 3
                raise _Fault("invalid or unsupported Perl syntax", pattern[inside - 1 : inside - 1 + shown])
        self._open += 1
        if self._open > _DEEPEST:
            raise _Fault("expression nests too deeply", pattern)
        return False

    def _name(self, name: str, shown: str) -> None:
        if not _NAME.fullmatch(name):
            raise _Fault("invalid named capture", f"({shown}")
        if name in self._names:
            raise _Fault("duplicate capture group name", name)
        self._names.add(name)

    def _class(self) -> None:
        """Parse a character class in brackets."""
        pattern, begin = self._pattern, self._at
        self._at += 2 if pattern.startswith("[^", begin) else 1
        first = True
        while first or not pattern.startswith("]", self._at):
            if self._at >= len(pattern):
                raise _Fault("missing closing ]", pattern[begin:])
            start = self._at
            low = self._class_member(first)
            if low >= 0 and pattern.startswith("-", self._at) and not pattern.startswith("-]", self._at):
                self._at += 1
                if self._at >= len(pattern):
                    raise _Fault("missing closing ]", pattern[begin:])
                if not 0 <= low <= self._class_member(False):
                    raise _Fault("invalid character class range", pattern[start : self._at])
            first = False
        self._at += 1

    def _class_member(self, first: bool) -> int:
        """Parse a member of a class; return its code point, or -1 for a set of characters."""
        pattern, here = self._pattern, self._at
        if (named := _CLASS_NAME.match(pattern, here)) is not None:
            if named[1].removeprefix("^") not in _CLASS_NAMES:
                raise _Fault("invalid character class range", named[0])
            self._at = named.end()
            return -1
        if pattern[here] == "\\":
            return self._escape(in_class=True)
        self._at += 1
        return ord(pattern[here])

    def _escape(self, *, in_class: bool) -> int:
        """Parse an escape; return the code point of its character, or -1 for a class or an anchor."""
        pattern, begin = self._pattern, self._at
        if begin + 1 >= len(pattern):
            raise _Fault("trailing backslash at end of expression", "")
        char, self._at = pattern[begin + 1], begin + 2
        if char in _ESCAPED_CLASSES or (char in _ESCAPED_PLACES and not in_class):
            return -1
        if (found := _PROPERTY.match(pattern, begin + 1)) is not None:
            self._at = found.end()
            return -1
        if (found := _HEX.match(pattern, begin + 1)) is not None:
            code = int(found[1] or found[2], 16)
            if code <= _LAST_CHARACTER:
                self._at = found.end()
                return code
        elif (found := _OCTAL.match(pattern, begin + 1)) is not None:
            self._at = found.end()
            return int(found[0], 8)
        elif char in _ESCAPED_SIGNS or (char.isascii() and not char.isalnum()):
            return ord(char)
        raise _Fault("invalid escape sequence", pattern[begin : begin + 2])


def _number(digits: str) -> int:
    return int(digits) if len(digits) <= len(str(_MOST_REPEATS)) else _MOST_REPEATS + 1
