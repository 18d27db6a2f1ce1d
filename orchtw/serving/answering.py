"""Sending of bodies of known length: at once, in pieces, or compressed."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence

from orchtw.request import Ending, MarkedPieces, Request, Response
from orchtw.serving.answers import no_room, size_of, status_response
from orchtw.serving.compression import GZIP_BYTES, GzipBody, Step, accepts_gzip, marked_steps, plain_steps
from orchtw.serving.counted import Counted
from orchtw.serving.edge import Edge
from orchtw.serving.gzip_cache import GzipCache
from orchtw.serving.heads import BODILESS
from orchtw.serving.response_bodies import WRITE_BYTES, Body, Joined, Part, PieceBody, framed


class Answering(Counted):
    """Writer of bodies; subclasses frame heads and bodies, and handle their end.

    A long answer to a read is begun only if the budget has room for it; otherwise the response is a 429.
    """

    __slots__ = ("_request",)

    def __init__(self, edge: Edge) -> None:
        super().__init__(edge)
        self._request: Request | None = None
        """Request that the app is serving, until its response is with the transport."""

    def _write_body(self, response: Response) -> None:
        body = response.body
        size = size_of(response)
        if size > GZIP_BYTES and self._edge.limits.compress and self._compresses(response):
            if isinstance(body, MarkedPieces) and response.identity is not None:
                self._write_gzip(response, marked_steps(body, response.identity), self._edge.compressed)
            else:
                self._write_gzip(response, plain_steps(Joined(body)))
            return
        if size > WRITE_BYTES and not self._is_head() and not self._fits(body):
            self._tell_end(Ending.NO_ROOM)
            self._write_response(status_response(no_room()))
            return
        first = self._head(response, size)
        if not size or response.code in BODILESS or self._is_head():
            self._write_whole(first, b"", 0)
        elif size <= WRITE_BYTES:
            self._write_whole(first, body, size)
        else:
            self._write_pieces(first, body)

    def _write_parts(self, response: Response, parts: Iterator[bytes]) -> None:
        """Write a body of unknown length."""
        if self._edge.limits.compress and self._compresses(response):
            self._write_gzip(response, plain_steps(parts))
            return
        first = self._head(response, None)
        if self._is_head():
            self._write_whole(first, b"", 0)
            return
        self._send_parts(first, framed(parts, self._frame))

    def _write_pieces(self, first: bytes, body: Body) -> None:
        self._send_parts(first, Joined(body))

    def _send_parts(self, first: bytes, parts: Iterator[Part]) -> None:
        self._request = None
        self._write_head(first)
        producer = PieceBody(self.transport, parts, self._done, self._keep_part)
        self.transport.registerProducer(producer, False)

    def _compresses(self, response: Response) -> bool:
        request = self._request
        return (
            request is not None
            and request.method != "HEAD"
            and accepts_gzip(request.headers.get("accept-encoding", ""))
            and not any(name.lower() == "content-encoding" for name, _ in response.headers)
        )

    def _write_gzip(self, response: Response, steps: Iterator[Step], cache: GzipCache | None = None) -> None:
        if not self._fits(response.body):
            self._tell_end(Ending.NO_ROOM)
            self._write_response(status_response(no_room()))
            return
        response.headers = [*response.headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
        response.lines = ""
        first = self._head(response, None)
        self._request = None
        self._write_head(first)
        GzipBody(
            self.transport,
            steps,
            self._edge.run_in_thread,
            frame=self._frame,
            done=self._done,
            abort=self.transport.abortConnection,
            hold=self._keep_part,
            cache=cache,
        ).start()

    def _is_head(self) -> bool:
        return self._request is not None and self._request.method == "HEAD"

    def _fits(self, body: Body) -> bool:
        """Report whether there is room for a long response. That of a write, which has happened, is always sent."""
        return self._pin(body) or (self._request is not None and self._request.method != "GET")

    @abc.abstractmethod
    def _head(self, response: Response, length: int | None) -> bytes:
        """Return the head of a response whose body has `length` bytes (None: unknown)."""

    @abc.abstractmethod
    def _write_head(self, first: bytes) -> None:
        """Write a head; the body follows by the transport."""

    @abc.abstractmethod
    def _write_whole(self, first: bytes, body: bytes | Sequence[bytes], size: int) -> None:
        """Write a head and its whole body of `size` bytes, and be done."""

    @abc.abstractmethod
    def _frame(self, part: bytes) -> bytes:
        """Return a framed part of a body of unknown length; an empty one ends the body."""

    @abc.abstractmethod
    def _write_response(self, response: Response) -> None:
        """Write a whole answer."""

    @abc.abstractmethod
    def _tell_end(self, ending: Ending) -> None:
        """Tell the listeners of the answer."""

    @abc.abstractmethod
    def _done(self) -> None:
        """Handle the end of a response, which is with the transport."""
