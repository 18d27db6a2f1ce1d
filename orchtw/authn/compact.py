"""JWTs in compact serialization, parsed but not verified."""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode
from typing import Final

import msgspec

from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

CHARACTERS: Final = 128 * 1024
"""Size limit of a token: 12 ms to parse one that is all brackets, and more than any user's groups need."""

_PART: Final = re.compile(r"[A-Za-z0-9_-]+")
_PARTS: Final = 3
_HEADER_CHARACTERS: Final = 8 * 1024


class Compact(msgspec.Struct, frozen=True, kw_only=True):
    """The decoded parts of a token; `signature` is over the bytes `signed`."""

    header: Object
    claims: Object
    signed: bytes
    signature: bytes


def compact(token: str) -> Compact | None:
    """Parse a token of three base64url parts, the first two JSON objects; None if it is anything else or too long."""
    if len(token) > CHARACTERS:
        return None
    parts = token.split(".", _PARTS)
    if len(parts) != _PARTS or not all(map(_PART.fullmatch, parts)) or len(parts[0]) > _HEADER_CHARACTERS:
        return None
    try:
        header, claims, signature = map(_decoded, parts)
        found = loads(header), loads(claims)
    except (binascii.Error, ValueError):
        return None
    if not isinstance(found[0], dict) or not isinstance(found[1], dict):
        return None
    signed = f"{parts[0]}.{parts[1]}".encode("ascii")
    return Compact(header=found[0], claims=found[1], signed=signed, signature=signature)


def _decoded(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))
