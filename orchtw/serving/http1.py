"""The HTTP/1.1 channel: one connection's requests to the app, one at a time, and its responses back in order."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from functools import partial
from typing import Any

import orjson
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IHandshakeListener
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from orchtw.errors import InternalError, StatusError
from orchtw.request import Request, Response, StreamBody
from orchtw.serving.bodies import WRITE_BYTES, PieceBody, PlainStreamChannel, StreamChannel, in_chunks, joined
from orchtw.serving.compression import GZIP_BYTES, GzipBody, accepts_gzip
from orchtw.serving.edge import Edge
from orchtw.serving.heads import BODILESS, CONTINUE, head
from orchtw.serving.messages import HTTP10, KEEP_ALIVE, RequestParser

# The phases of a connection; from BUSY on, received bytes are not parsed.
HANDSHAKE, IDLE, RECEIVING, BUSY, CLOSING = range(5)

# Bytes of later requests that are kept while one is being served; beyond that the socket is not read.
HELD_BYTES = 65536
# The next pipelined request has to wait while more than this of earlier answers is unsent.
UNSENT_BYTES = 65536
# The parser gets at most this at a time: it makes a request of every 20 bytes, if a hostile client so wishes.
_FEED_BYTES = 16384

_log = Logger()


@implementer(IHandshakeListener)
class HTTPChannel(Protocol):
    """A connection. Its transport has, beside Twisted's methods, `peer()`, `unsent`, `waiting` and
    `progress` (see `TLSServer`).

    A read whose client leaves is cancelled; a write runs to its end.
    """

    # Defaults live on the class: an idle connection pays only for what differs.
    transport: Any
    _phase = HANDSHAKE
    _flags = 0
    _lost = _advancing = _counted = _reading_paused = False
    _held: bytearray | None = None
    _request: Request | None = None
    _task: Coroutine[Any, Any, Response] | None = None
    _waiting: Deferred[Any] | None = None
    _stream: StreamBody | None = None
    _progress = -1
    _stalled_since = 0.0

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._since = edge.now
        self._parser = RequestParser(edge.limits)

    # Connection

    def connectionMade(self) -> None:
        """Accepted; the handshake follows."""
        self._edge.channels.add(self)

    def handshakeCompleted(self) -> None:
        """The peer is known: requests may come."""
        self._parser.peer = self.transport.peer()
        self._phase = IDLE
        self._since = self._edge.now

    def dataReceived(self, data: bytes) -> None:
        """Parse and serve, or keep for later."""
        if self._phase >= BUSY:
            self._hold(data)
        elif len(data) <= _FEED_BYTES:
            self._feed(data)
            self._advance()
        else:
            self._held = bytearray(data)
            self._advance()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The client is gone: cancel its read, tell its stream, let go."""
        self._lost = True
        self._phase = CLOSING
        self._held = None
        self._edge.channels.discard(self)
        self._parser.close()
        stream, self._stream = self._stream, None
        if stream is not None:
            self._tell_lost(stream)
        if self._task is None:
            self._uncount()
        elif self._waiting is not None and self._request is not None and self._request.method in ("GET", "HEAD"):
            self._waiting.cancel()

    def _hold(self, data: bytes) -> None:
        if self._phase == CLOSING:
            return
        if self._held is None:
            self._held = bytearray()
        self._held += data
        if not self._reading_paused and len(self._held) > HELD_BYTES:
            self._reading_paused = True
            self.transport.pauseProducing()

    def _feed(self, data: bytes) -> None:
        rest = self._parser.feed(data)
        if rest:
            self._held = bytearray(rest) + (self._held or b"")

    def _advance(self) -> None:
        # A loop, not recursion: answers that are ready at once may be many in one read.
        if self._advancing:
            return
        self._advancing = True
        parser = self._parser
        try:
            while self._phase < BUSY:
                if parser.ready:
                    self._begin(*parser.ready.pop(0))
                elif self._held and parser.refusal is None:
                    data = bytes(self._held[:_FEED_BYTES])
                    del self._held[:_FEED_BYTES]
                    self._feed(data)
                else:
                    self._rest(parser)
                    break
        finally:
            self._advancing = False

    def _rest(self, parser: RequestParser) -> None:
        self._held = None
        if parser.refusal is not None:
            self._flags = 0
            self._phase = BUSY
            self._write_response(_status(parser.refusal))
            return
        if parser.mid:
            if self._phase != RECEIVING:
                self._since = self._edge.now
            self._phase = RECEIVING
            if parser.expects_continue:
                parser.expects_continue = False
                self.transport.write(CONTINUE)
        else:
            self._phase = IDLE
            self._since = self._edge.now
        if self._reading_paused:
            self._reading_paused = False
            self.transport.resumeProducing()

    # The app's coroutine

    def _begin(self, request: Request, flags: int) -> None:
        self._phase = BUSY
        self._flags = flags
        self._request = request
        self._counted = True
        self._edge.in_flight += 1
        self._task = self._edge.app(request)
        self._step()

    def _step(self, failure: Failure | None = None) -> None:
        # Most reads end in the first send: no Deferred is made for them.
        task: Any = self._task
        try:
            waiting = task.send(None) if failure is None else _throw(task, failure)
            self._waiting = waiting
            waiting.addBoth(self._resume)
        except StopIteration as done:
            self._task = None
            self._answer(done.value)
        except StatusError as refusal:
            self._task = None
            self._answer(_status(refusal))
        except Exception:
            self._task = None
            self._failed()

    def _resume(self, result: object) -> None:
        # The awaited Deferred itself hands a good result to the coroutine; a failure must be thrown into it.
        self._waiting = None
        self._step(result if isinstance(result, Failure) else None)

    def _failed(self) -> None:
        if self._lost:
            self._uncount()
            return
        _log.failure("the app failed")
        self._flags &= ~KEEP_ALIVE
        self._write_response(_status(InternalError.of("unexpected failure")))

    # The response

    def _answer(self, response: Response) -> None:
        if self._lost:
            if response.stream is not None:
                self._tell_lost(response.stream)
            self._uncount()
            return
        try:
            self._write_response(response)
        except Exception:
            _log.failure("a response could not be written")
            self.transport.abortConnection()

    def _write_response(self, response: Response) -> None:
        if response.upgrade is not None:
            self._write_upgrade(response)
            return
        framing = self._edge.date_line
        if not self._flags & KEEP_ALIVE or self._edge.draining:
            self._flags &= ~KEEP_ALIVE
            framing += "Connection: close\r\n"
        elif self._flags & HTTP10:
            framing += "Connection: keep-alive\r\n"
        if response.stream is not None:
            self._write_stream(response, response.stream, framing)
        elif response.parts is not None:
            self._write_parts(response, response.parts, framing)
        else:
            self._write_body(response, framing)

    def _write_body(self, response: Response, framing: str) -> None:
        body = response.body
        size = _size(response)
        if size > GZIP_BYTES and self._edge.limits.compress and self._compresses(response):
            self._write_gzip(response, joined(body), framing)
            return
        if response.code not in BODILESS:
            framing += f"Content-Length: {size}\r\n"
        first = head(response.code, response.content_type, response.headers, framing)
        if not size or response.code in BODILESS or self._is_head():
            self.transport.write(first)
            self._done()
        elif size <= WRITE_BYTES:
            self.transport.write(first + body if isinstance(body, bytes) else b"".join((first, *body)))
            self._done()
        else:
            self.transport.write(first)
            self.transport.registerProducer(PieceBody(self.transport, joined(body), self._done), False)

    def _write_parts(self, response: Response, parts: Iterator[bytes], framing: str) -> None:
        """A body whose length nobody knows yet: in chunks, or up to the end of the connection."""
        if self._edge.limits.compress and self._compresses(response):
            self._write_gzip(response, parts, framing)
            return
        if self._flags & HTTP10:
            self._flags &= ~KEEP_ALIVE
            framing = self._edge.date_line + "Connection: close\r\n"
        else:
            framing += "Transfer-Encoding: chunked\r\n"
            parts = in_chunks(parts)
        self.transport.write(head(response.code, response.content_type, response.headers, framing))
        if self._is_head():
            self._done()
            return
        self.transport.registerProducer(PieceBody(self.transport, parts, self._done), False)

    def _compresses(self, response: Response) -> bool:
        request = self._request
        return (
            request is not None
            and not self._flags & HTTP10
            and request.method != "HEAD"
            and accepts_gzip(request.headers.get("accept-encoding", ""))
            and not any(name.lower() == "content-encoding" for name, _ in response.headers)
        )

    def _write_gzip(self, response: Response, parts: Iterator[bytes], framing: str) -> None:
        framing += "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n"
        kept, identity = self._edge.compressed, response.identity
        ready = kept.get(identity) if identity is not None else None
        if ready is not None:
            framing += f"Content-Length: {len(ready)}\r\n"
            self.transport.write(head(response.code, response.content_type, response.headers, framing))
            self.transport.registerProducer(PieceBody(self.transport, joined(ready), self._done), False)
            return
        framing += "Transfer-Encoding: chunked\r\n"
        self.transport.write(head(response.code, response.content_type, response.headers, framing))
        keep = partial(kept.put, identity) if identity is not None else None
        abort = self.transport.abortConnection
        GzipBody(self.transport, parts, self._edge.run_in_thread, self._done, abort, keep).start()

    def _write_stream(self, response: Response, stream: StreamBody, framing: str) -> None:
        plain = bool(self._flags & HTTP10)
        if plain:
            if self._flags & KEEP_ALIVE:
                framing = self._edge.date_line + "Connection: close\r\n"
            self._flags &= ~KEEP_ALIVE
        else:
            framing += "Transfer-Encoding: chunked\r\n"
        self.transport.write(head(response.code, response.content_type, response.headers, framing))
        if self._is_head():
            self._tell_lost(stream)
            self._done()
            return
        self._request = None
        self._stream = stream
        self._parser.sleep()
        channel = PlainStreamChannel if plain else StreamChannel
        stream.start(channel(self.transport, self._finished, self._aborted))

    def _write_upgrade(self, response: Response) -> None:
        # From here on the connection is another protocol's; its limits are too.
        assert response.upgrade is not None
        headers = response.headers
        if not any(name.lower() == "connection" for name, _ in headers):
            headers = [*headers, ("Connection", "Upgrade")]
        self.transport.write(head(response.code, response.content_type, headers, self._edge.date_line))
        rest = bytes(self._held or b"")
        self._held = None
        self._phase = CLOSING
        self._edge.channels.discard(self)
        self._uncount()
        response.upgrade(self.transport, rest)
        if self._reading_paused:
            self.transport.resumeProducing()

    def _is_head(self) -> bool:
        return self._request is not None and self._request.method == "HEAD"

    def _finished(self) -> None:
        self._stream = None
        self._done()

    def _aborted(self) -> None:
        self._stream = None
        self.transport.abortConnection()

    def _done(self) -> None:
        # The answer is with the transport. One that is still mostly unsent holds back the next request.
        if self._lost:
            self._uncount()
            return
        if self._flags & KEEP_ALIVE and self.transport.unsent > UNSENT_BYTES:
            self.transport.registerProducer(PieceBody(self.transport, iter(()), self._next), False)
            return
        self._next()

    def _next(self) -> None:
        self._request = None
        self._uncount()
        if not self._flags & KEEP_ALIVE or self._edge.draining:
            self._close()
            return
        self._phase = IDLE
        self._advance()

    def _close(self) -> None:
        self._phase = CLOSING
        self._held = None
        self.transport.loseConnection()

    def _uncount(self) -> None:
        if self._counted:
            self._counted = False
            self._edge.finished()

    def _tell_lost(self, stream: StreamBody) -> None:
        try:
            stream.connection_lost()
        except Exception:
            _log.failure("a stream failed when its client had left")

    # Time and shutdown

    def expire(self, now: float) -> None:
        """Close if a limit has passed; while bytes of ours are unsent, only the write stall counts (PITFALLS 8)."""
        transport, limits = self.transport, self._edge.limits
        if transport.waiting and self._phase != HANDSHAKE:
            if transport.progress != self._progress:
                self._progress, self._stalled_since = transport.progress, now
            elif now - self._stalled_since > limits.write_stall_s:
                transport.abortConnection()
            self._since = now
            return
        self._progress = -1
        age = now - self._since
        if self._phase == IDLE:
            if age > limits.idle_s:
                self._close()
        elif self._phase == RECEIVING:
            if age > limits.arrival_s:
                self._close()
        elif self._phase == HANDSHAKE and age > limits.handshake_s:
            transport.abortConnection()

    def wind_down(self) -> None:
        """Close if idle; end a stream in order; a running request is answered with `Connection: close`."""
        stream, self._stream = self._stream, None
        if stream is not None:
            self.transport.unregisterProducer()
            if not self._flags & HTTP10:
                self.transport.write(b"0\r\n\r\n")
            self._tell_lost(stream)
            self._done()
        elif self._phase == IDLE:
            self._close()
        elif self._phase == HANDSHAKE:
            self.transport.abortConnection()


def _throw(task: Any, failure: Any) -> Any:
    return failure.throwExceptionIntoGenerator(task)


def _status(error: StatusError) -> Response:
    headers = [("Retry-After", str(error.retry_after_s))] if error.retry_after_s else []
    return Response(
        code=error.code, content_type="application/json", body=orjson.dumps(error.to_status()), headers=headers
    )


def _size(response: Response) -> int:
    """The body's length in bytes, without asking for the pieces of a sequence that knows it."""
    if response.length is not None:
        return response.length
    body = response.body
    return len(body) if isinstance(body, bytes) else sum(map(len, body))
