"""Signed tokens in their compact form, read and not yet believed."""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode
from typing import Final

import attrs

from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

CHARACTERS: Final = 128 * 1024
"""Of a token: one that is all brackets takes 12 ms to be read, and no issuer has users with so many groups."""

_PART: Final = re.compile(r"[A-Za-z0-9_-]+")
_PARTS: Final = 3
_HEADER_CHARACTERS: Final = 8 * 1024


@attrs.frozen(slots=True, kw_only=True)
class Compact:
    """The parts of a token: `signed` is what `signature` is of."""

    header: Object
    claims: Object
    signed: bytes
    signature: bytes


def compact(token: str) -> Compact | None:
    """The parts of a token in three base64url parts, two of them JSON objects; None for any other."""
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
