"""A client connection that carries one request after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.error import ConnectionClosed
from twisted.internet.interfaces import IHandshakeListener
from twisted.python.failure import Failure
from twisted.web.client import HTTP11ClientProtocol, RequestNotSent  # type: ignore[attr-defined]
from twisted.web.iweb import IResponse
from zope.interface import implementer

from orchtw.outbound.errors import loss_words
from orchtw.outbound.exchange import HEAD_BYTES, CallOutcome, keep_alive
from orchtw.outbound.unanswered import Lost, Stale


@implementer(IHandshakeListener)
class KeptConnections(HTTP11ClientProtocol):
    """Adds to Twisted's client: `secured`, its end, a bound for heads of answers, and failures with words.

    Nothing is asked to be compressed: what is small is not worth it, and what is large may be a trap.
    """

    transport: Any

    def __init__(self, quiescent: Callable[[Any], None], *, tls: bool) -> None:
        super().__init__(quiescent)  # type: ignore[no-untyped-call]
        self.secured: Deferred[None] = Deferred()
        self._tls = tls
        self._requests = 0
        self._head_bytes = 0
        self._waiting = self._too_long = self._gone = False
        self._listeners: list[Callable[[CallOutcome], None]] = []

    def on_end(self, tell: Callable[[CallOutcome], None]) -> None:
        """Have `tell` called once, when the connection is over or will never be."""
        self._listeners.append(tell)

    def request(self, request: Any) -> Deferred[IResponse]:
        """Send it; fails with Lost, and with Stale when it may be sent once more on another connection."""
        self._requests += 1
        self._head_bytes = 0
        self._waiting = True
        request.headers.removeHeader(b"accept-encoding")
        return super().request(request).addCallbacks(self._came, self._failed)

    def _came(self, response: Any) -> IResponse:
        self._waiting = False
        # treq would inflate what nobody has asked to be deflated.
        response.headers.removeHeader(b"content-encoding")
        answer: IResponse = response
        return answer

    def _failed(self, failure: Failure) -> Failure:
        self._waiting = False
        reasons = [each.value for each in getattr(failure.value, "reasons", [failure])]
        if any(isinstance(each, CancelledError) for each in reasons):
            return Failure(CancelledError())  # type: ignore[no-untyped-call]
        if self._too_long:
            why: Lost = Lost(f"net/http: server response headers exceeded {HEAD_BYTES} bytes; aborted")
        elif self._is_stale(reasons):
            why = Stale("EOF")
        else:
            why = Lost(loss_words(reasons))
        return Failure(why)  # type: ignore[no-untyped-call]

    def _is_stale(self, reasons: Sequence[BaseException]) -> bool:
        unanswered = self._requests > 1 and not self._head_bytes
        return unanswered and all(isinstance(each, (ConnectionClosed, RequestNotSent)) for each in reasons)

    def abort(self) -> Deferred[None]:
        """Drop the connection; fires when it is gone."""
        if self.transport is None:
            self._tell()
        if self.transport is None or self._gone:
            return succeed(None)
        gone: Deferred[None] = Deferred()
        self.on_end(lambda _: gone.callback(None))
        self.transport.abortConnection()
        return gone

    def keep_alive(self) -> None:
        """Notice an other side that is gone for good, small writes at once."""
        keep_alive(self.transport)

    # Twisted's

    def makeConnection(self, transport: Any) -> None:
        """TCP is there; TLS has its handshake to do."""
        super().makeConnection(_Prompt(transport) if self._tls else transport)  # type: ignore[no-untyped-call]
        if not self._tls:
            self.secured.callback(None)

    def handshakeCompleted(self) -> None:
        """Note that the TLS handshake is complete."""
        if not self.secured.called:
            self.secured.callback(None)

    def dataReceived(self, data: bytes) -> None:
        """A part of an answer."""
        if self._waiting:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self._too_long = True
                self.transport.abortConnection()
                return
        super().dataReceived(data)  # type: ignore[no-untyped-call]

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        """The other side is gone."""
        self._gone = True
        super().connectionLost(reason)  # type: ignore[no-untyped-call]
        if not self.secured.called:
            self.secured.errback(reason)
        self._tell()

    def _tell(self) -> None:
        listeners, self._listeners = self._listeners, []
        for tell in listeners:
            tell(CallOutcome.CUT)


class _Prompt:
    """A TLS transport that closes without waiting for the other side to agree: that may take for ever."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def loseConnection(self) -> None:
        """Send what is written and TLS' farewell, then close."""
        self._transport.loseConnection()
        self._transport.transport.loseConnection()
