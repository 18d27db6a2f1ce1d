"""The API's message descriptors, in a private pool, and the options that they carry: for the generator and tests.

Because the pool is private, another library's messages of the same name can never clash with ours. But the runtime
leaves our options unparsed: they are read with the pool's own classes. A server reads `orchtw.schema.declarations`.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message import Message

DESCRIPTOR_SET = "api.binpb"
_OPTIONS = "orchtw.options"


class Descriptors:
    """Descriptors of an encoded FileDescriptorSet, `raw`.

    `files` are the API's files, dependencies before their users; option definitions are not among them.
    """

    def __init__(self, raw: bytes) -> None:
        self._pool = descriptor_pool.DescriptorPool()
        declared = FileDescriptorSet.FromString(raw).file
        for file in declared:
            self._pool.Add(file)
        own = (file.name for file in declared if file.name.startswith("orch/"))
        self.files = tuple(map(self._pool.FindFileByName, own))

    def message(self, full_name: str) -> Descriptor:
        """Return the descriptor of a full name such as "orch.io.api.core.v1.Pod". Raises KeyError if unknown."""
        return self._pool.FindMessageTypeByName(full_name)

    def message_class(self, full_name: str) -> type[Message]:
        """Return the message class of a full name. Raises KeyError if unknown."""
        return message_factory.GetMessageClass(self.message(full_name))

    def field_options(self, field: FieldDescriptor) -> Any:
        """Return the `orchtw.options.Field` of a field; an empty one where nothing is set, as below."""
        return self._options(field, "FieldOptions", "field")

    def message_options(self, message: Descriptor) -> Any:
        """Return the `orchtw.options.Message` of a message."""
        return self._options(message, "MessageOptions", "message")

    def file_options(self, file: FileDescriptor) -> Any:
        """Return the `orchtw.options.File` of a file."""
        return self._options(file, "FileOptions", "file")

    def _options(self, descriptor: Any, carrier: str, extension: str) -> Any:
        kind: Any = self.message_class(f"google.protobuf.{carrier}")
        options = kind.FromString(descriptor.GetOptions().SerializeToString())
        return options.Extensions[self._pool.FindExtensionByName(f"{_OPTIONS}.{extension}")]


@cache
def packaged() -> Descriptors:
    """Return the descriptors of every message in `protos/`, from the packaged set."""
    return Descriptors(resources.files("orchtw.schema").joinpath(DESCRIPTOR_SET).read_bytes())
