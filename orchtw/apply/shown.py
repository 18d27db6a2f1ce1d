"""Formatting of JSON values in error messages about patches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchtw.schema.values import in_order

_MOST_CHARACTERS = 4_000  # of one quoted value: enough to find the place, too little to flood a log


def cut(text: str) -> str:
    """Truncate `text` to _MOST_CHARACTERS."""
    return text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + "..."


def go_plain(value: Any) -> str:
    """Format a value as Go's `%v`, such as `map[image:x ports:[1 2]]`; long texts are truncated."""
    texts, characters = [], 0
    for text in _plain(value):
        texts.append(text)
        characters += len(text)
        if characters > _MOST_CHARACTERS:
            break
    return cut("".join(texts))


def _plain(value: Any) -> Iterator[str]:
    """Yield the pieces of the text lazily."""
    if type(value) is dict:
        before = "map["
        for key in in_order(value):
            yield f"{before}{key}:"
            yield from _plain(value[key])
            before = " "
        yield "]" if value else "map[]"
    elif type(value) is list:
        before = "["
        for item in value:
            yield before
            yield from _plain(item)
            before = " "
        yield "]" if value else "[]"
    elif value is None:
        yield "<nil>"
    elif value is True or value is False:
        yield "true" if value else "false"
    else:
        yield str(value)
