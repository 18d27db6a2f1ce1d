"""A watch of an `InProcessServer`: its events one by one, as a client would read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from twisted.internet.defer import DeferredQueue

from orchtw.request import Ending, Response, chunks
from orchtw.serving.response_bodies import unframed

Event = dict[str, Any]

_END = None


class WatchEnded(Exception):
    """The server has ended the watch: its time is over, or the server stops."""


class InProcessWatch:
    """Reads the JSON events of one watch. Neither side waits for the other: events that have not been read are
    kept."""

    def __init__(self, response: Response) -> None:
        """Start the response's stream."""
        assert response.stream is not None
        self._response = response
        self._events: Any = DeferredQueue()
        self._rest = b""
        self._open = True
        response.stream.start(self)

    async def next(self) -> Event:
        """The next event: a dict with `type` and `object`. Raises WatchEnded."""
        event: Event | None = await self._events.get()
        if event is _END:
            self._events.put(_END)
            raise WatchEnded
        return event

    def close(self) -> None:
        """Leave, as a client that hangs up; suitable for addCleanup. Safe to call twice."""
        if self._open:
            self._open = False
            self._response.drop(Ending.CLIENT_GONE)
            self._events.put(_END)

    # The stream's ResponseChannel

    def write(self, framed: bytes) -> None:
        """Take what the server sends."""
        *lines, self._rest = (self._rest + unframed(framed)).split(b"\n")
        for line in lines:
            self._events.put(orjson.loads(line))

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Take one chunk that comes in pieces."""
        self.write(chunks(pieces))

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Never full, so it is never paused."""

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        """The server is done."""
        self._open = False
        self._response.end(ending)
        self._events.put(_END)

    def abort(self) -> None:
        """The server cannot go on."""
        self.finish(Ending.ABORTED)
