"""SPDY/3.1 as node agents speak it, the serving side: streams with headers over one connection.

Only what `exec`, `attach` and `port-forward` need; there is no flow control in them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

_WORDS = """options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age
allow authorization cache-control connection content-base content-encoding content-language content-length
content-location content-md5 content-range content-type date etag expect expires from host if-match if-modified-since
if-none-match if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate
proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning
www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin"""
_TAIL = (
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


DICTIONARY = b"".join(_text(word.replace("_", " ")) for word in _WORDS.split()) + _TAIL.encode()
"""What headers are compressed with: words of HTTP, each with its length, and a tail of common values."""

SYN_STREAM, SYN_REPLY, RST_STREAM, SETTINGS, PING, GOAWAY = 1, 2, 3, 4, 6, 7
FIN = 1


class Listener(Protocol):
    """Is told what comes on the streams."""

    def opened(self, stream: int, headers: Mapping[str, str]) -> None:
        """The client has opened a stream."""

    def received(self, stream: int, data: bytes) -> None:
        """Handle a frame of data."""

    def finished(self, stream: int) -> None:
        """The client writes no more on this stream."""


class Connection:
    """One connection; `write` sends bytes."""

    def __init__(self, listener: Listener, write: Callable[[bytes], object]) -> None:
        self._listener = listener
        self._write = write
        self._buffer = b""
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> None:
        """Bytes of the client."""
        self._buffer += data
        while len(self._buffer) >= 8:
            size = int.from_bytes(self._buffer[5:8], "big")
            if len(self._buffer) < 8 + size:
                return
            head, body, self._buffer = self._buffer[:8], self._buffer[8 : 8 + size], self._buffer[8 + size :]
            if head[0] & 0x80:
                self._control(int.from_bytes(head[2:4], "big"), head[4], body)
            else:
                self._data(int.from_bytes(head[:4], "big"), head[4], body)

    def _data(self, stream: int, flags: int, body: bytes) -> None:
        if body:
            self._listener.received(stream, body)
        if flags & FIN:
            self._listener.finished(stream)

    def _control(self, kind: int, flags: int, body: bytes) -> None:
        if kind == SYN_STREAM:
            stream = int.from_bytes(body[:4], "big")
            headers = dict(self._headers(self._inflate.decompress(body[10:])))
            self._send(SYN_REPLY, 0, body[:4] + self._block({}))
            self._listener.opened(stream, headers)
            if flags & FIN:
                self._listener.finished(stream)
        elif kind == PING:
            self._send(PING, 0, body)

    def _headers(self, block: bytes) -> Iterator[tuple[str, str]]:
        at = 4
        for _ in range(int.from_bytes(block[:4], "big")):
            pair = []
            for _ in range(2):
                size = int.from_bytes(block[at : at + 4], "big")
                pair.append(block[at + 4 : at + 4 + size].decode("latin-1"))
                at += 4 + size
            yield pair[0], pair[1]

    def _block(self, headers: Mapping[str, str]) -> bytes:
        raw = len(headers).to_bytes(4, "big") + b"".join(_text(k) + _text(v) for k, v in headers.items())
        return self._deflate.compress(raw) + self._deflate.flush(zlib.Z_SYNC_FLUSH)

    def _send(self, kind: int, flags: int, body: bytes) -> None:
        self._write(b"\x80\x03" + kind.to_bytes(2, "big") + bytes((flags,)) + len(body).to_bytes(3, "big") + body)

    def send(self, stream: int, data: bytes, *, last: bool = False) -> None:
        """Write on a stream the client has opened."""
        flags = FIN if last else 0
        self._write(stream.to_bytes(4, "big") + bytes((flags,)) + len(data).to_bytes(3, "big") + data)
