"""One request at the app and its response: the app's coroutine, its listeners, and its accounting."""

from __future__ import annotations

import abc
from collections.abc import Callable, Coroutine, Sequence
from copy import copy
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.errors import InternalError, RequestEntityTooLarge, StatusError, TooManyRequests
from orchtw.request import Ending, Request, Response, StreamBody, tell
from orchtw.serving.answering import Answering
from orchtw.serving.answers import ending_of, no_room, status_response
from orchtw.serving.edge import Edge
from orchtw.serving.limits import FREE_BYTES
from orchtw.serving.reset import ConnectionReset

# Refusals of a request for its body: the reference server's handlers find out themselves, when they read it.
OF_BODIES = (RequestEntityTooLarge, TooManyRequests)

_log = Logger()


class ServerExchange(Answering):
    """Exchange of a request at the app, which notifies the response's listeners when it has been sent.

    A read whose client leaves is cancelled, and so is a forwarded request; a write runs to its end.
    """

    __slots__ = ("_counted", "_lost", "_patient", "_screened", "_sending", "_streaming", "_waiting")

    def __init__(self, edge: Edge) -> None:
        super().__init__(edge)
        self._counted = self._lost = self._patient = self._screened = self._streaming = False
        self._sending: Sequence[Callable[[Ending], None]] | None = None
        """Listeners to the end of the response being sent."""
        self._waiting: Deferred[Any] | None = None

    # The app's coroutine

    def _serve(self, request: Request, size: int) -> None:
        """Have the app answer a complete request that takes `size` bytes of memory."""
        # 1. The count comes first: the shutdown waits for every request that it includes.
        self._request = request
        self._count()
        # 2. Memory before the app: a request for which there is no room is answered here.
        if (size > FREE_BYTES or self._holding is not None) and not self._admit(request, size):
            return
        # 3. The next request of the connection is screened anew.
        self._screened = False
        # 4. An answer made at once needs no coroutine; else the app's runs until it first waits (`_step`).
        edge = self._edge
        response = None if edge.at_once is None else edge.at_once(request)
        if response is not None:
            self._answer_at_once(response)
            return
        self._task = edge.app(request)
        self._step()

    def _serve_head(self, answer: Coroutine[Any, Any, Response]) -> None:
        """Have a request answered whose body is not received."""
        self._count()
        self._task = answer
        self._step()

    def _count(self) -> None:
        self._counted = True
        self._edge.in_flight += 1

    def _admit(self, request: Request, size: int) -> bool:
        """Count a request of more than a few bytes while it is served; without room for it, it is answered."""
        if size > FREE_BYTES and not (self._known or self._screened):
            refused = self._screen(copy(request))
            if refused is not None:
                self._task = refused
                self._step()
                return False
        self._serving_bytes = size if size > FREE_BYTES else 0
        if self._account():
            if self._holding is not None:
                self._holding.settle()
            return True
        self._serving_bytes = 0
        decline = self._edge.decline
        if decline is None:
            self._write_response(status_response(no_room()))
        else:
            request.body = b""
            self._task = decline(request, no_room())
            self._step()
        return False

    def _screen(self, head: Request) -> Coroutine[Any, Any, Response] | None:
        """Find out whether the user is known; what answers a request that is refused without its body."""
        self._screened = True
        screen = self._edge.screen
        verdict = screen(head) if screen is not None else False
        if not isinstance(verdict, bool):
            return verdict
        if verdict:
            self._known = True
            self._release()
        return None

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
            self._answer(status_response(refusal))
        except ConnectionReset:
            self._task = None
            if self._lost:
                self._left()
            else:
                self._reset_connection()
        except Exception:
            self._task = None
            self._failed()

    def _resume(self, result: object) -> None:
        # The awaited Deferred itself hands a good result to the coroutine; a failure must be thrown into it.
        self._waiting = None
        self._step(result if isinstance(result, Failure) else None)

    def _failed(self) -> None:
        if self._lost:
            self._left()
            return
        _log.failure("the app failed")
        response = status_response(InternalError.of("unexpected failure"))
        response.last = True
        self._write_response(response)

    def _answer_at_once(self, response: Response) -> None:
        """Write an answer that the app has made without waiting; subclasses know shorter ways for short ones."""
        self._answer(response)

    def _answer(self, response: Response) -> None:
        # 5. A client that left meanwhile gets nothing, but the answer's listeners hear of it before the release.
        if self._lost:
            response.drop(Ending.CLIENT_GONE)
            self._left()
            return
        # 6. The head and a whole body are written now; a stream takes over the exchange (`_stream_from`).
        try:
            self._write_response(response)
        except Exception:
            _log.failure("a response could not be written")
            self.transport.abortConnection()

    # The end

    def _lose(self, reason: Failure) -> None:
        """Cancel the read of a client that is gone, notify its stream, and release both."""
        # 1. The mark first: whatever the calls below do, nothing is written any more.
        self._lost = True
        self._part_bytes = 0
        # 2. The stream stops producing before the answer's listeners (audit, metrics) hear of its end.
        stream, self._stream = self._stream, None
        if stream is not None:
            self._tell_lost(stream)
        if self._sending is not None:
            self._tell_end(ending_of(reason))
        # 3. A read is cancelled; a write runs to its end, and lets go of the request there (`_answer`).
        if self._task is None:
            self._left()
        elif self._request is not None:
            self._request.left()
            if self._waiting is not None and self._request.ends_with_client:
                self._waiting.cancel()

    def _left(self) -> None:
        """Release the exchange: the client is gone, and the app has finished."""
        self._uncount()
        self._release()

    def _uncount(self) -> None:
        if self._counted:
            self._counted = False
            if self._streaming:
                self._streaming = False
                self._edge.stream_finished()
            else:
                self._edge.finished()

    def _tell_end(self, ending: Ending) -> None:
        listeners, self._sending = self._sending, None
        if listeners is not None:
            tell(listeners, ending)

    def _tell_lost(self, stream: StreamBody) -> None:
        try:
            stream.connection_lost()
        except Exception:
            _log.failure("a stream failed after its client disconnected")

    def _take_listeners(self, response: Response) -> None:
        """Take over the listeners of the response that is being sent now."""
        if self._sending is not None:
            self._tell_end(Ending.ABORTED)  # of the answer in whose place this one is sent
        self._sending, response.listeners = response.listeners, None

    def _stream_from(self, response: Response, stream: StreamBody) -> None:
        """Begin a stream: the request and the rest of the response are dropped."""
        # 7. From here on the exchange counts as a stream, which the shutdown ends instead of waiting for it.
        self._request = None
        self._stream = stream
        self._streaming = True
        self._edge.stream_begun()
        self._patient = response.patient
        # 8. The memory of the request goes back as soon as only the stream is left.
        if self._holding is not None:
            self._serving_bytes = 0
            self._account()

    def stream_ended(self, ending: Ending) -> None:
        """Finish the exchange after its stream has written its end."""
        self._stream = None
        self._patient = False
        # 9. Listeners hear of a broken end here, of a complete one when the last bytes have left (`_done`).
        if self._sending is not None and ending is not Ending.COMPLETE:
            self._tell_end(ending)
        # 10. Last, the connection may take its next request.
        self._done()

    def stream_aborted(self) -> None:
        """Drop the connection: the stream cannot be completed."""
        self._stream = None
        self.transport.abortConnection()

    def stream_reset(self) -> None:
        """Reset the connection in the middle of a stream."""
        self._stream = None
        self._reset_connection()

    def _reset_connection(self) -> None:
        """Reset the connection; subclasses know which one carries the exchange."""
        self.transport.abortConnection()

    @abc.abstractmethod
    def _write_response(self, response: Response) -> None:
        """Write a whole answer."""


def _throw(task: Any, failure: Any) -> Any:
    return failure.throwExceptionIntoGenerator(task)
