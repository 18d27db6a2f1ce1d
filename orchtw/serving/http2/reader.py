"""Parser of frames, which joins those of one list of fields. No I/O."""

from __future__ import annotations

from orchtw.serving.http2.limits import FIELDS_BYTES, FIELDS_FRAMES, FRAME_BYTES
from orchtw.serving.http2.problems import ConnectionProblem, calm, protocol_error
from orchtw.wire.http2_frames import HEAD, HEAD_BYTES, PREFACE, Code, Flag, FrameKind, without_padding

Frame = tuple[int, int, int, bytes, int]
"""Type, flags, stream, content without padding, and the bytes of the window that the frame uses."""

_STREAM = 0x7FFFFFFF
# What has a stream, and what has none.
_OF_STREAMS = frozenset(
    {FrameKind.DATA, FrameKind.HEADERS, FrameKind.PRIORITY, FrameKind.RST_STREAM, FrameKind.CONTINUATION}
)
_OF_CONNECTIONS = frozenset({FrameKind.SETTINGS, FrameKind.PING, FrameKind.GOAWAY})
_SIZES = {FrameKind.PRIORITY: 5, FrameKind.RST_STREAM: 4, FrameKind.PING: 8, FrameKind.WINDOW_UPDATE: 4}


class FrameReader:
    """Parser fed with `feed`; `take` returns whole frames. The client's preface comes first.

    Raises ConnectionProblem for invalid or misplaced frames.
    """

    __slots__ = ("_at", "_block", "_data", "_opened")

    def __init__(self) -> None:
        self._data = b""
        self._at = 0
        self._opened = False
        self._block: _Block | None = None

    def feed(self, data: bytes) -> None:
        """Add received bytes to the buffer."""
        self._data = self._data[self._at :] + data if self._at < len(self._data) else data
        self._at = 0

    @property
    def waits(self) -> bool:
        """Report whether a frame has begun and is not complete."""
        return self._at < len(self._data) or self._block is not None or not self._opened

    @property
    def held_bytes(self) -> int:
        """Return the bytes that have come and are not processed."""
        return len(self._data) - self._at + (self._block.size if self._block is not None else 0)

    def close(self) -> None:
        """Let go of what has come."""
        self._data, self._at, self._block = b"", 0, None

    def take(self) -> Frame | None:
        """Return the next frame; None: it is not complete yet."""
        if not self._opened and not self._preface():
            return None
        while (frame := self._next()) is not None:
            kind, flags, stream, content = frame
            block = self._block
            if block is None and kind not in (FrameKind.HEADERS, FrameKind.CONTINUATION):
                if kind == FrameKind.DATA:
                    return kind, flags, stream, _unpadded(content, flags & Flag.PADDED), len(content)
                return kind, flags, stream, content, 0
            if block is None:
                if kind == FrameKind.CONTINUATION:
                    raise protocol_error("CONTINUATION without HEADERS")
                block = self._block = _Block(flags, stream)
                content = _unpadded(content, flags)
            elif kind != FrameKind.CONTINUATION or stream != block.stream:
                raise protocol_error("header block is not complete")
            block.add(content)
            if flags & Flag.END_HEADERS:
                self._block = None
                return FrameKind.HEADERS, block.flags, block.stream, b"".join(block.parts), 0
        return None

    def _preface(self) -> bool:
        began = self._data[: len(PREFACE)]
        if not PREFACE.startswith(began):
            raise protocol_error("no HTTP/2 preface")
        if len(began) < len(PREFACE):
            return False
        self._opened = True
        self._at = len(PREFACE)
        return True

    def _next(self) -> tuple[int, int, int, bytes] | None:
        data, at = self._data, self._at
        if len(data) - at < HEAD_BYTES:
            return None
        high, low, kind, flags, stream = HEAD.unpack_from(data, at)
        size = high << 8 | low
        stream &= _STREAM
        _check(kind, flags, stream, size)
        begin = at + HEAD_BYTES
        if len(data) - begin < size:
            return None
        self._at = begin + size
        return kind, flags, stream, data[begin : begin + size]


class _Block:
    """List of fields of which not all frames have come."""

    __slots__ = ("flags", "parts", "size", "stream")

    def __init__(self, flags: int, stream: int) -> None:
        self.flags = flags
        self.stream = stream
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, part: bytes) -> None:
        self.parts.append(part)
        self.size += len(part)
        if self.size > FIELDS_BYTES or len(self.parts) > FIELDS_FRAMES:
            raise calm("request header is too large")


def _check(kind: int, flags: int, stream: int, size: int) -> None:
    if size > FRAME_BYTES:
        raise ConnectionProblem(Code.FRAME_SIZE_ERROR, "frame is too large")
    if (stream == 0 and kind in _OF_STREAMS) or (stream and kind in _OF_CONNECTIONS):
        raise protocol_error("frame on the wrong stream")
    if size != _SIZES.get(kind, size):
        raise ConnectionProblem(Code.FRAME_SIZE_ERROR, "frame of the wrong size")
    if kind == FrameKind.SETTINGS and (size % 6 or (size and flags & Flag.ACK)):
        raise ConnectionProblem(Code.FRAME_SIZE_ERROR, "SETTINGS of the wrong size")
    if kind == FrameKind.PUSH_PROMISE:
        raise protocol_error("PUSH_PROMISE from a client")


def _unpadded(content: bytes, flags: int) -> bytes:
    try:
        return without_padding(content, flags)
    except ValueError as error:
        raise protocol_error(str(error)) from None
