"""Rows of Tables in a form that is kept: the JSON of their cells, in which only the ages have yet to be written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson

from orchtw.schema.tables.cells import Age

_MARK: Final = b"\0"  # around an age; JSON escapes it everywhere else


class Row(bytes):
    """A kept row: where the metadata of its object ends in the object's JSON, and the JSON of its cells."""

    __slots__ = ()


def cached_row(cells: Sequence[Any], end: int) -> Row:
    """Return a row to be kept; `end` is where the metadata of its object ends in the object's JSON."""
    return Row(b"%d%b%b" % (end, _MARK, orjson.dumps(cells, default=_marked)))


def written_row(row: Row, now_s: float) -> tuple[bytes, int]:
    """Return the JSON of the cells with ages as of `now_s`, and the end of the metadata."""
    end, first, *parts = row.split(_MARK)
    for at in range(0, len(parts), 2):
        parts[at] = b'"%b"' % Age(float(parts[at])).text(now_s).encode()
    return first + b"".join(parts), int(end)


def _marked(value: object) -> orjson.Fragment:
    if isinstance(value, Age):
        return orjson.Fragment(b"%b%r%b" % (_MARK, value.start_s, _MARK))
    raise TypeError(type(value).__name__)
