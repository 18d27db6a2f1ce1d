"""Translation of compiled protos to the records of `orchtw.schema.declarations`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar

import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import MessageToDict

from orchtw.schema import declarations
from orchtw.schema.descriptors import Descriptors

T = TypeVar("T", bound=msgspec.Struct)

_TYPES = {
    getattr(FieldDescriptor, f"TYPE_{name}"): name.lower()
    for name in ("STRING", "BOOL", "INT32", "INT64", "DOUBLE", "BYTES")
}


def declared(found: Descriptors) -> tuple[declarations.File, ...]:
    """Return the records of the API's files."""
    return tuple(
        declarations.File(
            package=file.package,
            options=_record(found.file_options(file), declarations.FileOptions),
            messages=tuple(_message(found, each) for each in file.message_types_by_name.values()),
        )
        for file in found.files
    )


def _record(options: Any, kind: type[T]) -> T:
    """Return an options message as a record; the library writes 64-bit numbers as text, which is read as numbers."""
    return msgspec.convert(MessageToDict(options, preserving_proto_field_name=True), kind, strict=False)


def _message(found: Descriptors, descriptor: Descriptor) -> declarations.Message:
    return declarations.Message(
        full_name=descriptor.full_name,
        recursive=_contains_itself(descriptor),
        options=_record(found.message_options(descriptor), declarations.MessageOptions),
        encoded_fields=declarations.encoded_fields(tuple(_field(found, each) for each in descriptor.fields)),
    )


def _field(found: Descriptors, field: FieldDescriptor) -> declarations.Field:
    entry = field.message_type
    is_map = entry is not None and entry.GetOptions().map_entry
    value = entry.fields_by_name["value"] if entry is not None and is_map else field
    return declarations.Field(
        name=field.name,
        number=field.number,
        type=_TYPES[value.type] if value.message_type is None else value.message_type.full_name,
        repeated=field.is_repeated and not is_map,
        map=is_map,
        options=_record(found.field_options(field), declarations.FieldOptions),
    )


@cache
def _parts(descriptor: Descriptor) -> tuple[Descriptor, ...]:
    return tuple({field.message_type for field in descriptor.fields if field.message_type is not None})


def _contains_itself(descriptor: Descriptor) -> bool:
    """Report whether a value of this message may hold another one of it, at any depth."""
    seen: set[Descriptor] = set()
    waiting: Iterable[Descriptor] = _parts(descriptor)
    while waiting:
        seen.update(waiting)
        waiting = {part for message in waiting for part in _parts(message)} - seen
    return descriptor in seen
