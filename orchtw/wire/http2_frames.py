"""Encoding of HTTP/2 frames, and of the fields of a request (RFC 9113, RFC 7541)."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD: Final = Struct(">HBBBI")
"""Frame head: length (its upper two bytes, its lowest), type, flags, stream."""
HEAD_BYTES: Final = HEAD.size

_SETTING: Final = Struct(">HI")
_WORD: Final = Struct(">I")


class FrameKind:
    """Types of frames: plain numbers, which cost less than members of an enumeration."""

    DATA: Final = 0
    HEADERS: Final = 1
    PRIORITY: Final = 2
    RST_STREAM: Final = 3
    SETTINGS: Final = 4
    PUSH_PROMISE: Final = 5
    PING: Final = 6
    GOAWAY: Final = 7
    WINDOW_UPDATE: Final = 8
    CONTINUATION: Final = 9


class Flag:
    """Flags of a frame; value 1 means ACK for SETTINGS and PING."""

    END_STREAM: Final = 1
    ACK: Final = 1
    END_HEADERS: Final = 4
    PADDED: Final = 8
    PRIORITY: Final = 32


class Setting:
    """Identifiers of HTTP/2 settings."""

    HEADER_TABLE_SIZE: Final = 1
    ENABLE_PUSH: Final = 2
    MAX_CONCURRENT_STREAMS: Final = 3
    INITIAL_WINDOW_SIZE: Final = 4
    MAX_FRAME_SIZE: Final = 5
    MAX_HEADER_LIST_SIZE: Final = 6


class Code:
    """Error codes of ended streams and connections."""

    NO_ERROR: Final = 0
    PROTOCOL_ERROR: Final = 1
    INTERNAL_ERROR: Final = 2
    FLOW_CONTROL_ERROR: Final = 3
    STREAM_CLOSED: Final = 5
    FRAME_SIZE_ERROR: Final = 6
    REFUSED_STREAM: Final = 7
    CANCEL: Final = 8
    COMPRESSION_ERROR: Final = 9
    ENHANCE_YOUR_CALM: Final = 11


def head(length: int, kind: int, flags: int, stream: int) -> bytes:
    """Return the nine bytes before a frame's content."""
    return HEAD.pack(length >> 8, length & 255, kind, flags, stream)


def settings(values: Iterable[tuple[int, int]]) -> bytes:
    """Return a SETTINGS frame with our settings."""
    content = b"".join(_SETTING.pack(number, value) for number, value in values)
    return head(len(content), FrameKind.SETTINGS, 0, 0) + content


def acknowledged_settings() -> bytes:
    """Return a SETTINGS frame that acknowledges the other side's."""
    return head(0, FrameKind.SETTINGS, Flag.ACK, 0)


def acknowledged_ping(content: bytes) -> bytes:
    """Return the response to a ping."""
    return head(8, FrameKind.PING, Flag.ACK, 0) + content


def fields_frames(stream: int, block: bytes, flags: int, limit: int) -> bytes:
    """Return the frames of a field block, each with at most `limit` bytes."""
    if len(block) <= limit:
        return head(len(block), FrameKind.HEADERS, flags | Flag.END_HEADERS, stream) + block
    frames = [head(limit, FrameKind.HEADERS, flags, stream), block[:limit]]
    for at in range(limit, len(block), limit):
        part = block[at : at + limit]
        frames.append(
            head(len(part), FrameKind.CONTINUATION, Flag.END_HEADERS if at + limit >= len(block) else 0, stream)
        )
        frames.append(part)
    return b"".join(frames)


def read_settings(content: bytes) -> Iterable[tuple[int, int]]:
    """Return number and value of each setting."""
    return _SETTING.iter_unpack(content[: len(content) // _SETTING.size * _SETTING.size])


def window_update(stream: int, more: int) -> bytes:
    """Return a frame that lets the other side send `more` bytes."""
    return head(4, FrameKind.WINDOW_UPDATE, 0, stream) + _WORD.pack(more)


def reset(stream: int, code: int = Code.CANCEL) -> bytes:
    """Return a frame that cancels a stream."""
    return head(4, FrameKind.RST_STREAM, 0, stream) + _WORD.pack(code)


def go_away(last: int, code: int, reason: bytes = b"") -> bytes:
    """Return a frame that ends a connection: requests of streams after `last` have not been processed."""
    return head(8 + len(reason), FrameKind.GOAWAY, 0, 0) + _WORD.pack(last) + _WORD.pack(code) + reason


def read_word(content: bytes) -> int:
    """Return the number at the start of a WINDOW_UPDATE, RST_STREAM or GOAWAY frame."""
    return int.from_bytes(content[:4]) & 0x7FFFFFFF


def fields(scheme: str, authority: str, path: str, more: Iterable[tuple[str, str]]) -> bytes:
    """Return the field block of a request without the dynamic table: it is the same for all requests of a method."""
    block = [b"\x83", b"\x87" if scheme == "https" else b"\x86"]  # of the static table: POST, and the scheme
    block += [b"\x04", text(path.encode("ascii")), b"\x01", text(authority.encode("ascii"))]
    for name, value in more:
        block += [b"\x00", text(name.encode("ascii")), text(value.encode("ascii"))]
    return b"".join(block)


def text(raw: bytes) -> bytes:
    """Return a string literal, not compressed."""
    size = len(raw)
    if size < 127:
        return bytes((size,)) + raw
    rest, length = size - 127, bytearray((127,))
    while rest >= 128:
        length.append(rest & 127 | 128)
        rest >>= 7
    length.append(rest)
    return bytes(length) + raw


def without_padding(content: bytes, flags: int) -> bytes:
    """Return the content of a DATA or HEADERS frame without padding and priority.

    Raises ValueError for more padding than content.
    """
    if not flags & (Flag.PADDED | Flag.PRIORITY):
        return content
    begin, end = 0, len(content)
    if flags & Flag.PADDED:
        begin, end = 1, end - (content[0] if content else 0)
    if flags & Flag.PRIORITY:
        begin += 5
    if begin > end:
        raise ValueError("more padding than content")
    return content[begin:end]
