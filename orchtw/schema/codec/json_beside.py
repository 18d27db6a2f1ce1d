"""JSON bodies that are mostly the text of the live object: what is the same is found as bytes, and not parsed.

The members of the body and of its metadata are told apart without being parsed. Those with the text of the live
object's part are that part; the others are parsed together, in a shorter text of the same depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import orjson

from orchtw.schema.codec.json_text import SMALL_BYTES
from orchtw.schema.codec.strict_fields import may_repeat
from orchtw.wire.json_values import loads

_Members = dict[str, msgspec.Raw]

_MEMBERS: Final = msgspec.json.Decoder(_Members)


def parse_beside(body: bytes, live: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the value of a client's JSON text, which may have parts of `live`, and has no key twice.

    None: the text has to be parsed whole, because it has white space, repeated keys, another kind or apiVersion, or
    is not valid.
    """
    if body[:2] != b'{"' or len(body) > SMALL_BYTES:
        return None
    try:
        members = _MEMBERS.decode(body)
        meta = _MEMBERS.decode(members["metadata"])
        if _length(members) != len(body) - body.endswith(b"\n") or _length(meta) != len(members["metadata"]):
            return None
        kept_meta, left = _told_apart(meta, live["metadata"])
        members["metadata"] = msgspec.Raw(left)
        kept, left = _told_apart(members, live)
        parsed: dict[str, Any] = loads(left)
    except (KeyError, ValueError, TypeError, RecursionError):  # TypeError: a part of `live` that is too deep to write
        return None
    if may_repeat(left, parsed) or any(parsed.get(key) != live.get(key) for key in ("apiVersion", "kind")):
        return None
    parsed_meta = parsed["metadata"]
    parsed["metadata"] = {key: kept_meta[key] if key in kept_meta else parsed_meta[key] for key in meta}
    return {key: kept[key] if key in kept else parsed[key] for key in members}


def _length(members: _Members) -> int:
    """Return the length of an object's text that has each member once, and neither white space nor escapes in keys.

    Any other text of these members is longer.
    """
    return 1 + sum([len(key) + len(raw) for key, raw in members.items()]) + 4 * len(members)


def _told_apart(members: _Members, live: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Return the objects and lists of `live` that the members equal, and the JSON text of all other members."""
    kept, left = {}, []
    for key, raw in members.items():
        part = live.get(key)
        if part and (type(part) is dict or type(part) is list) and key != "metadata":
            if bytes(raw) == orjson.dumps(part):
                kept[key] = part
                continue
        left.append(b'"%b":%b' % (key.encode(), raw))
    return kept, b"{%b}" % b",".join(left)
