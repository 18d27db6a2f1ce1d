"""Messages on a stream: four bytes of length, one for the kind, and the content."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

MAX_FRAME_BYTES: Final = 64 << 20
"""Longest message; a length beyond it is malformed."""

_HEAD: Final = Struct("<IB")
Frame = tuple[int, bytes]
"""Kind and content of a message."""


class Malformed(Exception):
    """Error: the other side has sent a malformed frame."""


def framed(kind: int, *parts: bytes) -> bytes:
    """Return one message as bytes for the stream."""
    return b"".join((_HEAD.pack(sum(map(len, parts)), kind), *parts))


class Frames:
    """Splitter of the received bytes into messages."""

    def __init__(self, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_bytes = max_bytes
        self._rest = bytearray()
        self._wanted = 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the messages that are complete now. Raises Malformed for one that is too long."""
        if self._rest:
            self._rest += data
            if len(self._rest) < self._wanted:
                return
            data = bytes(self._rest)
            self._rest.clear()
        at, end, size = 0, len(data), _HEAD.size
        self._wanted = size
        try:
            while end - at >= size:
                length, kind = _HEAD.unpack_from(data, at)
                if length > self._max_bytes:
                    raise Malformed(f"message of {length} bytes")
                begin = at + size
                if end - begin < length:
                    self._wanted = size + length
                    break
                at = begin + length
                yield kind, data[begin:at]
        finally:
            self._rest += data[at:]
