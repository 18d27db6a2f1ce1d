"""Declarations of the API: the messages of `protos/`, their fields and their options, as typed records.

The generator writes them from the compiled protos into one packaged file. So a server needs neither descriptors nor
the library that reads them: their pool would take 8 MiB, and each start the time to fill it. The fields of a message
are decoded when they are first requested. `protos/orchtw/options.proto` says what each option means.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Literal

import msgspec

DECLARATIONS = "api.msgpack"


class Later(msgspec.Struct, frozen=True, omit_defaults=True):
    """Values that a later release added to an enum."""

    since: str = ""
    value: tuple[str, ...] = ()
    feature_gate: str = ""


class Enum(msgspec.Struct, frozen=True, omit_defaults=True):
    """A named set of string values."""

    name: str = ""
    value: tuple[str, ...] = ()
    published: bool = False
    later: tuple[Later, ...] = ()


class Rules(msgspec.Struct, frozen=True, omit_defaults=True):
    """Constraints on a value beyond its type; None stands for a limit that is not set."""

    required: bool = False
    immutable: bool = False
    closed: bool = False
    minimum: int | None = None
    maximum: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    unique: bool = False
    format: str = ""
    detail: str = ""
    key: Rules | None = None
    item: Rules | None = None
    required_detail: str = ""
    unique_by: str = ""


class Retyped(msgspec.Struct, frozen=True, omit_defaults=True):
    """The message that took the place of a field's own in a later release."""

    since: str = ""
    message: str = ""


class FieldOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """Behaviour of one field in JSON, in defaulting and in merges; `default` is JSON text, or None without one."""

    json: str = ""
    inline: bool = False
    required: bool = False
    optional: bool = False
    omitempty: bool = False
    pointer: bool = False
    element_pointer: bool = False
    default: str | None = None
    enum: str = ""
    list_type: str = ""
    list_map_key: tuple[str, ...] = ()
    map_type: str = ""
    patch_strategy: str = ""
    patch_merge_key: str = ""
    feature_gate: str = ""
    union_discriminator: bool = False
    schema: tuple[str, ...] = ()
    special: bool = False
    rules: Rules | None = None
    unchecked: bool = False
    typed: bool = False
    since: str = ""
    retyped: Retyped | None = None


class Field(msgspec.Struct, frozen=True, array_like=True):
    """A field of a message: `type` is a scalar type of Protobuf, or the full name of a message.

    A repeated field's type is that of its elements, and a map's that of its values.
    """

    name: str
    number: int
    type: str
    repeated: bool
    map: bool
    options: FieldOptions

    @property
    def holds_message(self) -> bool:
        """True if values are messages: their full names have dots, and scalar types have none."""
        return "." in self.type


class GroupVersionKind(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Full name of a kind; the core group is ""."""

    group: str = ""
    version: str = ""
    kind: str = ""


class Subresource(msgspec.Struct, frozen=True, omit_defaults=True):
    """A path below one object of a resource; `version` is None where the kind is of the resource's own group."""

    name: str = ""
    kind: str = ""
    group: str = ""
    version: str | None = None
    verb: tuple[str, ...] = ()
    since: str = ""
    feature_gate: str = ""


class Resource(msgspec.Struct, frozen=True, omit_defaults=True):
    """A kind as it is served as a resource."""

    plural: str = ""
    singular: str = ""
    list_kind: str = ""
    namespaced: bool = False
    verb: tuple[str, ...] = ()
    short_name: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    subresource: tuple[Subresource, ...] = ()
    served: bool = False
    preferred: bool = False
    storage_version: str = ""
    delete_returns_object: bool = False
    field_selector: tuple[str, ...] = ()


class Column(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One column of a kind's Table; `cell` describes the source of its value.

    `path`: of a custom kind, where it is in the object, as JSONPath; empty for any other.
    """

    name: str = ""
    type: str = ""
    format: str = ""
    priority: int = 0
    cell: str = ""
    path: str = ""


class Lifecycle(msgspec.Struct, frozen=True, omit_defaults=True):
    """Releases that introduced, deprecated and removed a kind; "" where none did."""

    introduced: str = ""
    deprecated: str = ""
    removed: str = ""
    replacement: GroupVersionKind | None = None


class OneOf(msgspec.Struct, frozen=True, omit_defaults=True):
    """Fields of a message that exclude each other."""

    field: tuple[str, ...] = ()
    too_many: str = ""
    missing: str = ""


class MessageOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """Options of a message: its kind, form, life, resource and Table columns."""

    kind: Literal["", "object", "list"] = ""
    struct_type: str = ""
    go_form: str = ""
    union: bool = False
    lifecycle: Lifecycle = Lifecycle()
    resource: Resource | None = None
    column: tuple[Column, ...] = ()
    one_of: tuple[OneOf, ...] = ()


class FileOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """Options of a file, which holds one version of one group; None where it holds no group's version."""

    group: str = ""
    version: str | None = None
    enum: tuple[Enum, ...] = ()
    group_priority_minimum: int = 0
    version_priority: int | None = None


class Message(msgspec.Struct, frozen=True, array_like=True):
    """A message of the API, whose `encoded_fields` are decoded on demand.

    `recursive`: a value of it may hold another one, at any depth.
    """

    full_name: str
    recursive: bool
    options: MessageOptions
    encoded_fields: msgspec.Raw

    @property
    def name(self) -> str:
        """The last part of the full name."""
        return self.full_name.rpartition(".")[2]

    @property
    def package(self) -> str:
        """The full name without its last part."""
        return self.full_name.rpartition(".")[0]

    def fields(self) -> tuple[Field, ...]:
        """Decode the fields, in the order of the proto: that of JSON (reference OBJ-19)."""
        return _fields.decode(self.encoded_fields)

    def field(self, name: str) -> Field:
        """Return the field with this name. Raises KeyError if the message lacks it."""
        for each in self.fields():
            if each.name == name:
                return each
        raise KeyError(name)


class File(msgspec.Struct, frozen=True, array_like=True):
    """A proto file: its package and the messages that it declares, in order."""

    package: str
    options: FileOptions
    messages: tuple[Message, ...]


_fields = msgspec.msgpack.Decoder(tuple[Field, ...])


def encoded_fields(fields: tuple[Field, ...]) -> msgspec.Raw:
    """Encode the fields of a `Message`."""
    return msgspec.Raw(msgspec.msgpack.encode(fields))


def encoded(declared: tuple[File, ...]) -> bytes:
    """Encode all files for the package: equal ones give equal bytes."""
    return msgspec.msgpack.encode(declared)


@cache
def files() -> tuple[File, ...]:
    """Return the API's files, dependencies before their users; option definitions are not among them."""
    raw = resources.files("orchtw.schema").joinpath(DECLARATIONS).read_bytes()
    return msgspec.msgpack.decode(raw, type=tuple[File, ...])


@cache
def _by_name() -> MappingProxyType[str, tuple[File, Message]]:
    return MappingProxyType({each.full_name: (file, each) for file in files() for each in file.messages})


def message(full_name: str) -> Message:
    """Return the message of a full name such as "orch.io.api.core.v1.Pod". Raises KeyError if unknown."""
    return _by_name()[full_name][1]


def file_of(full_name: str) -> File:
    """Return the file that declares a message. Raises KeyError if unknown."""
    return _by_name()[full_name][0]
