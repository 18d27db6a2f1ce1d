"""The messages of a key management service, version v1beta1 of its interface."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

PACKAGE: Final = "v1beta1"
VERSION: Final = "v1beta1"
"""The version that a service of this interface reports."""

_STRING, _BYTES = FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.TYPE_BYTES
_FIELDS: Final[dict[str, dict[str, Any]]] = {
    "VersionRequest": {"version": _STRING},
    "VersionResponse": {"version": _STRING, "runtime_name": _STRING, "runtime_version": _STRING},
    "EncryptRequest": {"version": _STRING, "plain": _BYTES},
    "EncryptResponse": {"cipher": _BYTES},
    "DecryptRequest": {"version": _STRING, "cipher": _BYTES},
    "DecryptResponse": {"plain": _BYTES},
}
"""Fields of each message, in the order of their numbers."""


def _pool() -> DescriptorPool:
    file = FileDescriptorProto(name="kms.proto", package=PACKAGE, syntax="proto3")
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields.items(), 1):
            message.field.add(name=field, number=number, type=kind, label=FieldDescriptorProto.LABEL_OPTIONAL)
    pool = DescriptorPool()
    pool.Add(file)
    return pool


_POOL: Final = _pool()


def message(name: str) -> Any:
    """Return the class of a message."""
    return GetMessageClass(_POOL.FindMessageTypeByName(f"{PACKAGE}.{name}"))


def method_path(method: str) -> str:
    """Return the path of a method: Version, Encrypt or Decrypt."""
    return f"/{PACKAGE}.KeyManagementService/{method}"
