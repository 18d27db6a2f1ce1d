"""Calls to a key management service over its socket."""

from __future__ import annotations

import os
from typing import Any, Final
from urllib.parse import urlsplit

# grpc would start its threads again in a forked child, where they end the process before it can run a program: that
# of an exec plugin, for one. It reads this when it is first used.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")

import grpc  # noqa: E402
from twisted.internet.defer import Deferred

from orchtw.storage.encryption.kms_messages import VERSION, message, method_path
from orchtw.storage.encryption.provider import Unreadable

_BACKOFF_MS: Final = {"initial": 100, "min": 100, "max": 1000}
"""A service that comes back is found within a second: its socket is on this machine."""

_ABSTRACT: Final = "/@"
_OPTIONS: Final = tuple((f"grpc.{which}_reconnect_backoff_ms", ms) for which, ms in _BACKOFF_MS.items())


class KmsClient:
    """One service at `endpoint`, `unix:///path` or `unix:///@name`; nothing happens before the first call.

    Answers come back on the thread of `reactor`. Every method raises Unreadable with what went wrong.
    """

    def __init__(self, endpoint: str, timeout_s: float, reactor: Any) -> None:
        self._target = _target(endpoint)
        self._timeout_s = timeout_s
        self._reactor = reactor
        self._channel: Any = None
        self._version_seen = False

    async def encrypt(self, plain: bytes) -> bytes:
        """The cipher text of a key."""
        await self._check_version()
        answer = await self._call("Encrypt", version=VERSION, plain=plain)
        return bytes(answer.cipher)

    async def decrypt(self, cipher: bytes) -> bytes:
        """The key of a cipher text."""
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
            self._channel = grpc.insecure_channel(self._target, _OPTIONS)
        request, response = message(f"{method}Request"), message(f"{method}Response")
        ask = self._channel.unary_unary(
            method_path(method),
            request_serializer=request.SerializeToString,
            response_deserializer=response.FromString,
        )
        answered: Deferred[None] = Deferred()
        call = ask.future(request(**fields), timeout=self._timeout_s, wait_for_ready=True)
        call.add_done_callback(lambda done: self._reactor.callFromThread(answered.callback, None))
        await answered
        try:
            return call.result()
        except grpc.RpcError as error:
            self._version_seen = False  # another service may be there next time
            raise Unreadable(f"rpc error: code = {error.code().name} desc = {error.details()}") from None

    def close(self) -> None:
        """Let go of the socket; a later call opens it again."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None


def _target(endpoint: str) -> str:
    path = urlsplit(endpoint).path
    return f"unix-abstract:{path[len(_ABSTRACT):]}" if path.startswith(_ABSTRACT) else f"unix:{path}"
