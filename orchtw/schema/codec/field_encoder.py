"""Canonical dicts → Protobuf messages, field by field, so that known and unchanged fields keep their bytes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import msgspec

from orchtw.schema.codec.generated import Functions
from orchtw.schema.codec.mismatch import SchemaError
from orchtw.schema.codec.spans import content, field_spans
from orchtw.schema.codec.unchanged import same_text
from orchtw.schema.codec.wire import delimited
from orchtw.schema.known_parts import Drawn, KnownParts, text_of
from orchtw.schema.nodes import Field, StructSchema
from orchtw.schema.part import Parts

_ABSENT: Final = object()
_LEVELS: Final = 2  # an object's fields, and the fields of its metadata, spec and status


class _Part(msgspec.Struct, frozen=True):
    """One field: its number and key, a struct with this field alone, and the encoder of its own fields, if any.

    `keeps`: its encodings are kept by text.
    """

    number: int
    key: str
    alone: StructSchema
    inner: FieldEncoder | None
    keeps: bool


class FieldEncoder:
    """Encoder of the structs of one schema, field by field.

    The result equals that of the whole encoder, byte for byte. The encodings of large structs are kept in `known` by
    their text; `alone` has the structs of one field. Beside an earlier object, structs are compared `levels` deep.
    """

    def __init__(
        self, schema: StructSchema, encode: Functions, alone: Parts, known: KnownParts, levels: int = _LEVELS
    ) -> None:
        self._schema = schema
        self._encode = encode
        self._alone = alone
        self._known = known
        self._levels = levels

    @cached_property
    def _parts(self) -> tuple[_Part, ...]:
        """The fields in the order of their numbers; empty for a struct whose fields cannot be told apart."""
        if any(field.inline for field in self._schema.fields):
            return ()
        return tuple(self._part(field) for field in sorted(self._schema.fields, key=lambda field: field.number))

    @cached_property
    def _numbers(self) -> frozenset[int]:
        return frozenset(part.number for part in self._parts)

    def _part(self, field: Field) -> _Part:
        alone, node = self._alone.of(self._schema, (field.name,)), field.node
        if not isinstance(node, StructSchema):
            return _Part(field.number, field.name, alone, None, keeps=False)
        inner = None
        if self._levels > 1:
            inner = FieldEncoder(node, self._encode, self._alone, self._known, self._levels - 1)
        # Metadata is different in every object.
        return _Part(field.number, field.name, alone, inner, keeps=field.name != "metadata")

    def new(self, obj: Mapping[str, Any]) -> bytes:
        """Return a canonical dict as a message."""
        if not any(part.keeps and part.key in obj for part in self._parts):
            return self._encode[self._schema](obj)  # type: ignore[no-any-return]
        return b"".join([self._field(part, obj) for part in self._parts])

    def changed(self, new: Mapping[str, Any], old: Mapping[str, Any], raw: bytes) -> bytes:
        """Return canonical `new` as a message. `old` is canonical too, and `raw` its encoding by this server."""
        try:
            spans = field_spans(raw) if self._parts else None
        except (SchemaError, IndexError):
            spans = None
        if spans is None or not spans.keys() <= self._numbers:
            return self._encode[self._schema](new)  # type: ignore[no-any-return]
        pieces = []
        kept = position = 0  # what lies between these is taken over as one piece
        for part in self._parts:
            start, end = spans.get(part.number, (position, position))
            position = end
            before, after = old.get(part.key, _ABSENT), new.get(part.key, _ABSENT)
            if (before is after or self._same(part, before, after)) and (start < end or after is _ABSENT):
                continue
            pieces.append(raw[kept:start])
            kept = end
            if part.inner is not None and type(before) is dict and type(after) is dict and start < end:
                inner = part.inner.changed(after, before, content(raw, start))
                pieces.append(delimited(part.number, inner))
            else:
                pieces.append(self._field(part, new))
        pieces.append(raw[kept:])
        return b"".join(pieces)

    @staticmethod
    def _same(part: _Part, before: Any, after: Any) -> bool:
        """Report whether values have one text; metadata never equals, for its version comes later."""
        return (part.keeps or part.inner is None) and same_text(before, after)

    def _field(self, part: _Part, obj: Mapping[str, Any]) -> bytes:
        """Return one field of a canonical dict, tag and all."""
        text = text_of(obj[part.key]) if part.keeps and part.key in obj else None
        if text is None:
            return self._encode[part.alone](obj)  # type: ignore[no-any-return]
        drawn = Drawn(text)
        key = part.alone.name, f"encoded {part.key}", drawn.text
        known = self._known.get(key)
        if known is not None:
            return drawn.particular(known)
        found: bytes = self._encode[part.alone](obj)
        if (general := drawn.general(found)) is not None:
            self._known.put(key, general)
        return found
