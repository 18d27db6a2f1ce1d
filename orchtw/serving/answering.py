"""Sending of bodies of known length: at once, in pieces, or compressed."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from functools import partial

from orchtw.request import Ending, Request, Response
from orchtw.serving.answers import no_room, size_of, status_response
from orchtw.serving.compression import GZIP_BYTES, GzipBody, accepts_gzip
from orchtw.serving.counted import Counted
from orchtw.serving.edge import Edge
from orchtw.serving.heads import BODILESS
from orchtw.serving.response_bodies import WRITE_BYTES, Body, Joined, Part, PieceBody, framed


class Answering(Counted):
    """Writes bodies; who extends it says how heads and bodies are framed, and what comes after them.

    A long answer to a read is begun only if the budget has room for it; otherwise it is a 429.
    """

    __slots__ = ("_request",)

    def __init__(self, edge: Edge) -> None:
        super().__init__(edge)
        self._request: Request | None = None
        """The request that the app is serving, until its answer is on its way."""

    def _write_body(self, response: Response) -> None:
        body = response.body
        size = size_of(response)
        if size > GZIP_BYTES and self._edge.limits.compress and self._compresses(response):
            self._write_gzip(response, Joined(body))
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
        """A body whose length nobody knows yet."""
        if self._edge.limits.compress and self._compresses(response):
            self._write_gzip(response, parts)
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

    def _write_gzip(self, response: Response, parts: Iterator[Part]) -> None:
        kept, identity = self._edge.compressed, response.identity
        ready = kept.get(identity) if identity is not None else None
        if not self._fits(response.body if ready is None else ready):
            self._tell_end(Ending.NO_ROOM)
            self._write_response(status_response(no_room()))
            return
        response.headers = [*response.headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
        first = self._head(response, None if ready is None else len(ready))
        if ready is not None:
            self._write_pieces(first, ready)
            return
        self._request = None
        self._write_head(first)
        GzipBody(
            self.transport,
            parts,
            self._edge.run_in_thread,
            frame=self._frame,
            done=self._done,
            abort=self.transport.abortConnection,
            hold=self._keep_part,
            keep=partial(kept.put, identity) if identity is not None else None,
            keep_bytes=kept.longest_bytes,
        ).start()

    def _is_head(self) -> bool:
        return self._request is not None and self._request.method == "HEAD"

    def _fits(self, body: Body) -> bool:
        """Report whether there is room for a long response. That of a write, which has happened, is always sent."""
        return self._pin(body) or (self._request is not None and self._request.method != "GET")

    @abc.abstractmethod
    def _head(self, response: Response, length: int | None) -> bytes:
        """The head of an answer whose body has `length` bytes (None: nobody knows)."""

    @abc.abstractmethod
    def _write_head(self, first: bytes) -> None:
        """Write a head; the body follows by the transport."""

    @abc.abstractmethod
    def _write_whole(self, first: bytes, body: bytes | Sequence[bytes], size: int) -> None:
        """Write a head and its whole body of `size` bytes, and be done."""

    @abc.abstractmethod
    def _frame(self, part: bytes) -> bytes:
        """A part of a body of unknown length as the transport is to have it; an empty one is the body's end."""

    @abc.abstractmethod
    def _write_response(self, response: Response) -> None:
        """Write a whole answer."""

    @abc.abstractmethod
    def _tell_end(self, ending: Ending) -> None:
        """Tell the listeners of the answer."""

    @abc.abstractmethod
    def _done(self) -> None:
        """The answer is with the transport."""
