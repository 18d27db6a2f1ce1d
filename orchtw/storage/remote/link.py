"""One end of the stream between owner and worker: messages, and questions with answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.errors import ServiceUnavailable
from orchtw.storage.remote import messages
from orchtw.storage.remote.frames import Frames, Malformed, framed
from orchtw.storage.remote.messages import NUMBER, MessageKind

Answer = Callable[[bytes], Awaitable[bytes]]
"""Answers a question."""


class Link(Protocol):
    """Protocol of the stream; `take` gets each message, `lost` is called once with the reason of its end."""

    _log = Logger()

    def __init__(self, take: Callable[[int, bytes], None], lost: Callable[[str], None]) -> None:
        self._take = take
        self._lost = lost
        self._frames = Frames()
        self._over = False
        self.heard = False

    def send(self, kind: MessageKind, *parts: bytes) -> None:
        """Send one message; does nothing once the stream is closed."""
        self.send_frame(framed(kind, *parts))

    def send_frame(self, data: bytes) -> None:
        """Send a complete message, made once for several links.

        It is sent at once if nothing is queued: the reactor's next turn may begin with milliseconds of other work.
        """
        transport: Any = self.transport
        if transport is None or self._over:
            return
        if not transport.dataBuffer and not transport._tempDataBuffer:
            try:
                sent = transport.socket.send(data)
            except OSError:
                sent = 0  # full, or gone: the reactor finds out which
            if sent == len(data):
                return
            data = data[sent:]
        transport.write(data)

    def dataReceived(self, data: bytes) -> None:
        """Pass complete messages on; a malformed one ends the stream."""
        self.heard = True
        try:
            for kind, content in self._frames.feed(data):
                if self._over:
                    return
                self._take(kind, content)
        except Malformed as problem:
            self._end(f"received a malformed message: {problem}")
        except Exception:  # noqa: BLE001 - nothing may be left out of what comes after it
            self._log.failure("failed to process a message")
            self._end("failed to process a message")

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """End the link: the other side has gone."""
        self._end("the connection was lost")

    def close(self) -> None:
        """Close the stream when everything is sent; `lost` is not called."""
        self._over = True
        if self.transport is not None:
            self.transport.loseConnection()

    def abort(self) -> None:
        """Close the stream at once; `lost` is not called."""
        self._over = True
        transport: Any = self.transport
        if transport is not None:
            transport.abortConnection()

    def _end(self, why: str) -> None:
        if not self._over:
            self.abort()
            self._lost(why)


class Questions:
    """Questions beside the store's own, both ways; `answer` handles those of the other side."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._asked = 0
        self._waiting: dict[int, Deferred[bytes]] = {}

    def ask(self, link: Link, question: bytes) -> Deferred[bytes]:
        """Ask the other side. Raises its error, or ServiceUnavailable when it goes."""
        self._asked += 1
        number = self._asked
        waiting = self._waiting[number] = Deferred(lambda _: self._forget(number))
        link.send(MessageKind.ASK, NUMBER.pack(number), question)
        return waiting

    def _forget(self, number: int) -> None:
        self._waiting.pop(number, None)

    def asked(self, link: Link, content: bytes) -> None:
        """Answer a question of the other side."""
        number, question = messages.read_numbered(content)

        def failed(failure: Failure) -> None:
            assert failure.value is not None
            link.send(MessageKind.TOLD, NUMBER.pack(number), b"\0", messages.failed(number, failure.value))

        answer = Deferred.fromCoroutine(_awaited(self._answer(question)))
        answer.addCallback(lambda told: link.send(MessageKind.TOLD, NUMBER.pack(number), b"\1", told))
        answer.addErrback(failed)

    def told(self, content: bytes) -> None:
        """Handle an answer of the other side."""
        number, answer = messages.read_numbered(content)
        waiting = self._waiting.pop(number, None)
        if waiting is None:
            return
        if answer[:1] == b"\1":
            waiting.callback(answer[1:])
        else:
            waiting.errback(messages.read_failed(answer[1:])[1])

    def give_up(self) -> None:
        """Fail all questions: the other process has ended."""
        waiting, self._waiting = self._waiting, {}
        for each in waiting.values():
            each.errback(ServiceUnavailable("the other process has ended"))


async def _awaited(answer: Awaitable[bytes]) -> bytes:
    return await answer


async def unanswerable(question: bytes) -> bytes:
    """Refuse to answer any question."""
    raise Malformed("unexpected question")
