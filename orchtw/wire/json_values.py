"""JSON texts → values, where being out of memory is not mistaken for a text that is no JSON."""

from __future__ import annotations

from typing import Any, Final

import orjson

from orchtw.memory.headroom import check_room

_NO_MEMORY: Final = "Not enough memory"

_LARGE_BYTES: Final = 128 * 1024
_ROOM: Final = 32
"""What a byte of a text takes while it is read, and its values: about that many at the worst."""


def loads(text: bytes | str) -> Any:
    """The value of a JSON text, as orjson reads it.

    Raises orjson.JSONDecodeError, a ValueError, for anything else. orjson says so too when it gets no memory: that is
    no fault of the text, and a MemoryError. It may also crash: for a large text there is room, or it is not read.
    """
    if len(text) > _LARGE_BYTES:
        check_room(len(text) * _ROOM)
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if error.msg.startswith(_NO_MEMORY):
            raise MemoryError(error.msg) from None
        raise
