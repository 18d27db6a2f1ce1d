"""Opening handshake of WebSockets: detection, validation and response headers (RFC 6455 §4)."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import sha1
from typing import Final

from orchtw.errors import BadRequest, Forbidden, StatusError
from orchtw.rules.origins import AllowedOrigins, same_origin

VERSION: Final = "13"
PROTOCOLS: Final = "sec-websocket-protocol"
BEARER: Final = "base64url.bearer.authorization."
"""Prefix of a subprotocol that carries a token: the API's domain and the token follow (reference AUTHN-11)."""

_KEY_BYTES: Final = 16
_ACCEPTED: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # the constant of RFC 6455 §1.3
_SHOWN: Final = 100

Headers = Mapping[str, str]


class UpgradeRequired(StatusError):
    """426: the client's WebSocket version is not supported."""

    code = 426
    headers: Final = (("Upgrade", "websocket"), ("Sec-WebSocket-Version", VERSION))


def is_websocket(headers: Headers) -> bool:
    """Report whether a request asks for an upgrade to a WebSocket."""
    upgrade = headers.get("upgrade")
    if upgrade is None:
        return False
    return "websocket" in _entries(upgrade.lower()) and "upgrade" in _entries(headers.get("connection", "").lower())


def subprotocols(headers: Headers) -> list[str]:
    """Return the subprotocols that a client offers, in its order of preference."""
    return _entries(headers.get(PROTOCOLS, ""))


def check_origin(headers: Headers, allowed: AllowedOrigins) -> None:
    """Raise Forbidden (403) for a page of a foreign origin: browsers let any page open a WebSocket.

    Programs (no Origin), the server's own pages and allowed origins pass.
    """
    origin = headers.get("origin")
    if origin is None or same_origin(origin, headers.get("host", "")) or allowed.allow(origin):
        return
    raise Forbidden.path(f"the origin {origin[:_SHOWN]!r} is not one of --cors-allowed-origins")


def handshake(headers: Headers) -> list[tuple[str, str]]:
    """Return the headers of the 101, with the first offered subprotocol that is not a token.

    Raises BadRequest (400) for a malformed handshake, UpgradeRequired (426) for a version other than 13.
    """
    version = headers.get("sec-websocket-version")
    if version is None:
        raise BadRequest("malformed WebSocket handshake: missing Sec-WebSocket-Version header")
    if version != VERSION:
        raise UpgradeRequired(f"WebSocket version {version[:_SHOWN]!r} is not supported, only {VERSION}")
    accept = b64encode(sha1(_key(headers) + _ACCEPTED, usedforsecurity=False).digest()).decode("ascii")
    answer = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept)]
    chosen = next((name for name in subprotocols(headers) if not name.startswith(BEARER)), None)
    return answer if chosen is None else [*answer, ("Sec-WebSocket-Protocol", chosen)]


def _key(headers: Headers) -> bytes:
    """Return the client's nonce, validated, in base64. Raises BadRequest (400)."""
    key = headers.get("sec-websocket-key", "")
    try:
        size = len(b64decode(key, validate=True))
    except (binascii.Error, ValueError):
        size = 0
    if size != _KEY_BYTES:
        raise BadRequest("malformed WebSocket handshake: missing or malformed Sec-WebSocket-Key header")
    return key.encode("ascii")


def _entries(header: str) -> list[str]:
    return [entry for part in header.split(",") if (entry := part.strip())]
