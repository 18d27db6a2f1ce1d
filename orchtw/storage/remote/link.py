"""One end of the stream between owner and worker: messages in, messages out, and questions that are answered."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IProtocol
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.errors import ServiceUnavailable
from orchtw.storage.remote import messages
from orchtw.storage.remote.frames import Frames, Malformed, framed
from orchtw.storage.remote.messages import NUMBER, MessageKind

Answer = Callable[[bytes], Awaitable[bytes]]
"""What answers a question."""


class Link(Protocol):
    """`take` gets each message, `lost` is told once why there will be no more."""

    _log = Logger()

    def __init__(self, take: Callable[[int, bytes], None], lost: Callable[[str], None]) -> None:
        self._take = take
        self._lost = lost
        self._frames = Frames()
        self._over = False
        self.heard = False

    def send(self, kind: MessageKind, *parts: bytes) -> None:
        """Send one message; nothing happens once the stream is closed."""
        self.send_frame(framed(kind, *parts))

    def send_frame(self, data: bytes) -> None:
        """Send a message that is made already, for several.

        At once if nothing else waits: in the reactor's next turn there may be milliseconds of work before it.
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
        """Hand on what is complete; what cannot be understood ends the stream."""
        self.heard = True
        try:
            for kind, content in self._frames.feed(data):
                if self._over:
                    return
                self._take(kind, content)
        except Malformed as problem:
            self._end(f"what came is no message: {problem}")
        except Exception:  # noqa: BLE001 - nothing may be left out of what comes after it
            self._log.failure("a message could not be worked on")
            self._end("a message could not be worked on")

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The other side has gone."""
        self._end("the connection was lost")

    def close(self) -> None:
        """End the stream when everything is sent; `lost` is not told."""
        self._over = True
        if self.transport is not None:
            self.transport.loseConnection()

    def abort(self) -> None:
        """End the stream at once; `lost` is not told."""
        self._over = True
        transport: Any = self.transport
        if transport is not None:
            transport.abortConnection()

    def _end(self, why: str) -> None:
        if not self._over:
            self.abort()
            self._lost(why)


class Questions:
    """Questions beside the store's own, both ways; `answer` knows what the other side asks."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._asked = 0
        self._waiting: dict[int, Deferred[bytes]] = {}

    def ask(self, link: Link, question: bytes) -> Deferred[bytes]:
        """Ask the other side. Fails as it does, with ServiceUnavailable when it goes."""
        self._asked += 1
        number = self._asked
        waiting = self._waiting[number] = Deferred(lambda _: self._forget(number))
        link.send(MessageKind.ASK, NUMBER.pack(number), question)
        return waiting

    def _forget(self, number: int) -> None:
        self._waiting.pop(number, None)

    def asked(self, link: Link, content: bytes) -> None:
        """A question has come."""
        number, question = messages.read_numbered(content)

        def failed(failure: Failure) -> None:
            assert failure.value is not None
            link.send(MessageKind.TOLD, NUMBER.pack(number), b"\0", messages.failed(number, failure.value))

        answer = Deferred.fromCoroutine(_awaited(self._answer(question)))
        answer.addCallback(lambda told: link.send(MessageKind.TOLD, NUMBER.pack(number), b"\1", told))
        answer.addErrback(failed)

    def told(self, content: bytes) -> None:
        """An answer has come."""
        number, answer = messages.read_numbered(content)
        waiting = self._waiting.pop(number, None)
        if waiting is None:
            return
        if answer[:1] == b"\1":
            waiting.callback(answer[1:])
        else:
            waiting.errback(messages.read_failed(answer[1:])[1])

    def give_up(self) -> None:
        """Nobody answers any more."""
        waiting, self._waiting = self._waiting, {}
        for each in waiting.values():
            each.errback(ServiceUnavailable("the other process has ended"))


def adopt(reactor: Any, stream: socket.socket, link: IProtocol) -> None:
    """Let `link` speak on a connected stream, which is its own from now on."""
    factory: Any = Factory.forProtocol(lambda: link)
    factory.noisy = False
    stream.setblocking(False)
    with stream:
        reactor.adoptStreamConnection(stream.fileno(), socket.AF_UNIX, factory)


async def _awaited(answer: Awaitable[bytes]) -> bytes:
    return await answer


async def unanswerable(question: bytes) -> bytes:
    """Refuse to answer any question."""
    raise Malformed("no question is known")
