"""Watch frames taken apart into messages, for transports that frame messages themselves."""

from __future__ import annotations

from collections.abc import Iterator

_LENGTH_BYTES = 4


def json_messages(frames: bytes) -> list[bytes]:
    """Each event of whole JSON frames, with its newline."""
    return frames.splitlines(keepends=True)


def protobuf_messages(frames: bytes) -> Iterator[bytes]:
    """Each WatchEvent of whole Protobuf frames, without its length."""
    at = 0
    while at < len(frames):
        begin = at + _LENGTH_BYTES
        at = begin + int.from_bytes(frames[at:begin], "big")
        yield frames[begin:at]
