"""Streamed response of an `InProcessServer`, read to its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred

from orchtw.request import Ending, StreamBody
from orchtw.serving.response_bodies import unframed


class Collected:
    """`ResponseChannel` of a finite stream; `whole` fires with its content."""

    def __init__(self, stream: StreamBody) -> None:
        self.whole: Deferred[bytes] = Deferred()
        self._pieces: list[bytes] = []
        stream.start(self)

    def write(self, framed: bytes) -> None:
        """Collect the content of framed chunks."""
        self._pieces.append(unframed(framed))

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Collect the pieces of a chunk."""
        self._pieces += pieces

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Ignore the producer: it is never paused."""

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        """Fire `whole` with the collected content."""
        self.whole.callback(b"".join(self._pieces))

    def abort(self) -> None:
        """Fail `whole` with ConnectionError."""
        self.whole.errback(ConnectionError("the server has dropped the connection"))

    reset = abort
