"""Continue tokens of chunked lists (reference READ-12, READ-15).

A token is a JSON object in base64url without padding: its version, the list's revision (-1: latest), the key to
continue from, relative to the listed prefix, and a signature that ties these to the prefix and to this server's key.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import posixpath
import re
from typing import Any, Final

import msgspec
import orjson

from orchtw.errors import BadRequest
from orchtw.naming.naming import Naming
from orchtw.values.causes import go_quote
from orchtw.wire.json_values import loads

LATEST: Final = -1
SIGNATURE_BYTES: Final = 16
_ALPHABET: Final = re.compile("[A-Za-z0-9_-]*")


class Position(msgspec.Struct, frozen=True):
    """Position at which a list continues: `start` is the first possible key below the prefix; revision -1 is latest.

    `signature` is the token's, not verified: see `Tokens.check`.
    """

    revision: int
    start: str
    signature: str = ""


class Tokens:
    """Signer and verifier of continue tokens. `key` is secret, 16 to 64 bytes, and must survive restarts."""

    def __init__(self, key: bytes, naming: Naming) -> None:
        self._key = key
        self._version = f"{naming.meta_group}/v1"

    def encode(self, revision: int, last: str, prefix: str) -> str:
        """Return the token that continues after key `last`, which is relative to the listed `prefix`."""
        start = last + "\0"
        token = {"v": self._version, "rv": revision, "start": start, "sig": self._sign(revision, start, prefix)}
        return base64.urlsafe_b64encode(orjson.dumps(token)).rstrip(b"=").decode()

    def check(self, position: Position, prefix: str) -> None:
        """Raise BadRequest (400) for a position that was not issued for `prefix` with this key."""
        if not hmac.compare_digest(position.signature, self._sign(position.revision, position.start, prefix)):
            raise _invalid("it was not issued for this list")

    def _sign(self, revision: int, start: str, prefix: str) -> str:
        text = f"{revision}\0{prefix}\0{start}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, key=self._key, digest_size=SIGNATURE_BYTES).hexdigest()


def decode(token: str, naming: Naming) -> Position:
    """Parse a token without verifying its signature. Raises BadRequest (400) for a malformed one."""
    fields = _fields(token)
    version, revision, start = fields.get("v", ""), fields.get("rv", 0), fields.get("start", "")
    signature = fields.get("sig", "")
    if not all(isinstance(text, str) for text in (version, start, signature)) or type(revision) is not int:
        raise _invalid("wrong type of field")
    if version != f"{naming.meta_group}/v1":
        raise _invalid(f"server does not recognize this encoded version {go_quote(version)}")
    if revision == 0:
        raise _invalid(f"incorrect encoded start resourceVersion (version {version})")
    if not start:
        raise _invalid(f"encoded start key empty (version {version})")
    start = start.removeprefix("/")
    rooted = "/" + start.removesuffix("\0")
    if "\0" in rooted or rooted.startswith("//") or posixpath.normpath(rooted) != rooted:
        raise _invalid(start)
    return Position(revision, start, signature if signature.isascii() else "")


def _fields(token: str) -> dict[str, Any]:
    readable = _ALPHABET.match(token)
    length = readable.end() if readable else 0
    if length < len(token) or len(token) % 4 == 1:
        raise _invalid(f"illegal base64 data at input byte {length}")
    try:
        fields = loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (binascii.Error, ValueError) as exc:
        raise _invalid(str(exc)) from exc
    if not isinstance(fields, dict):
        raise _invalid("not an object")
    return fields


def _invalid(why: str) -> BadRequest:
    return BadRequest(f"invalid continue token: continue key is not valid: {why}")
