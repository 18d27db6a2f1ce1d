"""Objects of requests and responses, as JSON for events (reference AUDIT-15)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson

from orchtw.errors import BadRequest
from orchtw.request import Response
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import PREFIX, unwrap
from orchtw.schema.codec.yaml_codec import parse_yaml
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

MOST_BYTES: Final = 8 << 20
"""Size limit of a response in an event; a longer one is left out."""

_OBJECT: Final = (b'{"kind":', b'{"apiVersion":')
_STATUS: Final = b'{"kind":"Status",'
_PROTOBUF_STATUS: Final = b"\x12\x06Status"
_TYPE_BYTES: Final = 64


class Copied:
    """Parts of a response as they are sent; `pieces` is a copy of them, or None once it exceeds MOST_BYTES."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts
        self._size = 0
        self.pieces: list[bytes] | None = []

    def __iter__(self) -> Iterator[bytes]:
        for part in self._parts:
            self._size += len(part)
            if self._size > MOST_BYTES:
                self.pieces = None
            elif self.pieces is not None:
                self.pieces.append(part)
            yield part


def whole_body(response: Response) -> bytes | None:
    """Return a whole body, or None if it exceeds MOST_BYTES."""
    body = response.body
    if isinstance(body, bytes):
        return body if len(body) <= MOST_BYTES else None
    size = response.length if response.length is not None else sum(map(len, body))
    return b"".join(body) if size <= MOST_BYTES else None


def may_be_status(body: bytes) -> bool:
    """Report whether a body begins like a Status in JSON or Protobuf."""
    return body.startswith(_STATUS) or (body.startswith(PREFIX) and _PROTOBUF_STATUS in body[:_TYPE_BYTES])


def as_json(body: bytes, content_type: str, codecs: Codecs, *, managed_fields: bool) -> bytes | None:
    """Return a response's object as JSON on one line; None if it is not an API object."""
    if content_type.startswith("application/json") and managed_fields and body.startswith(_OBJECT):
        text = body.rstrip(b"\n")
        if b"\n" not in text:
            return text
    obj = parsed(body, content_type, codecs)
    if not isinstance(obj, dict) or "kind" not in obj:
        return None
    return object_json(obj, managed_fields=managed_fields)


def parsed(body: bytes, content_type: str, codecs: Codecs) -> Any:
    """Decode a body in any format of responses; None if that fails."""
    try:
        if body.startswith(PREFIX):
            api_version, kind, raw = unwrap(body)
            return codecs.kind(api_version, kind).decode_protobuf(raw)
        if content_type.startswith("application/json"):
            return loads(body)
        if content_type.startswith("application/yaml"):
            return parse_yaml(body)
    except (ValueError, KeyError, BadRequest, RecursionError):
        pass
    return None


def patch_json(body: bytes) -> bytes | None:
    """Return a patch as JSON on one line; None: it is neither JSON nor YAML."""
    try:
        value = loads(body)
    except ValueError:
        try:
            value = parse_yaml(body)
        except (ValueError, RecursionError):
            return None
    try:
        return orjson.dumps(value)
    except TypeError:
        return None


def object_json(obj: Object, *, managed_fields: bool) -> bytes | None:
    """Encode an object, or a list or Table of objects, with or without managedFields; None if it has no JSON."""
    try:
        return orjson.dumps(obj if managed_fields else _without_managed_fields(obj))
    except TypeError:
        return None


def _without_managed_fields(obj: Object) -> Object:
    shown: Object = _bare(obj)
    if isinstance(items := obj.get("items"), list):
        shown["items"] = [_bare(each) for each in items]
    if isinstance(rows := obj.get("rows"), list):
        shown["rows"] = [{**row, "object": _bare(row.get("object"))} if "object" in row else row for row in rows]
    return shown


def _bare(obj: Any) -> Any:
    """Return a copy of an object without managedFields; anything else is returned as it is."""
    if not isinstance(obj, dict):
        return obj
    meta = obj.get("metadata")
    if not isinstance(meta, dict) or "managedFields" not in meta:
        return dict(obj)
    return {**obj, "metadata": {name: value for name, value in meta.items() if name != "managedFields"}}
