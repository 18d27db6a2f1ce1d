"""App as a twisted.web resource, to be mounted in another site.

The site does the HTTP: its limits, its chunks and its TLS apply. Upgrades need our own listener.
"""

# mypy: allow-untyped-calls
# twisted.web's Resource is not annotated.

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET
from zope.interface import implementer

from orchtw.errors import InternalError, NotFound, RequestEntityTooLarge, StatusError
from orchtw.request import Ending, Peer, Request, Response, StreamBody
from orchtw.serving.answers import status_response
from orchtw.serving.edge import App
from orchtw.serving.limits import BODY_BYTES
from orchtw.serving.request_parser import check_headers, check_target, split_target
from orchtw.serving.reset import ConnectionReset
from orchtw.serving.response_bodies import Joined, Part, unframed

_log = Logger()


def unverified_peer(web: Any) -> Peer:
    """Return the address of a site's client. Its certificate is up to the site, so there is none to trust."""
    address = web.getClientAddress()
    return Peer(address=getattr(address, "host", ""), port=getattr(address, "port", 0))


class AppResource(Resource):
    """Resource for every path below its mount point; the app sees the whole path.

    `peer_of` returns the client's identity: a site that verifies client certificates passes its own.
    """

    isLeaf = True

    def __init__(self, app: App, peer_of: Callable[[Any], Peer] = unverified_peer) -> None:
        super().__init__()
        self._app = app
        self._peer_of = peer_of

    def render(self, request: Any) -> int:
        """Hand the request to the app, and its response to the site."""
        _Exchange(request, self._app, self._peer_of(request)).start()
        return NOT_DONE_YET


class _Exchange:
    def __init__(self, web: Any, app: App, peer: Peer) -> None:
        self._web = web
        self._app = app
        self._peer = peer
        self._gone = False
        self._stream: StreamBody | None = None
        self._sending: Response | None = None
        self._request: Request | None = None
        self._task: Deferred[Response] | None = None

    def start(self) -> None:
        self._web.notifyFinish().addCallbacks(lambda _: self._ended(Ending.COMPLETE), self._left)
        self._task = Deferred.fromCoroutine(self._serve())
        self._task.addCallbacks(self._answer, self._failed)

    async def _serve(self) -> Response:
        body = self._web.content.read(BODY_BYTES + 1)
        if len(body) > BODY_BYTES:
            raise RequestEntityTooLarge.limit(BODY_BYTES)
        refusal = check_target(self._web.uri)
        if refusal is not None:
            raise refusal
        path, query = split_target(self._web.uri.decode("latin-1"))
        lines = {
            name.decode("latin-1").lower(): [value.decode("latin-1") for value in values]
            for name, values in self._web.requestHeaders.getAllRawHeaders()
        }
        headers = {name: ", ".join(values) for name, values in lines.items()}
        refusal = check_headers(headers)
        if refusal is not None:
            raise refusal
        method = self._web.method.decode("latin-1")
        self._request = Request(
            method=method, path=path, query=query, headers=headers, repeated=lines, body=body, peer=self._peer
        )
        return await self._app(self._request)

    def _left(self, _reason: Failure) -> None:
        # A read is cancelled; a write runs to its end.
        self._gone = True
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.connection_lost()
        elif self._task is not None and self._request is not None:
            self._request.left()
            if self._request.ends_with_client:
                self._task.cancel()
        self._ended(Ending.CLIENT_GONE)

    def _ended(self, ending: Ending) -> None:
        response, self._sending = self._sending, None
        if response is not None:
            response.end(ending)

    def _failed(self, failure: Failure) -> None:
        error = failure.value
        if isinstance(error, StatusError):
            self._answer(status_response(error))
        elif isinstance(error, ConnectionReset):
            self.reset()
        elif not (self._gone and failure.check(CancelledError)):
            _log.failure("the app failed", failure=failure)
            self._answer(status_response(InternalError.of("unexpected failure")))

    def _answer(self, response: Response) -> None:
        if self._gone:
            response.drop(Ending.CLIENT_GONE)
            return
        if response.upgrade is not None:
            response.drop(Ending.ABORTED)
            response = status_response(NotFound.generic())
        self._sending = response
        web = self._web
        web.setResponseCode(response.code)
        web.responseHeaders.removeHeader(b"content-type")
        if response.content_type:
            web.setHeader(b"content-type", response.content_type.encode("latin-1"))
        if response.last:
            web.setHeader(b"connection", b"close")
        for name, value in response.headers:
            web.responseHeaders.addRawHeader(name.encode("latin-1"), value.encode("latin-1"))
        if response.stream is not None:
            self._begin_stream(response.stream)
            return
        parts: Iterator[Part] | None = response.parts
        if parts is None:
            body = response.body
            size = len(body) if isinstance(body, bytes) else sum(map(len, body))
            web.setHeader(b"content-length", b"%d" % size)
            parts = Joined(body)
        if web.method == b"HEAD":
            web.finish()
        else:
            _PushedBody(web, parts).start()

    def _begin_stream(self, stream: StreamBody) -> None:
        # An empty write sends the head.
        self._web.write(b"")
        if self._web.method == b"HEAD":
            stream.connection_lost()
            self._web.finish()
            return
        self._stream = stream
        stream.start(self)

    # ResponseChannel

    def write(self, framed: bytes) -> None:
        """Write the contents of chunks: the site frames them itself."""
        self._web.write(unframed(framed))

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Write the contents of one chunk."""
        for piece in pieces:
            self._web.write(piece)

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Register a producer with the site's transport."""
        self._web.registerProducer(producer, streaming)

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        """End the body of the response."""
        self._ended(ending)
        if self._stream is not None:
            self._stream = None
            self._web.unregisterProducer()
        if not self._gone:
            self._web.finish()

    def abort(self) -> None:
        """Drop the connection at once."""
        self._stream = None
        self._ended(Ending.ABORTED)
        self._web.loseConnection()

    def reset(self) -> None:
        """Reset the connection, or the stream of one that carries several."""
        self._stream = None
        self._ended(Ending.ABORTED)
        if not self._gone:
            self._web.transport.abortConnection()


@implementer(IPushProducer)
class _PushedBody:
    """Producer of a body of known length, paused by the site's transport."""

    def __init__(self, web: Any, parts: Iterator[Part]) -> None:
        self._web = web
        self._parts = parts
        self._paused = False

    def start(self) -> None:
        self._web.registerProducer(self, True)
        self.resumeProducing()

    def resumeProducing(self) -> None:
        self._paused = False
        while not self._paused:
            part = next(self._parts, None)
            if part is None:
                self._paused = True
                self._web.unregisterProducer()
                self._web.finish()
            else:
                self._web.write(bytes(part))

    def pauseProducing(self) -> None:
        self._paused = True

    def stopProducing(self) -> None:
        self._paused = True
        self._parts = iter(())
