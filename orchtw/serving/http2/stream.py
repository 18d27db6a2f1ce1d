"""Stream of an HTTP/2 connection: one request and its response."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Protocol

from twisted.internet.error import ConnectionAborted, ConnectionDone
from twisted.internet.interfaces import IPushProducer
from twisted.python.failure import Failure
from zope.interface import implementer

from orchtw.errors import BadRequest, RequestEntityTooLarge, StatusError
from orchtw.request import Ending, Peer, Request, Response, StreamBody
from orchtw.serving.answers import no_room, status_response
from orchtw.serving.edge import Edge
from orchtw.serving.exchange import OF_BODIES, ServerExchange
from orchtw.serving.heads import BODILESS
from orchtw.serving.http2.answer_fields import CONTINUE
from orchtw.serving.http2.limits import FRAME_BYTES, REQUEST_BYTES, STREAM_WINDOW
from orchtw.serving.http2.outlet import Outlet
from orchtw.serving.http2.request_fields import RequestHead
from orchtw.serving.http2.shared import Shared
from orchtw.serving.limits import FREE_BYTES
from orchtw.wire.http2_frames import Code, Flag

_RESET = Failure(ConnectionDone())  # type: ignore[no-untyped-call]
_ABORTED = Failure(ConnectionAborted())  # type: ignore[no-untyped-call]


class StreamConnection(Protocol):
    """Connection, as a stream sees it."""

    peer: Peer
    known: bool  # whether the client has shown who it is
    free_bytes: int  # what its streams hold uncounted, all together
    orphans: int  # requests that the app goes on with after their streams

    def fields(self, stream: int, block: bytes, flags: int) -> None:
        """Send the fields of an answer."""

    def grant(self, stream: int, count: int) -> None:
        """Let the client send so many bytes more of a body."""

    def reset(self, stream: int, code: int) -> None:
        """Give a stream up; it is told that it is gone."""

    def reset_connection(self) -> None:
        """Reset the connection with all of its streams, behind the frames that are gathered."""

    def receiving(self, stream: int, *, begun: bool) -> None:
        """Note that a body is being received, or no longer is."""

    def over(self, stream: int, *, heard: bool, last: bool) -> None:
        """Handle a stream that has sent everything. `heard`: its request is complete as well; after the `last` stream
        of a connection no more are accepted.
        """


class Stream(ServerExchange):
    """Stream that receives a request, passes it to the app and sends the response; `heard`: the client has ended."""

    __slots__ = (
        *("_body", "_connection", "_declared", "_expects", "_free_bytes", "_head_bytes", "_last", "_orphan"),
        *("_shared", "_window", "heard", "number"),
    )

    def __init__(self, edge: Edge, shared: Shared, connection: Any, number: int, window: int) -> None:
        super().__init__(edge)
        self._connection: StreamConnection = connection
        self._shared = shared
        self._known = connection.known
        self.number = number
        self.transport = Outlet(connection, number, window)
        self._body: bytearray | None = None
        """Received part of a body; None: none is kept."""
        self._declared: int | None = None
        self._expects = self._last = self._orphan = self.heard = False
        self._free_bytes = self._head_bytes = 0
        self._window = STREAM_WINDOW

    # The request

    def begin(self, head: RequestHead, *, ended: bool) -> None:
        """Begin with the fields of the request; with `ended` it is complete."""
        self.heard = ended
        if head.refusal is not None:
            self._request = head.request
            self._refuse(head.refusal)
        elif ended:
            self._serve(head.request, head.size if head.size > FREE_BYTES else 0)
        else:
            self._request = head.request
            self._body = bytearray()
            self._declared = head.declared
            self._expects = head.expects
            self._head_bytes = head.size + REQUEST_BYTES
            self._connection.receiving(self.number, begun=True)
            self._receive()

    def body(self, data: bytes, taken: int, *, ended: bool) -> None:
        """Take a part of the body, which uses so many bytes of the stream's window."""
        self._window -= taken
        if self.heard:
            self._connection.reset(self.number, Code.STREAM_CLOSED)
            return
        if self._window < 0:
            self._connection.reset(self.number, Code.FLOW_CONTROL_ERROR)
            return
        self.heard = ended
        body = self._body
        if body is None:
            return
        body += data
        size = len(body)
        declared = size if self._declared is None else self._declared
        if size > declared or (ended and size != declared):
            self._connection.reset(self.number, Code.PROTOCOL_ERROR)
        elif size > self._edge.limits.body_bytes:
            self._refuse(RequestEntityTooLarge.limit(self._edge.limits.body_bytes))
        elif ended:
            self._complete(bytes(body))
        else:
            self._expects = False
            if self._receive() and self._window < STREAM_WINDOW // 2:
                self._connection.grant(self.number, STREAM_WINDOW - self._window)
                self._window = STREAM_WINDOW

    def _complete(self, body: bytes) -> None:
        request, size = self._request, len(body) + self._head_bytes
        assert request is not None
        request.body = body
        self._stop_receiving()
        self._serve(request, size)

    def _stop_receiving(self) -> None:
        if self._body is not None:
            self._body = None
            self._connection.receiving(self.number, begun=False)

    def _receive(self) -> bool:
        """Report whether to receive the rest of a body; if not, the request has been answered."""
        request = self._request
        if not (self._known or self._screened) and request is not None:
            refused = self._screen(copy(request))
            if refused is not None:
                self._stop_receiving()
                self._serve_head(refused)
                return False
        if not self._account():
            self._refuse(no_room())
            return False
        if self._expects:
            self._expects = False
            self._connection.fields(self.number, CONTINUE, 0)
        return True

    def _screen(self, head: Request) -> Any:
        refused = super()._screen(head)
        if self._known:
            self._connection.known = True
        return refused

    def _refuse(self, refusal: StatusError) -> None:
        """Answer without the rest of the body. What is refused for its body passes the app's stages."""
        self._stop_receiving()
        decline, request = self._edge.decline, self._request
        if decline is not None and isinstance(refusal, OF_BODIES) and request is not None:
            self._serve_head(decline(request, refusal))
        else:
            self._count()
            self._write_response(status_response(refusal))

    # What is held

    def _received_bytes(self) -> int:
        if self._body is None:
            return 0
        # Announced bytes count as received: otherwise many uploads would begin and none could end.
        return self._head_bytes + max(len(self._body), self._declared or 0)

    def _to_count(self, size: int) -> int:
        """Return the bytes to count: none while all streams together hold no more than one HTTP/1.1 connection
        may.
        """
        connection = self._connection
        others = connection.free_bytes - self._free_bytes
        self._free_bytes = size if others + size <= FREE_BYTES else 0
        connection.free_bytes = others + self._free_bytes
        return size - self._free_bytes

    def _release(self) -> None:
        if self._free_bytes:
            self._connection.free_bytes -= self._free_bytes
            self._free_bytes = 0
        super()._release()

    def _evicted(self) -> None:
        """Make room for others: refuse an idle upload, drop an unread response."""
        self._holding = None
        if self._body is not None:
            self._refuse(no_room())
        else:
            self._connection.reset(self.number, Code.ENHANCE_YOUR_CALM)

    def recount(self) -> None:
        """Count again: the client may have read some of the unsent bytes."""
        self._recount()

    # The answer

    def _write_response(self, response: Response) -> None:
        if response.upgrade is not None:
            response.drop(Ending.ABORTED)
            response = status_response(BadRequest("an upgrade needs HTTP/1.1"))
        self._take_listeners(response)
        self._last = response.last or self._edge.draining
        if response.stream is not None:
            self._write_stream(response, response.stream)
        elif response.parts is not None:
            self._write_parts(response, response.parts)
        else:
            self._write_body(response)

    def _head(self, response: Response, length: int | None) -> bytes:
        return self._shared.fields.pack(
            response.code,
            response.content_type,
            response.headers,
            self._edge.date_line,
            None if response.code in BODILESS else length,
        )

    def _write_head(self, first: bytes) -> None:
        self._connection.fields(self.number, first, 0)

    def _write_whole(self, first: bytes, body: bytes | Sequence[bytes], size: int) -> None:
        if not size:
            self.transport.end_with_head()
            self._connection.fields(self.number, first, Flag.END_STREAM)
        else:
            self._connection.fields(self.number, first, 0)
            whole = body if isinstance(body, bytes) else b"".join(body)
            if size > FRAME_BYTES or not self.transport.write_last(whole):
                self.transport.write(whole)
        self._done()

    def _frame(self, part: bytes) -> bytes:
        return part

    def _write_stream(self, response: Response, stream: StreamBody) -> None:
        first = self._head(response, None)
        if self._is_head():
            self._tell_lost(stream)
            self._write_whole(first, b"", 0)
            return
        self._write_head(first)
        self._stream_from(response, stream)
        stream.start(EventChannel(self.transport, self._shared, self))

    def _done(self) -> None:
        # The answer is with the transport, which may have to wait with it.
        if self._lost:
            self._uncount()
            return
        self._request = None
        if (self._holding is not None or self.transport.unsent) and not self._answered():
            return
        self.transport.end()

    def sent(self) -> None:
        """Finish the exchange: all of the response is sent."""
        if self._sending is not None:
            self._tell_end(Ending.COMPLETE)
        self._uncount()
        self._release()
        self._connection.over(self.number, heard=self.heard, last=self._last)

    def wind_down(self) -> None:
        """End the stream in order as the server stops; an incomplete request is dropped."""
        stream = self._stream
        if stream is not None:
            self._stream = None
            self.transport.unregisterProducer()
            self._tell_lost(stream)
            self._done()

    def hold_back(self, piece: bytes) -> None:
        """Count an event's bytes that wait, once for all who wait for them; without room the stream ends."""
        if self._lost:
            return
        holding = self._holding or self._new_holding()
        if holding.pin((piece,)):
            holding.move()
        else:
            self.transport.abortConnection()

    def let_go(self) -> None:
        """Release the events that waited: they are sent."""
        if self._holding is not None:
            self._holding.unpin()
            if self._holding.empty:
                self._release()

    @property
    def patient(self) -> bool:
        """Report whether the response is read by people, who may pause."""
        return self._patient

    @property
    def passed_on(self) -> bool:
        """Report whether another server answers the request."""
        return self._request is not None and self._request.passed_on

    def _reset_connection(self) -> None:
        self._connection.reset_connection()

    def left(self) -> None:
        """End the exchange: the client has reset the stream, or is gone."""
        self._end(_RESET)

    def aborted(self) -> None:
        """End the exchange: the server has aborted the stream."""
        self._end(_ABORTED)

    def _end(self, reason: Failure) -> None:
        self._stop_receiving()
        self.transport.lose()
        if self._task is not None:
            self._orphan = True
            self._connection.orphans += 1
        self._lose(reason)

    def _left(self) -> None:
        super()._left()
        if self._orphan:
            self._orphan = False
            self._connection.orphans -= 1


