"""The API's message descriptors, in a private pool, and the options that they carry.

Because the pool is private, another library's messages of the same name can never clash with ours. But the runtime
leaves our options unparsed: the accessors here read them with the pool's own classes, one element at a time and only
on demand (2 µs each). The compiler keeps the results.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import msgspec
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.message import Message

DESCRIPTOR_SET = "api.binpb"


class _Loaded(msgspec.Struct, frozen=True):
    pool: descriptor_pool.DescriptorPool
    names: tuple[str, ...]


@cache
def _loaded() -> _Loaded:
    raw = resources.files("orchtw.schema").joinpath(DESCRIPTOR_SET).read_bytes()
    files = descriptor_pb2.FileDescriptorSet.FromString(raw).file
    built = descriptor_pool.DescriptorPool()
    for file in files:
        built.AddSerializedFile(file.SerializeToString())
    return _Loaded(built, tuple(file.name for file in files if file.name.startswith("orch/")))


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

    def read(self, descriptor: Any) -> Any:
        """Our option message of `descriptor`; an empty one where nothing is set."""
        return self._carrier.FromString(descriptor.GetOptions().SerializeToString()).Extensions[self._extension]


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
