"""A key management service on a Unix socket, as those of clouds look to a server."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

from orchtw.storage.encryption.kms_messages import PACKAGE, VERSION, message

os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "false"  # see `kms_client`: tests start processes too


class KeyService:
    """Turns every byte around; `broken` makes it refuse, `version` is what it says of itself."""

    def __init__(self, address: str) -> None:
        self.version = VERSION
        self.broken = ""
        self.calls: list[str] = []
        self._server = grpc.server(ThreadPoolExecutor(4))
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(
                handler,
                request_deserializer=message(f"{name}Request").FromString,
                response_serializer=message(f"{name}Response").SerializeToString,
            )
            for name, handler in (("Version", self._version), ("Encrypt", self._encrypt), ("Decrypt", self._decrypt))
        }
        generic = grpc.method_handlers_generic_handler(f"{PACKAGE}.KeyManagementService", handlers)
        self._server.add_generic_rpc_handlers((generic,))
        self._server.add_insecure_port(address)
        self._server.start()

    def stop(self) -> None:
        """End the service at once."""
        self._server.stop(0).wait()

    def _version(self, request: Any, context: Any) -> Any:
        self._note("Version", context)
        return message("VersionResponse")(version=self.version, runtime_name="test", runtime_version="1")

    def _encrypt(self, request: Any, context: Any) -> Any:
        self._note("Encrypt", context)
        return message("EncryptResponse")(cipher=_turned(request.plain))

    def _decrypt(self, request: Any, context: Any) -> Any:
        self._note("Decrypt", context)
        return message("DecryptResponse")(plain=_turned(request.cipher))

    def _note(self, name: str, context: Any) -> None:
        self.calls.append(name)
        if self.broken:
            context.abort(grpc.StatusCode.UNAVAILABLE, self.broken)


def _turned(data: bytes) -> bytes:
    return bytes(255 - byte for byte in data)
