"""Lexer: the text of an expression → tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from orchtw.schema.cel.faults import Fault
from orchtw.schema.cel.values import LARGEST, LARGEST_UNSIGNED, Unsigned
from orchtw.schema.cel.words import KEYWORDS

_QUOTED: Final = "|".join(
    (
        r'"""(?:[^\\]|\\.)*?"""',
        r"'''(?:[^\\]|\\.)*?'''",
        r'"(?:[^"\\\n\r]|\\.)*"',
        r"'(?:[^'\\\n\r]|\\.)*'",
    )
)
_RAW: Final = "|".join((r'""".*?"""', r"'''.*?'''", r'"[^"\n\r]*"', r"'[^'\n\r]*'"))
_TOKEN: Final = re.compile(
    rf"""(?P<space>[ \t\r\n\f]+|//[^\n]*)
    |(?P<raw>(?:[rR][bB]?|[bB][rR])(?:{_RAW}))
    |(?P<text>[bB]?(?:{_QUOTED}))
    |(?P<float>(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?))
    |(?P<int>(?:0x[0-9a-fA-F]+|\d+)[uU]?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{{}}])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})"
    r"|([abfnrtv\\?\"'`])|(.?))",
    re.DOTALL,
)
_SIGNS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SURROGATES: Final = range(0xD800, 0xE000)


class Token(NamedTuple):
    """A token; `kind` is "name", "value", "end", or the sign or keyword itself."""

    kind: str
    value: Any
    at: int


def tokens(source: str) -> Iterator[Token]:
    """Yield every token, and one at the end. Raises Fault."""
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            raise Fault(f"Syntax error: token recognition error at: '{source[at]}'", at)
        kind, text = match.lastgroup, match[0]
        if kind == "sign" or text in KEYWORDS:
            yield Token(text, text, at)
        elif kind == "name":
            yield Token("name", text, at)
        elif kind != "space":
            yield Token("value", _value(str(kind), text, at), at)
        at = match.end()
    yield Token("end", "<EOF>", at)


def _value(kind: str, text: str, at: int) -> Any:
    if kind == "float":
        return float(text)
    return _integer(text, at) if kind == "int" else _text(text, raw=kind == "raw", at=at)


def _integer(text: str, at: int) -> int:
    digits = text.rstrip("uU")
    if len(digits) > 20:
        raise Fault("invalid int literal", at)
    number = int(digits, 16 if digits.startswith("0x") else 10)
    if digits != text:
        if number > LARGEST_UNSIGNED:
            raise Fault("invalid uint literal", at)
        return Unsigned(number)
    if number > LARGEST + 1:  # one more than the largest is valid behind a minus; the parser checks that
        raise Fault("invalid int literal", at)
    return number


def _text(text: str, *, raw: bool, at: int) -> str | bytes:
    """Remove quotes and resolve escapes of a text or bytes literal."""
    begin = min(text.index(quote) for quote in "\"'" if quote in text)
    prefix, body = text[:begin].lower(), text[begin:]
    edge = 3 if len(body) >= 6 and body[:3] in ('"""', "'''") else 1
    body = body[edge:-edge]
    if "b" in prefix:
        return body.encode() if raw else b"".join(_bytes(body, at))
    return body if raw else _ESCAPE.sub(lambda match: _character(match, at), body)


def _character(match: re.Match[str], at: int) -> str:
    code, octal, sign = match[1] or match[2] or match[3] or match[4], match[5], match[6]
    if sign:
        return _SIGNS.get(sign, sign)
    if not code and not octal:
        raise Fault("unable to unescape string", at)
    number = int(code, 16) if code else int(octal, 8)
    if number > 0x10FFFF or number in _SURROGATES:
        raise Fault("unable to unescape string", at)
    return chr(number)


def _bytes(body: str, at: int) -> Iterator[bytes]:
    position = 0
    for match in _ESCAPE.finditer(body):
        yield body[position : match.start()].encode()
        if match[3] or match[4]:
            raise Fault("unable to unescape string", at)
        char = _character(match, at)
        yield char.encode() if match[6] else bytes([ord(char)])
        position = match.end()
    yield body[position:].encode()
