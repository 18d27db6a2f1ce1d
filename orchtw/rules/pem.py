"""Lenient PEM parser (RFC 7468): text outside blocks and malformed blocks are skipped."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator
from typing import Final

import msgspec

_BEGIN: Final = b"-----BEGIN "
_END: Final = b"\n-----END "
_DASHES: Final = b"-----"
_NEW_LINE: Final = 10


class Block(msgspec.Struct, frozen=True):
    """One PEM block: the type in its BEGIN line, a flag for headers, and the decoded bytes."""

    type: str
    has_headers: bool
    content: bytes


def blocks(data: bytes) -> Iterator[Block]:
    """Yield the blocks of `data` in order."""
    at = 0
    while (start := data.find(_BEGIN, at)) >= 0:
        if start and data[start - 1] != _NEW_LINE:
            at = start + len(_BEGIN)
            continue
        first_end, end = data.find(b"\n", start), data.find(_END, start)
        if end < 0:
            return
        last_end = data.find(b"\n", end + 1)
        at = len(data) if last_end < 0 else last_end
        first, last = data[start:first_end].rstrip(), data[end + 1 : at].rstrip()
        name = first[len(_BEGIN) : -len(_DASHES)]
        if first.endswith(_DASHES) and last == _END[1:] + name + _DASHES:
            found = _decoded(name, data[first_end + 1 : end])
            if found is not None:
                yield found


def _decoded(name: bytes, body: bytes) -> Block | None:
    lines = body.split(b"\n")
    headers = next((index for index, line in enumerate(lines) if b":" not in line), len(lines))
    try:
        content = b64decode(b"".join(b"".join(lines[headers:]).split()), validate=True)
    except binascii.Error:
        return None
    return Block(name.decode("utf-8", "replace"), headers > 0, content)
