"""Messages on a stream: four bytes of length, one that says what it is, and what it says."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import Final

MAX_FRAME_BYTES: Final = 64 << 20
"""No message is as long; what claims to be is no message."""

_HEAD: Final = Struct("<IB")
Frame = tuple[int, bytes]
"""What it is, and what it says."""


class Malformed(Exception):
    """Error: the other side has sent a malformed frame."""


def framed(kind: int, *parts: bytes) -> bytes:
    """One message on the wire."""
    return b"".join((_HEAD.pack(sum(map(len, parts)), kind), *parts))


class Frames:
    """Cuts what comes into messages."""

    def __init__(self, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_bytes = max_bytes
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The messages that are complete now. Raises Malformed for one that is too long."""
        rest = self._rest
        rest += data
        at, end = 0, len(rest)
        try:
            while end - at >= _HEAD.size:
                length, kind = _HEAD.unpack_from(rest, at)
                if length > self._max_bytes:
                    raise Malformed(f"a message of {length} bytes")
                if end - at - _HEAD.size < length:
                    break
                begin = at + _HEAD.size
                at = begin + length
                yield kind, bytes(rest[begin:at])
        finally:
            del rest[:at]
