"""Splitting of watch frames into messages, for transports that frame messages themselves."""

from __future__ import annotations

from collections.abc import Iterator

_LENGTH_BYTES = 4


def json_messages(frames: bytes) -> list[bytes]:
    """Return each event of whole JSON frames, with its newline."""
    return frames.splitlines(keepends=True)


def protobuf_messages(frames: bytes) -> Iterator[bytes]:
    """Yield each WatchEvent of whole Protobuf frames, without its length."""
    return (frame[_LENGTH_BYTES:] for frame in protobuf_frames(frames))


def protobuf_frames(frames: bytes) -> Iterator[bytes]:
    """Yield each WatchEvent of whole Protobuf frames, with its length."""
    at = 0
    while at < len(frames):
        begin, at = at, at + _LENGTH_BYTES + int.from_bytes(frames[at : at + _LENGTH_BYTES], "big")
        yield frames[begin:at]
