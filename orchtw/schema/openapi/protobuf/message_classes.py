"""The message classes of OpenAPI's binary form, from a descriptor set that nothing else loads."""

from __future__ import annotations

from functools import cache
from importlib import resources

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

DESCRIPTOR_SET = "openapi.binpb"


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    raw = resources.files("orchtw.schema").joinpath(DESCRIPTOR_SET).read_bytes()
    built = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(raw).file:
        built.AddSerializedFile(file.SerializeToString())
    return built


def document_class(version: str) -> type[Message]:
    """Return the class of a whole document of OpenAPI `version` ("v2" or "v3"). Raises KeyError for another one."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"openapi.{version}.Document"))
