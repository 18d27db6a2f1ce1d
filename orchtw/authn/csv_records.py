"""Comma-separated records as the reference server reads them (RFC 4180, nothing lenient).

The standard library's reader takes a lone carriage return and, by way of `splitlines`, a dozen other characters for
the end of a line, and a quote inside a plain field for text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# A quoted field, in which a quote is doubled, or a plain one without quotes; then what ends it.
_FIELD = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^",\n]*))(,|\n|\Z)')


class MalformedRecord(ValueError):
    """A quote that begins or ends nothing; the message names the line."""


def records(text: str) -> Iterator[tuple[int, list[str]]]:
    """The records with the line, from 1, on which each begins. Empty lines are skipped; nothing is trimmed.

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
