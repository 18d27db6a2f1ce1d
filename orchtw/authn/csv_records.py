"""CSV records as the reference server reads them (RFC 4180, strictly).

The standard library's reader ends a line at a lone carriage return and, with `splitlines`, at a dozen other
characters, and it accepts a quote inside an unquoted field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# A quoted field, in which quotes are doubled, or an unquoted one without quotes; then its terminator.
_FIELD = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^",\n]*))(,|\n|\Z)')


class MalformedRecord(ValueError):
    """A stray or unclosed quote; the message names the line."""


def records(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records with the line, from 1, on which each begins. Empty lines are skipped; nothing is trimmed.

    Raises MalformedRecord for a quote in the middle of a field, or one that is never closed.
    """
    text = text.replace("\r\n", "\n").removesuffix("\r")
    position, line = 0, 1
    while position < len(text):
        if text[position] == "\n":
            position, line = position + 1, line + 1
            continue
        begin, fields, end = position, [], ","
        while end == ",":
            field = _FIELD.match(text, position)
            if field is None:
                line += text.count("\n", begin, position)
                raise MalformedRecord(f"line {line}: a stray or missing quote")
            quoted, plain, end = field.groups()
            fields.append(plain if quoted is None else quoted.replace('""', '"'))
            position = field.end()
        yield line, fields
        line += text.count("\n", begin, position)
