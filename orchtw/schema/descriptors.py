"""The API's message descriptors, in a private pool, and the options that they carry.

Because the pool is private, another library's messages of the same name can never clash with ours. But the runtime
leaves our options unparsed: the accessors here read them with the pool's own classes, one element at a time and only
on demand (2 µs each). The compiler keeps the results.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

import msgspec
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.message import Message

from orchtw.schema.codec.wire import LENGTH, read_varint, tag

DESCRIPTOR_SET = "api.binpb"
_FILE_TAG = tag(1, LENGTH)[0]


class _Loaded(msgspec.Struct, frozen=True):
    pool: descriptor_pool.DescriptorPool
    names: tuple[str, ...]


@cache
def _loaded() -> _Loaded:
    raw = resources.files("orchtw.schema").joinpath(DESCRIPTOR_SET).read_bytes()
    built = descriptor_pool.DescriptorPool()
    names = [built.AddSerializedFile(file).name for file in _serialized_files(raw)]
    return _Loaded(built, tuple(name for name in names if name.startswith("orch/")))


def _serialized_files(descriptor_set: bytes) -> Iterator[bytes]:
    """Return the files of a FileDescriptorSet, unparsed: to parse and serialize them takes half as long again."""
    position = 0
    while position < len(descriptor_set):
        assert descriptor_set[position] == _FILE_TAG
        length, position = read_varint(descriptor_set, position + 1)
        yield descriptor_set[position : position + length]
        position += length


def pool() -> descriptor_pool.DescriptorPool:
    """Return the pool of every message in `protos/`, built on first use from the packaged descriptor set."""
    return _loaded().pool


@cache
def files() -> tuple[FileDescriptor, ...]:
    """Return the API's files, dependencies before their users; option definitions are not among them."""
    loaded = _loaded()
    return tuple(loaded.pool.FindFileByName(name) for name in loaded.names)


@cache
def message_class(full_name: str) -> type[Message]:
    """Return the message class of a full name such as "orch.io.api.core.v1.Pod". Raises KeyError if unknown."""
    return message_factory.GetMessageClass(pool().FindMessageTypeByName(full_name))


class _Options:
    """Reads one of our extensions from one kind of descriptor options."""

    def __init__(self, carrier: str, extension: str) -> None:
        self._carrier: Any = message_class(f"google.protobuf.{carrier}")
        self._extension: Any = pool().FindExtensionByName(f"orchtw.options.{extension}")
        self._empty = self._parsed(b"")

    def read(self, descriptor: Any) -> Any:
        """Our option message of `descriptor`, not to be changed; an empty one where nothing is set."""
        if not descriptor.has_options:  # as two of three messages: a start reads all of them
            return self._empty
        return self._parsed(descriptor.GetOptions().SerializeToString())

    def _parsed(self, options: bytes) -> Any:
        return self._carrier.FromString(options).Extensions[self._extension]


@cache
def _options(carrier: str, extension: str) -> _Options:
    return _Options(carrier, extension)


def field_options(field: FieldDescriptor) -> Any:
    """Return the `orchtw.options.Field` of a field: JSON key, presence, default, enum, list and merge rules."""
    return _options("FieldOptions", "field").read(field)


def message_options(message: Descriptor) -> Any:
    """Return the `orchtw.options.Message` of a message: its kind, verbs, lifecycle and Table columns."""
    return _options("MessageOptions", "message").read(message)


def file_options(file: FileDescriptor) -> Any:
    """Return the `orchtw.options.File` of a file: group, version, priorities and the named sets of values."""
    return _options("FileOptions", "file").read(file)
