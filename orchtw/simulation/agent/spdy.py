"""SPDY/3.1 as node agents speak it, the serving side: streams with headers over one connection.

Only what exec, attach and port-forward need; their clients use no flow control.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

_WORDS: Final = """options head post put delete trace accept accept-charset accept-encoding accept-language
accept-ranges age allow authorization cache-control connection content-base content-encoding content-language
content-length content-location content-md5 content-range content-type date etag expect expires from host if-match
if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma
proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade
user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie
keep-alive origin"""
_TAIL: Final = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
    "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _text(text: str) -> bytes:
    raw = text.encode("latin-1")
    return len(raw).to_bytes(4, "big") + raw


DICTIONARY: Final = b"".join(_text(word.replace("_", " ")) for word in _WORDS.split()) + _TAIL.encode()
"""Preset zlib dictionary of header blocks: HTTP terms, each prefixed by its length, then common values."""

SYN_STREAM, SYN_REPLY, RST_STREAM, PING = 1, 2, 3, 6
FIN: Final = 1
MOST_FRAME_BYTES: Final = 1 << 20
MOST_HEADER_BYTES: Final = 1 << 16
MOST_STREAMS: Final = 256
"""Streams of one connection that may be open at a time; a port-forward has two for each of its connections."""


class ProtocolError(Exception):
    """Error: the client does not speak SPDY, or asks for too much."""


class Listener(Protocol):
    """Is told what comes on the streams."""

    def opened(self, stream: int, headers: Mapping[str, str]) -> None:
        """Handle a stream that the client has opened."""

    def received(self, stream: int, data: bytes) -> None:
        """Handle data on a stream."""

    def finished(self, stream: int) -> None:
        """Handle the end of the client's side of a stream."""

    def reset(self, stream: int) -> None:
        """Handle a stream that the client has given up."""


class Connection:
    """One connection; `write` sends bytes."""

    def __init__(self, listener: Listener, write: Callable[[bytes], object]) -> None:
        self._listener = listener
        self._write = write
        self._buffer = bytearray()
        self._open: dict[int, int] = {}
        """Sides of each stream that are open: 2 at first."""
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> None:
        """Take in bytes of the client. Raises ProtocolError."""
        self._buffer += data
        start = 0
        while len(self._buffer) - start >= 8:
            head = bytes(self._buffer[start : start + 8])
            size = int.from_bytes(head[5:8], "big")
            if size > MOST_FRAME_BYTES:
                raise ProtocolError("frame too large")
            if len(self._buffer) - start < 8 + size:
                break
            body = bytes(self._buffer[start + 8 : start + 8 + size])
            start += 8 + size
            if head[0] & 0x80:
                self._control(int.from_bytes(head[2:4], "big"), head[4], body)
            else:
                self._data(int.from_bytes(head[:4], "big"), head[4], body)
        del self._buffer[:start]

    def send(self, stream: int, data: bytes, *, last: bool = False) -> None:
        """Output on a stream that the client has opened; nothing may follow what is `last`."""
        if stream not in self._open:
            return
        for start in range(0, max(len(data), 1), MOST_FRAME_BYTES):
            part = data[start : start + MOST_FRAME_BYTES]
            flags = FIN if last and start + len(part) >= len(data) else 0
            self._write(stream.to_bytes(4, "big") + bytes((flags,)) + len(part).to_bytes(3, "big") + part)
        if last:
            self._close_side(stream)

    def _data(self, stream: int, flags: int, body: bytes) -> None:
        if stream not in self._open:
            return
        if body:
            self._listener.received(stream, body)
        if flags & FIN:
            self._end(stream)

    def _control(self, kind: int, flags: int, body: bytes) -> None:
        stream = int.from_bytes(body[:4], "big") & 0x7FFFFFFF
        if kind == SYN_STREAM:
            if len(self._open) >= MOST_STREAMS:
                raise ProtocolError("too many streams")
            headers = dict(self._headers(body[10:]))
            self._open[stream] = 2
            self._send(SYN_REPLY, body[:4] + self._block())
            self._listener.opened(stream, headers)
            if flags & FIN:
                self._end(stream)
        elif kind == RST_STREAM and self._open.pop(stream, 0):
            self._listener.reset(stream)
        elif kind == PING:
            self._send(PING, body)

    def _end(self, stream: int) -> None:
        self._listener.finished(stream)
        self._close_side(stream)

    def _close_side(self, stream: int) -> None:
        left = self._open.get(stream, 0) - 1
        if left > 0:
            self._open[stream] = left
        else:
            self._open.pop(stream, None)

    def _headers(self, compressed: bytes) -> Iterator[tuple[str, str]]:
        try:
            block = self._inflate.decompress(compressed, MOST_HEADER_BYTES)
        except zlib.error as error:
            raise ProtocolError(str(error)) from None
        if self._inflate.unconsumed_tail:
            raise ProtocolError("headers too large")
        at = 4
        for _ in range(min(int.from_bytes(block[:4], "big"), MOST_STREAMS)):
            pair = []
            for _ in range(2):
                size = int.from_bytes(block[at : at + 4], "big")
                pair.append(block[at + 4 : at + 4 + size].decode("latin-1"))
                at += 4 + size
            yield pair[0], pair[1]

    def _block(self) -> bytes:
        """Return a block of no headers."""
        return self._deflate.compress(bytes(4)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)

    def _send(self, kind: int, body: bytes) -> None:
        self._write(b"\x80\x03" + kind.to_bytes(2, "big") + b"\0" + len(body).to_bytes(3, "big") + body)
