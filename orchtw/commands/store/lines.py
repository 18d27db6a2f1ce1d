"""Export format: lines of JSON, a head with the store's vocabulary and revision, then a key each (STORE-20).

`{"key": …, "revision": …, "object": {…}}`; `expires`, if any, is the expiry time in milliseconds since the epoch. A
value that is not an API object has `value`, in base64, instead of `object`.
"""

from __future__ import annotations

import base64
import binascii
from typing import Final

import msgspec
import orjson

FORMAT: Final = 1
KIND: Final = "orch-store export"
MAX_EXPIRY: Final = 1 << 53


class ExportHead(msgspec.Struct, frozen=True):
    """First line of an export: the store's vocabulary, and its revision at that time."""

    vocabulary: str
    revision: int

    def line(self) -> bytes:
        """Return the line without its newline."""
        return orjson.dumps({"export": KIND, "format": FORMAT, **msgspec.structs.asdict(self)})


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One key. Without an `object`, `value` is the stored value."""

    key: str
    revision: int = 0
    expires: int = 0
    object: dict[str, object] | None = None
    value: bytes = b""

    def line(self) -> bytes:
        """Return the line without its newline."""
        fields: dict[str, object] = {"key": self.key, "revision": self.revision}
        if self.expires:
            fields["expires"] = self.expires
        if self.object is None:
            fields["value"] = base64.b64encode(self.value).decode()
        else:
            fields["object"] = self.object
        return orjson.dumps(fields)


def read(line: bytes) -> ExportHead | Item:
    """Parse a line into a head or an item. Raises ValueError."""
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise ValueError("is not a JSON object")
    return _head(fields) if "export" in fields else _item(fields)


def _head(fields: dict[str, object]) -> ExportHead:
    if fields["export"] != KIND or fields.get("format") != FORMAT:
        raise ValueError(f"does not belong to an {KIND} of format {FORMAT}")
    vocabulary, revision = fields.get("vocabulary"), fields.get("revision")
    if not isinstance(vocabulary, str) or not isinstance(revision, int):
        raise ValueError("does not name the store it came from")
    return ExportHead(vocabulary, revision)


def _item(fields: dict[str, object]) -> Item:
    key, expires, obj = fields.get("key"), fields.get("expires", 0), fields.get("object")
    if not isinstance(key, str) or not key or "\0" in key:
        raise ValueError("has no key")
    if not isinstance(expires, int) or not 0 <= expires < MAX_EXPIRY:
        raise ValueError("expires must be a time in milliseconds")
    if isinstance(obj, dict):
        return Item(key=key, expires=expires, object=obj)
    value = fields.get("value")
    if not isinstance(value, str):
        raise ValueError("has no object")
    try:
        return Item(key=key, expires=expires, value=base64.b64decode(value, validate=True))
    except (binascii.Error, ValueError):
        raise ValueError("the value is not base64") from None
