"""Messages of etcd's interface, as classes from a descriptor pool of their own."""

from __future__ import annotations

from importlib import resources
from typing import Any, Final

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

DESCRIPTOR_SET: Final = "etcd.binpb"


def _pool() -> DescriptorPool:
    built = DescriptorPool()
    for file in FileDescriptorSet.FromString(resources.files(__package__).joinpath(DESCRIPTOR_SET).read_bytes()).file:
        built.AddSerializedFile(file.SerializeToString())
    return built


_POOL: Final = _pool()


def message(name: str) -> Any:
    """Return the class of a message of `protos/etcd`."""
    return GetMessageClass(_POOL.FindMessageTypeByName(f"etcd.{name}"))
