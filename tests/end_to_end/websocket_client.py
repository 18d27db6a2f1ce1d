"""A WebSocket client for the tests: wsproto's, on a blocking TLS socket, in threads."""

from __future__ import annotations

import socket
import ssl
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from twisted.internet.threads import deferToThread
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    CloseConnection,
    Event,
    Message,
    Ping,
    Pong,
    RejectConnection,
    RejectData,
    Request,
)

from tests.end_to_end.client import PATIENCE_S


class Rejected(Exception):
    """The handshake was answered with something else than 101."""

    def __init__(self, code: int, headers: dict[str, str], body: bytes) -> None:
        super().__init__(f"{code} {body.decode(errors='replace')}")
        self.code = code
        self.headers = headers
        self.body = body


class Closed(Exception):
    """The server has sent a close frame."""

    def __init__(self, code: int) -> None:
        super().__init__(str(code))
        self.code = code


def bearer(token: str, domain: str = "orch.io") -> str:
    """The sub-protocol that is a token."""
    return f"base64url.bearer.authorization.{domain}.{urlsafe_b64encode(token.encode()).decode().rstrip('=')}"


class WebSocketClient:
    """One open WebSocket; made by `open`. `accepted` is the server's answer to the handshake."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._protocol = WSConnection(ConnectionType.CLIENT)
        self._events: list[Event] = []
        self.accepted = AcceptConnection()

    @classmethod
    async def open(
        cls,
        port: int,
        context: ssl.SSLContext,
        path: str,
        *,
        protocols: Sequence[str] = (),
        headers: Sequence[tuple[str, str]] = (),
        buffer_bytes: int = 0,
    ) -> Self:
        """Connect and shake hands; raises Rejected. `buffer_bytes` limits what the system receives unread."""
        return await deferToThread(cls._open, port, context, path, protocols, headers, buffer_bytes)

    @classmethod
    def _open(
        cls,
        port: int,
        context: ssl.SSLContext,
        path: str,
        protocols: Sequence[str],
        headers: Sequence[tuple[str, str]],
        buffer_bytes: int,
    ) -> Self:
        plain = socket.socket()
        plain.settimeout(PATIENCE_S)
        if buffer_bytes:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        plain.connect(("127.0.0.1", port))
        client = cls(context.wrap_socket(plain, server_hostname="127.0.0.1"))
        extra = [(name.encode(), value.encode()) for name, value in headers]
        try:
            client._shake_hands(f"127.0.0.1:{port}", path, list(protocols), extra)
        except BaseException:
            client.drop()
            raise
        return client

    def _shake_hands(self, host: str, path: str, protocols: list[str], headers: list[tuple[bytes, bytes]]) -> None:
        self._send(Request(host=host, target=path, subprotocols=protocols, extra_headers=headers))
        answer = self._event()
        if isinstance(answer, RejectConnection):
            body, complete = b"", not answer.has_body
            while not complete:
                data = self._event()
                assert isinstance(data, RejectData)
                body, complete = body + data.data, data.body_finished
            found = {name.decode().lower(): value.decode() for name, value in answer.headers}
            raise Rejected(answer.status_code, found, body)
        assert isinstance(answer, AcceptConnection), answer
        self.accepted = answer

    async def message(self) -> str | bytes:
        """The next message, whole; raises Closed at the end, once the close frame has been answered."""
        return await deferToThread(self.receive)

    async def messages(self, count: int) -> list[Any]:
        """Wait for so many messages."""
        return await deferToThread(lambda: [self.receive() for _ in range(count)])

    def receive(self) -> str | bytes:
        """As `message`, for a thread of the caller's own."""
        data: Any = None
        while True:
            event = self._event()
            if isinstance(event, Message):
                data = event.data if data is None else data + event.data
                if event.message_finished:
                    whole: str | bytes = data
                    return whole
            elif isinstance(event, CloseConnection):
                self.reply(event)
                raise Closed(event.code)
            elif isinstance(event, Ping):
                self._send(event.response())

    def reply(self, event: CloseConnection) -> None:
        """Answer the server's close frame."""
        self._send(event.response())

    async def ping(self, payload: bytes) -> bytes:
        """Send a ping; returns the payload of the pong."""
        return await deferToThread(self._ping, payload)

    def _ping(self, payload: bytes) -> bytes:
        self._send(Ping(payload=payload))
        event = self._event()
        assert isinstance(event, Pong), event
        return bytes(event.payload)

    async def close(self, code: int) -> int:
        """Send a close frame; returns the code of the server's, after which it ends the connection."""
        return await deferToThread(self._close, code)

    def _close(self, code: int) -> int:
        self._send(CloseConnection(code=code))
        event = self._event()
        assert isinstance(event, CloseConnection), event
        assert self._socket.recv(1) == b""
        return int(event.code)

    def drop(self) -> None:
        """End the connection without notice."""
        self._socket.close()

    def _send(self, event: Event) -> None:
        self._socket.sendall(self._protocol.send(event))

    def _event(self) -> Event:
        while not self._events:
            data = self._socket.recv(65536)
            if not data:
                raise EOFError
            self._protocol.receive_data(data)
            self._events = list(self._protocol.events())
        return self._events.pop(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _value: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self.drop()
