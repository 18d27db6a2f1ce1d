"""State that all HTTP/2 connections of a listener share: settings, the end of a turn, unframed chunks."""

from __future__ import annotations

from typing import Any, Protocol

from twisted.logger import Logger

from orchtw.serving.edge import Edge
from orchtw.serving.http2.answer_fields import AnswerFields
from orchtw.serving.http2.limits import CONNECTION_WINDOW, DEFAULT_WINDOW, FIELDS_BYTES, STREAM_WINDOW
from orchtw.serving.response_bodies import unframed
from orchtw.wire import http2_frames as frames
from orchtw.wire.http2_frames import Setting

_log = Logger()


class Turning(Protocol):
    """Connection with work at the end of a turn."""

    transport: Any

    def turn(self) -> None:
        """Do the work at the end of the turn."""


class Shared:
    """Shared state; each connection has at most `streams`, and `opening` is the server's first bytes."""

    def __init__(self, edge: Edge, streams: int) -> None:
        self.edge = edge
        self.streams = streams
        self.fields = AnswerFields()
        self.opening = frames.settings((
            (Setting.MAX_CONCURRENT_STREAMS, streams),
            (Setting.INITIAL_WINDOW_SIZE, STREAM_WINDOW),
            (Setting.MAX_HEADER_LIST_SIZE, FIELDS_BYTES),
        )) + frames.window_update(0, CONNECTION_WINDOW - DEFAULT_WINDOW)
        self._later: list[Turning] = []
        self._chunk: tuple[bytes, bytes] = b"", b""

    def later(self, connection: Turning) -> None:
        """Have `connection` told at the end of this turn of the reactor: one call for all of them."""
        if not self._later:
            self.edge.call_later(0, self._turn)
        self._later.append(connection)

    def _turn(self) -> None:
        waiting, self._later = self._later, []
        for connection in waiting:
            # One connection's trouble must not stop the others.
            try:
                connection.turn()
            except Exception:
                _log.failure("a connection failed at the end of a turn")
                connection.transport.abortConnection()

    def content_of(self, framed: bytes) -> bytes:
        """Return the content of HTTP chunks: extracted once for streams that send the same."""
        chunk, content = self._chunk
        if chunk is not framed:
            content = unframed(framed)
            self._chunk = framed, content
            # Kept until the end of the turn, no longer: it may be large.
            if not chunk:
                self.edge.call_later(0, self._forget)
        return content

    def _forget(self) -> None:
        self._chunk = b"", b""


