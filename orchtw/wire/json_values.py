"""JSON texts → values, where a lack of memory is not mistaken for invalid JSON; and equality of values."""

from __future__ import annotations

from typing import Any, Final

import orjson

from orchtw.memory.headroom import check_room

_NO_MEMORY: Final = "Not enough memory"

_LARGE_BYTES: Final = 128 * 1024
_ROOM: Final = 32
"""Bytes of memory for each byte of a text while it is parsed, at the worst."""


def loads(text: bytes | str) -> Any:
    """Parse a JSON text with orjson.

    Raises orjson.JSONDecodeError, a ValueError, for anything else. orjson raises that too when it gets no memory,
    which becomes a MemoryError. It may also crash: a large text is only parsed if there is room for it.
    """
    if len(text) > _LARGE_BYTES:
        check_room(len(text) * _ROOM)
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if error.msg.startswith(_NO_MEMORY):
            raise MemoryError(error.msg) from None
        raise


def alike(one: Any, other: Any) -> bool:
    """Report whether two JSON values are equal and of the same types: neither is 1 true, nor 1.0."""
    return bool(one == other) and _typed_alike(one, other)


def _typed_alike(one: Any, other: Any) -> bool:
    """Report whether the parts of two equal values have the same types."""
    if type(one) is not type(other):
        return False
    if type(one) is dict:
        return all(_typed_alike(value, other[key]) for key, value in one.items())
    if type(one) is list:
        return all(map(_typed_alike, one, other))
    return True