@implementer(IPushProducer)
class EventChannel:
    """A `ResponseChannel` over HTTP/2: HTTP/1's framing is taken off, once for all who are given the same bytes.

    It stands between the stream and its push producer, to count what waits for a window until it is on its way.
    """

    __slots__ = ("_outlet", "_owner", "_producer", "_shared")

    def __init__(self, outlet: Outlet, shared: Shared, owner: Stream) -> None:
        self._outlet = outlet
        self._shared = shared
        self._owner = owner
        self._producer: Any = None

    def write(self, framed: bytes) -> None:
        """Write the contents of the chunks."""
        self._write(self._shared.content_of(framed))

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Write the pieces as they are."""
        for piece in pieces:
            self._write(piece)

    def _write(self, piece: bytes) -> None:
        outlet = self._outlet
        outlet.write(piece)
        if outlet.unsent:
            self._owner.hold_back(piece)

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        """Register a producer under the windows of stream and connection."""
        self._producer = producer
        self._outlet.registerProducer(self, streaming)

    def pauseProducing(self) -> None:
        """Note that data waits for the window."""
        self._producer.pauseProducing()

    def resumeProducing(self) -> None:
        """Resume the producer: nothing waits any more."""
        self._owner.let_go()
        self._producer.resumeProducing()

    def stopProducing(self) -> None:
        """Stop the producer: the stream is gone."""
        self._producer.stopProducing()

    def finish(self, ending: Ending = Ending.COMPLETE) -> None:
        """End the stream; the connection goes on."""
        self._outlet.unregisterProducer()
        self._owner.stream_ended(ending)

    def abort(self) -> None:
        """Reset the stream at once."""
        self._owner.stream_aborted()

    def reset(self) -> None:
        """Reset the connection with its other streams."""
        self._owner.stream_reset()
