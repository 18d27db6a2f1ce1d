"""Texts as bodies of responses: made as the client reads them, one part ahead at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.logger import Logger
from zope.interface import implementer

from orchtw.errors import StatusError
from orchtw.history.rendering import error_line
from orchtw.request import ResponseChannel, chunk
from orchtw.responses.slices import turn
from orchtw.watch.turns import ReactorTurns


class TextParts(Protocol):
    """Source of a text that is made part by part."""

    async def next(self) -> bytes:
        """Return the next part, waiting for it if need be; empty at the end. Raises StatusError."""


@implementer(IPushProducer)
class TextStream:
    """Body made of `parts`, one in each of `turns`.

    An error ends it with a line that says so if they are `lines`; else the connection is dropped, so that the client
    notices. `ended` is called once, when nothing is read from `parts` any more.
    """

    _log = Logger()

    def __init__(self, parts: TextParts, turns: ReactorTurns, ended: Callable[[], None], *, lines: bool) -> None:
        self._parts = parts
        self._lines = lines
        self._turns = turns
        self._tell_ended: Callable[[], None] | None = ended
        self._channel: ResponseChannel
        self._working: Deferred[None] | None = None
        self._paused = False

    def start(self, channel: ResponseChannel) -> None:
        """Register the producer and begin: the response's head has been sent."""
        self._channel = channel
        channel.registerProducer(self, True)
        self.resumeProducing()

    def resumeProducing(self) -> None:
        """Continue, unless a part is being made already: the transport has drained."""
        self._paused = False
        if self._working is None and self._tell_ended is not None:
            self._working = working = Deferred.fromCoroutine(self._go_on())
            working.addBoth(self._rest)

    def pauseProducing(self) -> None:
        """Pause: the transport is full. The position in the record waits."""
        self._paused = True

    def stopProducing(self) -> None:
        """Stop, and drop the part being made: the connection is gone."""
        self._end()
        if self._working is not None:
            self._working.cancel()

    connection_lost = stopProducing

    def _rest(self, result: object) -> None:
        self._working = None

    async def _go_on(self) -> None:
        try:
            while not self._paused and self._tell_ended is not None:
                part = await self._parts.next()
                if self._tell_ended is None:
                    return
                if not part:
                    self._finish()
                    return
                self._channel.write(chunk(part))
                await turn(self._turns)
        except CancelledError:
            raise
        except StatusError as error:
            if not self._lines:
                self._abort()
                return
            self._channel.write(chunk(error_line(error)))
            self._finish()
        except Exception:  # noqa: BLE001 - any other error ends only this response
            self._log.failure("failed to produce the rest of the history")
            self._abort()

    def _abort(self) -> None:
        self._end()
        self._channel.abort()

    def _finish(self) -> None:
        self._end()
        self._channel.finish()

    def _end(self) -> None:
        tell, self._tell_ended = self._tell_ended, None
        if tell is not None:
            tell()
