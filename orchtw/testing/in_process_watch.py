"""Watch of an `InProcessServer`: its events one by one, as a client would read them."""

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
    """Error: the watch has ended, by its timeout, a server shutdown or `close`."""


class InProcessWatch:
    """Reader of the JSON events of one watch. Unread events are buffered without limit."""

    def __init__(self, response: Response) -> None:
        """Start the response's stream."""
        assert response.stream is not None
        self._response = response
        self._events: Any = DeferredQueue()
        self._rest = b""
        self._open = True
        response.stream.start(self)

    async def next(self) -> Event:
        """Return the next event: a dict with `type` and `object`. Raises WatchEnded."""
        event: Event | None = await self._events.get()
        if event is _END:
            self._events.put(_END)
            raise WatchEnded
        return event

    def close(self) -> None:
        """Disconnect, as a client would; suitable for addCleanup. Safe to call twice."""
        if self._open:
            self._open = False
            self._response.drop(Ending.CLIENT_GONE)
            self._events.put(_END)

    # ResponseChannel

    def write(self, framed: bytes) -> None:
        """Queue the events in framed chunks."""
        *lines, self._rest = (self._rest + unframed(framed)).split(b"\n")
        for line in lines:
            self._events.put(orjson.loads(line))

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Queue the events in the pieces of a chunk."""
        self.write(chunks(pieces))

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Ignore the producer: it is never paused."""

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        """End the watch: `next` raises WatchEnded after the buffered events."""
        self._open = False
        self._response.end(ending)
        self._events.put(_END)

    def abort(self) -> None:
        """End the watch as aborted by the server."""
        self.finish(Ending.ABORTED)

    reset = abort
