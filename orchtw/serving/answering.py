"""How a connection sends bodies of known length: at once, in pieces, or compressed."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from functools import partial

from orchtw.request import Ending, Request, Response
from orchtw.serving.answers import no_room, size_of, status_response
from orchtw.serving.compression import GZIP_BYTES, GzipBody, accepts_gzip
from orchtw.serving.counted import Counted
from orchtw.serving.edge import Edge
from orchtw.serving.heads import BODILESS, head
from orchtw.serving.request_parser import HTTP10, KEEP_ALIVE
from orchtw.serving.response_bodies import WRITE_BYTES, Body, Part, PieceBody, in_chunks, joined

# Bodies up to this are joined with their head into one TLS record; longer ones are sent, and kept, uncopied.
_JOINED_BYTES = 16000


class Answering(Counted):
    """Writes bodies; the channel says what comes before and after.

    A long answer to a read is begun only if the budget has room for it; otherwise it is a 429.
    """

    __slots__ = ("_flags", "_request")

    def __init__(self, edge: Edge) -> None:
        super().__init__(edge)
        self._flags = 0
        """Of the request that is being answered (see `request_parser`)."""
        self._request: Request | None = None
        """The request that the app is serving, until its answer is on its way."""

    def _write_body(self, response: Response, framing: str) -> None:
        body = response.body
        size = size_of(response)
        if size > GZIP_BYTES and self._edge.limits.compress and self._compresses(response):
            self._write_gzip(response, joined(body), framing)
            return
        if size > WRITE_BYTES and not self._is_head() and not self._fits(body):
            self._tell_end(Ending.NO_ROOM)
            self._write_response(status_response(no_room()))
            return
        if response.code not in BODILESS:
            framing += f"Content-Length: {size}\r\n"
        first = head(response.code, response.content_type, response.headers, framing)
        if not size or response.code in BODILESS or self._is_head():
            self.transport.write(first)
            self._done()
        elif size <= _JOINED_BYTES:
            self.transport.write(first + body if isinstance(body, bytes) else b"".join((first, *body)))
            self._done()
        elif size <= WRITE_BYTES:
            self.transport.write(first)
            self.transport.write(body if isinstance(body, bytes) else b"".join(body))
            self._done()
        else:
            self._write_pieces(first, body)

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
        first = head(response.code, response.content_type, response.headers, framing)
        if self._is_head():
            self.transport.write(first)
            self._done()
            return
        self._send_parts(first, parts)

    def _write_pieces(self, first: bytes, body: Body) -> None:
        self._send_parts(first, joined(body), lasts=isinstance(body, bytes | list | tuple))

    def _send_parts(self, first: bytes, parts: Iterator[Part], *, lasts: bool = False) -> None:
        self._request = None
        self.transport.write(first)
        producer = PieceBody(self.transport, parts, self._done, self._keep_part, lasts=lasts)
        self.transport.registerProducer(producer, False)

    def _compresses(self, response: Response) -> bool:
        request = self._request
        return (
            request is not None
            and not self._flags & HTTP10
            and request.method != "HEAD"
            and accepts_gzip(request.headers.get("accept-encoding", ""))
            and not any(name.lower() == "content-encoding" for name, _ in response.headers)
        )

    def _write_gzip(self, response: Response, parts: Iterator[Part], framing: str) -> None:
        framing += "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n"
        kept, identity = self._edge.compressed, response.identity
        ready = kept.get(identity) if identity is not None else None
        if not self._fits(response.body if ready is None else ready):
            self._tell_end(Ending.NO_ROOM)
            self._write_response(status_response(no_room()))
            return
        framing += "Transfer-Encoding: chunked\r\n" if ready is None else f"Content-Length: {len(ready)}\r\n"
        first = head(response.code, response.content_type, response.headers, framing)
        if ready is not None:
            self._write_pieces(first, ready)
            return
        self._request = None
        self.transport.write(first)
        GzipBody(
            self.transport,
            parts,
            self._edge.run_in_thread,
            done=self._done,
            abort=self.transport.abortConnection,
            hold=self._keep_part,
            keep=partial(kept.put, identity) if identity is not None else None,
            keep_bytes=kept.longest_bytes,
        ).start()

    def _is_head(self) -> bool:
        return self._request is not None and self._request.method == "HEAD"

    def _fits(self, body: Body) -> bool:
        """Whether there is room for a long answer. That of a write, which has happened, is sent in any case."""
        return self._pin(body) or (self._request is not None and self._request.method != "GET")

    @abc.abstractmethod
    def _write_response(self, response: Response) -> None:
        """Write a whole answer."""

    @abc.abstractmethod
    def _tell_end(self, ending: Ending) -> None:
        """Tell the listeners of the answer."""

    @abc.abstractmethod
    def _done(self) -> None:
        """The answer is with the transport."""
