"""Field sets in metadata.managedFields by their JSON text: they are half of an object's JSON, and few are different.

Objects of the same shape and history have equal sets, which differ in nothing but the times beside them. A set is
parsed once for all of them. The values are shared and must not be modified.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from orchtw.wire.json_values import loads

REMEMBERED: Final = 512
"""Limit of sets; a full cache is cleared."""

MAX_TEXT_BYTES: Final = 1 << 20
"""Limit of all texts together: clients choose their sizes, and a parsed set takes up to twelve times its text."""

LONGEST: Final = 8192
"""Size of cached texts in bytes."""

VALUE_BYTES: Final = 12
"""Bytes of a parsed set for each of its text, at most."""

_SET: Final = b'"fieldsV1":'
_NEXT: Final = b'},{"manager":"'
_SUBRESOURCE: Final = b',"subresource":"'


class KnownFields:
    """Field sets by text, and their texts by identity."""

    def __init__(self) -> None:
        self._values: dict[bytes, Any] = {}
        self._texts: dict[int, tuple[Any, bytes]] = {}
        self._text_bytes = 0

    @property
    def size_bytes(self) -> int:
        """Return about how many bytes the texts and values take."""
        return self._text_bytes * (1 + VALUE_BYTES)

    def entries(self, text: bytes) -> list[dict[str, Any]] | None:
        """Return the entries of managedFields from a text of this server's; the sets in them are shared.

        None: the text does not come apart cleanly; invalid JSON in one of the parts shows it.
        """
        first, *pieces = text.split(_SET)
        skeleton, sets = [first], []
        for number, piece in enumerate(pieces, 1):
            end = len(piece) - 2 if number == len(pieces) else piece.rfind(_NEXT)
            named = piece.rfind(_SUBRESOURCE, 0, max(end, 0))
            end = named if named > 0 else end
            sets.append(piece[:end])
            skeleton.append(piece[end:])
        try:
            entries: list[dict[str, Any]] = loads((_SET + b"0").join(skeleton))
            values = [self._value(each) for each in sets]
        except orjson.JSONDecodeError:
            return None
        if len(entries) != len(values):
            return None
        for entry, value in zip(entries, values, strict=True):
            if entry.get("fieldsV1") != 0:
                return None
            entry["fieldsV1"] = value
        return entries

    def text_of(self, fields: Any) -> bytes:
        """Return the JSON text of a field set."""
        found = self._texts.get(id(fields))
        return found[1] if found is not None and found[0] is fields else orjson.dumps(fields)

    def _value(self, text: bytes) -> Any:
        found = self._values.get(text)
        if found is None:
            found = loads(text)
            if len(text) <= LONGEST:
                if len(self._values) >= REMEMBERED or self._text_bytes + len(text) > MAX_TEXT_BYTES:
                    self._values, self._texts, self._text_bytes = {}, {}, 0
                self._text_bytes += len(text)
                self._values[text] = found
                self._texts[id(found)] = found, text
        return found


KNOWN_FIELDS: Final = KnownFields()
