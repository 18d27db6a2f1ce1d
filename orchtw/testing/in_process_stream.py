"""An answer of an `InProcessServer` that comes over time, read to its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred

from orchtw.request import Ending, StreamBody
from orchtw.serving.response_bodies import unframed


class Collected:
    """The `ResponseChannel` of a stream that ends by itself; `whole` fires with its contents."""

    def __init__(self, stream: StreamBody) -> None:
        self.whole: Deferred[bytes] = Deferred()
        self._pieces: list[bytes] = []
        stream.start(self)

    def write(self, framed: bytes) -> None:
        """Take what the server sends."""
        self._pieces.append(unframed(framed))

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Take one chunk that comes in pieces."""
        self._pieces += pieces

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Never full, so it is never paused."""

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        """End the stream and deliver its pieces."""
        self.whole.callback(b"".join(self._pieces))

    def abort(self) -> None:
        """The server could not go on: `whole` fails with ConnectionError."""
        self.whole.errback(ConnectionError("the server has dropped the connection"))
