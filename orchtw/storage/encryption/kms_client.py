"""Calls to a key management service over its socket."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from twisted.internet.defer import Deferred

from orchtw.outbound.grpc.channel import Channel, ChannelSettings
from orchtw.outbound.grpc.status import RpcError
from orchtw.outbound.grpc.targets import UnixTarget
from orchtw.storage.encryption.kms_messages import VERSION, message, method_path
from orchtw.storage.encryption.provider import Unreadable

MESSAGE_BYTES: Final = 64 << 10
"""Limit of a response: a sealed or opened data key of 32 bytes, with the service's additions."""

_ABSTRACT: Final = "/@"


class KmsClient:
    """One service at `endpoint`, `unix:///path` or `unix:///@name`; connects at the first call.

    Every method raises Unreadable with the reason. A service that comes back is found within a second.
    """

    def __init__(self, endpoint: str, timeout_s: float, reactor: Any) -> None:
        self._target = UnixTarget(reactor, _path(endpoint))
        self._timeout_s = timeout_s
        self._reactor = reactor
        self._channel: Channel | None = None
        self._version_seen = False

    async def encrypt(self, plain: bytes) -> bytes:
        """Return the data key `plain`, sealed."""
        await self._check_version()
        answer = await self._call("Encrypt", version=VERSION, plain=plain)
        return bytes(answer.cipher)

    async def decrypt(self, cipher: bytes) -> bytes:
        """Return the data key sealed in `cipher`."""
        await self._check_version()
        answer = await self._call("Decrypt", version=VERSION, cipher=cipher)
        return bytes(answer.plain)

    async def _check_version(self) -> None:
        if self._version_seen:
            return
        found = (await self._call("Version", version=VERSION)).version
        if found != VERSION:
            why = f"KMS provider api version {found} is not supported, only {VERSION} is supported now"
            raise Unreadable(why)
        self._version_seen = True

    async def _call(self, method: str, **fields: Any) -> Any:
        if self._channel is None:
            self._channel = self._opened()
        answered: Deferred[bytes | RpcError] = Deferred()
        request = message(f"{method}Request")(**fields).SerializeToString()
        self._channel.call(method_path(method), request, answered.callback, timeout_s=self._timeout_s)
        answer = await answered
        if isinstance(answer, RpcError):
            self._version_seen = False  # another service may be there next time
            raise Unreadable(answer.shown)
        try:
            return message(f"{method}Response").FromString(answer)
        except ValueError as problem:  # protobuf's DecodeError is one
            raise Unreadable(f"the service's answer cannot be read: {problem}") from None

    def _opened(self) -> Channel:
        settings = ChannelSettings(
            name="the key management service",
            closed="the connection to the key management service is closed",
            message_bytes=MESSAGE_BYTES,
            pings=False,  # servers written in Go end connections that ask more often than every five minutes
        )
        channel = Channel(self._reactor, [self._target], settings)
        channel.start()
        return channel

    def close(self) -> None:
        """Close the connection; a later call opens it again."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.stop()


def _path(endpoint: str) -> str:
    path = urlsplit(endpoint).path
    return "\0" + path[len(_ABSTRACT) :] if path.startswith(_ABSTRACT) else path
