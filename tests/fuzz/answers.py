"""Responses as they come off a connection, and what is in them."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import Any

import orjson
import yaml

from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import PREFIX, unwrap

_BODILESS = frozenset({204, 304})
_HEAD_LIMIT_BYTES = 1 << 20


class WireError(Exception):
    """Error: the data is not an HTTP response."""


@dataclass(slots=True)
class Answer:
    """One complete response; header names are in lower case."""

    code: int
    headers: dict[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        """The content type without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0]

    @property
    def last(self) -> bool:
        """Report whether the server closes after the response."""
        return self.headers.get("connection", "").lower() == "close"

    def value(self, codecs: Codecs, protobuf: str) -> Any:
        """The body's JSON-shaped value; None for text. Raises an exception of any kind where it cannot be read."""
        if self.media_type == "application/json":
            return orjson.loads(self.body)
        if self.media_type == "application/yaml":
            return yaml.load(self.body, Loader=yaml.CSafeLoader)
        if self.media_type == protobuf:
            return decoded(self.body, codecs)
        return None


def decoded(body: bytes, codecs: Codecs) -> Any:
    """The object in a Protobuf envelope as canonical dict."""
    if not body.startswith(PREFIX):
        raise WireError("no Protobuf envelope")
    api_version, kind, raw = unwrap(body)
    return codecs.kind(api_version, kind).decode_protobuf(raw)


class Responses:
    """Cuts a stream of bytes into answers; none of them is to a HEAD request."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._head: tuple[int, dict[str, str]] | None = None
        self._parts: list[bytes] = []

    @property
    def mid(self) -> bool:
        """Report whether a response has begun."""
        return bool(self._data) or self._head is not None

    def feed(self, data: bytes) -> None:
        """Bytes off the wire."""
        self._data += data

    def next(self) -> Answer | None:
        """The next complete answer, interim ones left out. Raises WireError."""
        while True:
            if self._head is None and not self._read_head():
                return None
            assert self._head is not None
            code, headers = self._head
            if code < 200:
                self._head = None
                continue
            body = self._read_body(code, headers)
            if body is None:
                return None
            self._head = None
            if headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            return Answer(code, headers, body)

    def head(self) -> tuple[int, dict[str, str]] | None:
        """Code and headers as soon as they are there; for streams."""
        if self._head is None:
            self._read_head()
        return self._head

    def stream(self) -> bytes:
        """The body's bytes of a chunked answer so far, whole chunks only."""
        out = b""
        while (part := self._chunk()) is not None:
            if not part:
                break
            out += part
        return out

    def _read_head(self) -> bool:
        end = self._data.find(b"\r\n\r\n")
        if end < 0:
            if len(self._data) > _HEAD_LIMIT_BYTES:
                raise WireError("a response head without end")
            return False
        lines = self._data[:end].decode("latin-1").split("\r\n")
        version, _, rest = lines[0].partition(" ")
        if not version.startswith("HTTP/1.") or not rest[:3].isdigit():
            raise WireError(f"no response: {lines[0][:80]!r}")
        headers: dict[str, str] = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon:
                raise WireError(f"no header: {line[:80]!r}")
            headers[name.lower()] = value.strip()
        del self._data[: end + 4]
        self._head = int(rest[:3]), headers
        return True

    def _read_body(self, code: int, headers: dict[str, str]) -> bytes | None:
        if code in _BODILESS:
            return b""
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return self._read_chunked()
        size = int(headers.get("content-length", "0"))
        if len(self._data) < size:
            return None
        body = bytes(self._data[:size])
        del self._data[:size]
        return body

    def _read_chunked(self) -> bytes | None:
        """A whole chunked body, or None while its end has not come; what has come is looked at once."""
        while (part := self._chunk()) is not None:
            if not part:
                body, self._parts = b"".join(self._parts), []
                return body
            self._parts.append(part)
        return None

    def _chunk(self) -> bytes | None:
        line = self._data.find(b"\r\n")
        if line < 0:
            return None
        size = int(self._data[:line], 16)
        end = line + 2 + size
        if len(self._data) < end + 2:
            return None
        part = bytes(self._data[line + 2 : end])
        del self._data[: end + 2]
        return part
