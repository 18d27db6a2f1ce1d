"""Continue tokens of chunked lists (seed 1 §4.4, supplement A6).

A token is base64url text without padding of a JSON object: its version, the list's revision (-1: at the latest) and
the key to go on from, relative to the listed prefix.
"""

from __future__ import annotations

import base64
import binascii
import posixpath
import re
from typing import Any, Final

import attrs
import orjson

from orchtw.errors import BadRequest
from orchtw.naming import Naming
from orchtw.rules.causes import go_quote

LATEST: Final = -1
_ALPHABET: Final = re.compile("[A-Za-z0-9_-]*")


@attrs.frozen(slots=True)
class Position:
    """Where a list goes on: `start` is the first possible key, relative to the prefix; revision -1 is the latest."""

    revision: int
    start: str


def encode(revision: int, last: str, naming: Naming) -> str:
    """The token that goes on after key `last`, which is relative to the listed prefix."""
    token = {"v": f"{naming.meta_group}/v1", "rv": revision, "start": last + "\0"}
    return base64.urlsafe_b64encode(orjson.dumps(token)).rstrip(b"=").decode()


def decode(token: str, naming: Naming) -> Position:
    """The place that `token` names. Raises BadRequest (400) for anything that `encode` cannot have made."""
    fields = _fields(token)
    version, revision, start = fields.get("v", ""), fields.get("rv", 0), fields.get("start", "")
    if not isinstance(version, str) or type(revision) is not int or not isinstance(start, str):
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
    return Position(revision, start)


def _fields(token: str) -> dict[str, Any]:
    readable = _ALPHABET.match(token)
    length = readable.end() if readable else 0
    if length < len(token) or len(token) % 4 == 1:
        raise _invalid(f"illegal base64 data at input byte {length}")
    try:
        fields = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (binascii.Error, ValueError) as exc:
        raise _invalid(str(exc)) from exc
    if not isinstance(fields, dict):
        raise _invalid("not an object")
    return fields


def _invalid(why: str) -> BadRequest:
    return BadRequest(f"invalid continue token: continue key is not valid: {why}")
