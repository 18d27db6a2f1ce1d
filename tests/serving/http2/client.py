"""An HTTP/2 client on a socket, which blocks: for threads beside the reactor, and other processes."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from typing import Any

import h2.config
import h2.connection
import h2.events


class BlockingClient:
    """Requests over one connection; `heads`, `bodies` and `ended` are what has come of each by its stream."""

    def __init__(self, connected: ssl.SSLSocket) -> None:
        self.socket = connected
        self.heads: dict[int, dict[str, str]] = {}
        self.bodies: dict[int, bytes] = {}
        self.ended: set[int] = set()
        self.gone = False
        self._next = 1
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        self._h2.initiate_connection()
        self._send()

    def ask(self, method: str, path: str, *more: tuple[str, str], body: bytes = b"") -> int:
        """Begin a request; returns its stream."""
        number, self._next = self._next, self._next + 2
        head: Sequence[tuple[str, str]] = [
            (":method", method), (":scheme", "https"), (":authority", "localhost"), (":path", path), *more
        ]
        self._h2.send_headers(number, head, end_stream=not body)
        if body:
            self._h2.send_data(number, body, end_stream=True)
        self._send()
        return number

    def until(self, done: Any) -> None:
        """Receive until `done()`; raises EOFError if the server closes before that."""
        while not done():
            data = self.socket.recv(65536)
            if not data:
                raise EOFError
            for event in self._h2.receive_data(data):
                self._event(event)
            self._send()

    def get(self, path: str, *more: tuple[str, str]) -> tuple[int, bytes]:
        """Code and body of an answer."""
        return self.answer(self.ask("GET", path, *more))

    def answer(self, number: int) -> tuple[int, bytes]:
        """Return the response to a request, once it is complete."""
        self.until(lambda: number in self.ended)
        return int(self.heads[number][":status"]), self.bodies.get(number, b"")

    def _event(self, event: Any) -> None:
        if isinstance(event, h2.events.ResponseReceived):
            self.heads[event.stream_id] = {str(name): str(value) for name, value in event.headers}
        elif isinstance(event, h2.events.DataReceived):
            self.bodies[event.stream_id] = self.bodies.get(event.stream_id, b"") + event.data
            if event.flow_controlled_length:
                self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded | h2.events.StreamReset):
            self.ended.add(event.stream_id)
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.gone = True

    def _send(self) -> None:
        data = self._h2.data_to_send()
        if data:
            self.socket.sendall(data)
