"""Fields of responses, packed without a dynamic table: constant ones are packed once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hpack.table import HeaderTable

from orchtw.wire.http2_frames import text as packed_text

_STATUS: Final = 8  # in the static table: ":status" with 200, 204, 206, 304, 400, 404, 500
_NAMED: Final = {
    name: index
    for index, (name, _) in reversed(list(enumerate(HeaderTable.STATIC_TABLE, 1)))
}
# Of HTTP/1's connections: what others answered, which is passed on, may have them.
_NOT_HERE: Final = frozenset({"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"})
_KEPT_NAMES: Final = 256
_KEPT_BYTES: Final = 64

CONTINUE: Final = b"\x08\x03100"
"""Packed fields of a 100 response."""


def _integer(value: int, mask: int) -> bytes:
    if value < mask:
        return bytes((value,))
    return bytes((mask, value - mask))  # the static table has no index that takes more


def _packed_name(name: str) -> bytes:
    """Return a packed name for a literal field that enters no table."""
    lower = name.lower().encode("latin-1", "replace")
    if lower.decode("latin-1") in _NOT_HERE:
        return b""
    index = _NAMED.get(lower)
    return b"\x00" + packed_text(lower) if index is None else _integer(index, 0x0F)


class AnswerFields:
    """Packer of response heads; it keeps packed names, and values common to all responses of a time."""

    def __init__(self) -> None:
        self._names: dict[str, bytes] = {}
        self._codes: dict[int, bytes] = {
            code: bytes((0x80 | index,))
            for index, (name, value) in enumerate(HeaderTable.STATIC_TABLE, 1)
            if name == b":status"
            for code in (int(value),)
        }
        self._types: dict[str, bytes] = {}
        self._date = "", b""

    def pack(
        self, code: int, content_type: str, headers: Iterable[tuple[str, str]], date_line: str, length: int | None
    ) -> bytes:
        """Return the fields of a response; `date_line` is HTTP/1's, `length` that of the body, or None.

        Raises ValueError for a header with a line break in it.
        """
        if self._date[0] is not date_line:
            self._date = date_line, self._field("date", date_line[len("Date: ") :].rstrip())
        parts = [self._codes.get(code) or self._code(code), self._date[1]]
        if length is not None:
            parts.append(self._field("content-length", str(length)))
        if content_type:
            parts.append(self._types.get(content_type) or self._type(content_type))
        for name, value in headers:
            parts.append(self._field(name, value))
        return b"".join(parts)

    def _field(self, name: str, value: str) -> bytes:
        start = self._names.get(name)
        if start is None:
            start = _packed_name(name)
            if len(self._names) < _KEPT_NAMES and len(name) <= _KEPT_BYTES:
                self._names[name] = start
        if not start:
            return b""
        text = value.encode("latin-1", "replace")
        if b"\n" in text or b"\r" in text or b"\0" in text:
            raise ValueError("a response header contains a line break")
        return start + packed_text(text)

    def _code(self, code: int) -> bytes:
        packed = self._codes[code] = bytes((_STATUS,)) + packed_text(b"%d" % code)
        return packed

    def _type(self, content_type: str) -> bytes:
        packed = self._field("content-type", content_type)
        if len(self._types) < _KEPT_NAMES and len(content_type) <= _KEPT_BYTES:
            self._types[content_type] = packed
        return packed
