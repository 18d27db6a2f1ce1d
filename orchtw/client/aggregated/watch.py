"""A watch on objects of an aggregated API server: its frames become calls of a receiver (reference AGG-17)."""

from __future__ import annotations

from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchtw.client.aggregated.answers import made, of_status, refusal
from orchtw.client.aggregated.items import RemoteItem
from orchtw.client.aggregated.requests import REQUEST_S, AskedRequest, Requests, json_object
from orchtw.client.interface import Receiver
from orchtw.errors import Expired, InternalError, ServiceUnavailable, StatusError, Timeout, TooManyRequests
from orchtw.outbound.exchange import CallOutcome, ClientExchange
from orchtw.registry.aggregation.services import ApiService

EVENT_BYTES: Final = 4 << 20
"""Limit of one event: twice the size limit of an object."""

LEAST_S: Final = 1.0
"""Least duration of a watch: an earlier end is reported then, so that a broken server is not asked in a loop."""

POLL_S: Final = 10.0
"""Delay before the next list for a server without working watches."""


class RemoteWatch:
    """Watch on another server; `asked` is the request, with the version to begin at. See `Watch`."""

    _log = Logger()

    def __init__(
        self, requests: Requests, service: ApiService, asked: AskedRequest, receiver: Receiver, clock: IReactorTime
    ) -> None:
        self._requests = requests
        self._service = service
        self._asked = asked
        self._receiver: Receiver | None = receiver
        self._clock = clock
        self._begun = clock.seconds()
        self._has_told = False
        self._asking: Deferred[None] | None = None
        self._exchange: ClientExchange | None = None
        self._ending: IDelayedCall | None = None
        self._rest: list[bytes] = []
        self._rest_bytes = 0

    def start(self) -> None:
        """Send the watch request."""
        self._asking = asking = Deferred.fromCoroutine(self._ask())
        asking.addTimeout(REQUEST_S, self._clock)
        asking.addErrback(self._not_begun)

    def stop(self) -> None:
        """End the watch; no event comes afterwards."""
        self._receiver = None
        if self._asking is not None:
            self._asking.cancel()
        if self._exchange is not None:
            self._exchange.abort()
        if self._ending is not None and self._ending.active():
            self._ending.cancel()

    async def _ask(self) -> None:
        exchange, head = await self._requests.stream(self._service, self._asked)
        if self._receiver is None:
            exchange.abort()
        elif head.code != 200:
            exchange.abort()
            self._end(refusal(head.code, b""))
        else:
            self._exchange = exchange
            exchange.read_into(self)

    def _not_begun(self, failure: Failure) -> None:
        problem = failure.value
        if not isinstance(problem, StatusError | CancelledError | TimeoutError):
            self._log.failure("failed to start a watch of {path}", failure, path=self._asked.path)
        late = made(ServiceUnavailable, "the watch did not begin in time")
        self._end(problem if isinstance(problem, StatusError) else late)

    def received(self, data: bytes) -> None:
        """Take lines, each an event, as `BodySink.received`."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            whole = b"".join([*self._rest, line])
            self._rest, self._rest_bytes = [], 0
            if self._receiver is not None and whole.strip():
                self._take(whole)
        self._rest.append(rest)
        self._rest_bytes += len(rest)
        if self._rest_bytes > EVENT_BYTES:
            self._fail(made(InternalError, "the aggregated API server sent an event that is too large"))

    def ended(self, outcome: CallOutcome) -> None:
        """Take note of the end of the stream."""
        self._exchange = None
        self._end(None)

    def _take(self, line: bytes) -> None:
        """Deliver an event; a receiver that fails must not miss it: it has to list again."""
        try:
            self._tell(json_object(line))
        except StatusError as error:
            self._fail(error)
        except Exception:  # noqa: BLE001 - logged, and the receiver is told to list again
            self._log.failure("a follower of {path} failed", path=self._asked.path)
            self._fail(Expired.watch(0, 0))

    def _tell(self, event: dict[str, Any]) -> None:
        kind, obj = event.get("type"), event.get("object")
        assert self._receiver is not None
        self._has_told = True
        if kind in ("ADDED", "MODIFIED"):
            self._receiver.changed(RemoteItem.of(obj))
        elif kind == "DELETED":
            self._receiver.removed(RemoteItem.of(obj))
        elif kind == "ERROR":
            raise of_status(obj if isinstance(obj, dict) else {})
        elif kind != "BOOKMARK":
            raise made(InternalError, "the aggregated API server sent something other than an event")

    def _fail(self, error: StatusError) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.abort()
        self._rest, self._rest_bytes = [], 0
        self._end(error)

    def _end(self, error: StatusError | None) -> None:
        receiver, self._receiver = self._receiver, None
        if receiver is None:
            return
        left_s = self._begun + LEAST_S - self._clock.seconds()
        if self._is_none(error, left_s):
            left_s, error = POLL_S, Expired.watch(0, 0)
        self._ending = self._clock.callLater(max(0.0, left_s), receiver.ended, error)

    def _is_none(self, error: StatusError | None, left_s: float) -> bool:
        """Report whether the server cannot watch: it ends at once, refuses, or sends something else."""
        if error is None:
            return left_s > 0 and not self._has_told
        return not isinstance(error, Expired | ServiceUnavailable | Timeout | TooManyRequests)
