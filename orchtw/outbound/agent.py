"""treq's side of `Exchanges`: requests and responses by the interfaces of Twisted's web client.

treq builds on `IAgent` and `IResponse`; the connections are those of every other outbound request.
"""

from __future__ import annotations

from http.cookiejar import CookieJar
from typing import Any, Final

from treq.client import HTTPClient
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionLost
from twisted.internet.interfaces import IProtocol
from twisted.python.failure import Failure
from twisted.web.client import PotentialDataLoss, ResponseDone, ResponseFailed  # type: ignore[attr-defined]
from twisted.web.http_headers import Headers
from twisted.web.iweb import UNKNOWN_LENGTH, IAgent, IResponse
from zope.interface import implementer

from orchtw.outbound.destination import shown_authority
from orchtw.outbound.errors import loss_words
from orchtw.outbound.exchange import Broken, CallOutcome, ClientExchange, ResponseHead
from orchtw.outbound.exchanges import Exchanges
from orchtw.outbound.routes import Route, TransportSettings
from orchtw.outbound.url import url_parts

_WITH_BODY: Final = frozenset({b"POST", b"PUT"})
"""Methods of requests that send a Content-Length even if their body is empty."""


class _NoCookies(CookieJar):
    """A jar that stays empty: 6 µs less for each call than a policy that refuses all cookies."""

    def add_cookie_header(self, request: object) -> None:
        """Leave the request without a Cookie header."""

    def extract_cookies(self, response: object, request: object) -> None:
        """Ignore the cookies of a response."""


_NO_COOKIES: Final[Any] = _NoCookies()


def client(exchanges: Exchanges[Route], transport: TransportSettings) -> HTTPClient:
    """Return a treq client whose requests share transport settings; bodies are bytes."""
    as_it_is: Any = bytes
    return HTTPClient(ExchangeAgent(exchanges, transport), _NO_COOKIES, as_it_is)


@implementer(IAgent)
class ExchangeAgent:
    """Sends requests over kept connections; any may be sent once more when its kept connection was closed.

    Bodies are bytes, in place of producers: they are in memory anyway. Compression is never requested: a small body
    is not worth it, and a large one may be a trap.
    """

    def __init__(self, exchanges: Exchanges[Route], transport: TransportSettings) -> None:
        self._exchanges = exchanges
        self._transport = transport

    def request(
        self, method: bytes, uri: bytes, headers: Headers | None = None, bodyProducer: Any = None
    ) -> Deferred[IResponse]:
        """Send the request; the result fires with the response's head; fails with Broken, and as `Exchanges.ask`."""
        return Deferred.fromCoroutine(self._answer(method, uri, headers or Headers(), bodyProducer or b""))

    async def _answer(self, method: bytes, uri: bytes, headers: Headers, body: bytes) -> IResponse:
        parts = url_parts(uri)
        route = Route(self._transport, parts.scheme, parts.host, parts.port)
        lines = _lines(headers, route)
        if body or method in _WITH_BODY:
            lines.append(("Content-Length", str(len(body))))
        try:
            exchange, head = await self._exchanges.ask(
                route, method.decode("ascii"), parts.target, lines, body, repeatable=True
            )
        except Broken as problem:
            if problem.cause is None:
                raise
            raise Broken(loss_words(problem.cause)) from None
        return _Answer(exchange, head)


def _lines(headers: Headers, route: Route) -> list[tuple[str, str]]:
    lines = [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, values in headers.getAllRawHeaders()
        if name != b"Accept-Encoding"
        for value in values
    ]
    if not headers.hasHeader(b"host"):
        lines.insert(0, ("Host", shown_authority(route.scheme, route.host, route.port)))
    return lines


@implementer(IResponse)
class _Answer:
    """Response to a request; its body is yet to come."""

    version = (b"HTTP", 1, 1)
    phrase = b""
    request = None
    previousResponse: IResponse | None = None

    def __init__(self, exchange: ClientExchange, head: ResponseHead) -> None:
        self.code = head.code
        self.headers = Headers()
        for name, value in head.headers:
            self.headers.addRawHeader(name.encode("latin-1"), value.encode("latin-1"))
        # treq would inflate a body though no compression was requested.
        self.headers.removeHeader(b"content-encoding")
        length = self.headers.getRawHeaders(b"content-length")
        chunked = self.headers.hasHeader(b"transfer-encoding")
        self.length: Any = int(length[0]) if length and not chunked else UNKNOWN_LENGTH
        self._delivery = _Delivery(exchange, delimited=chunked or length is not None)

    def deliverBody(self, protocol: IProtocol) -> None:
        """Deliver the body to `protocol`, and then the reason of its end."""
        self._delivery.begin(protocol)

    def setPreviousResponse(self, response: IResponse) -> None:
        """Remember the response that led to this one."""
        self.previousResponse = response


class _Delivery:
    """The sink of an exchange, and the transport of the protocol that gets the body.

    A protocol that drops the connection is not notified of its end. A body that is not `delimited` ends with the
    connection, so it may be incomplete without a sign.
    """

    def __init__(self, exchange: ClientExchange, *, delimited: bool) -> None:
        self._exchange = exchange
        self._delimited = delimited
        self._protocol: Any = None

    def begin(self, protocol: IProtocol) -> None:
        """Deliver to `protocol` what has come, and all that will."""
        self._protocol = protocol
        protocol.makeConnection(self)  # type: ignore[arg-type]
        self._exchange.read_into(self)

    # The sink

    def received(self, data: bytes) -> None:
        """Pass on a part of the body."""
        self._protocol.dataReceived(data)

    def ended(self, outcome: CallOutcome) -> None:
        """Pass on the end of the body."""
        if outcome is CallOutcome.WHOLE:
            reason: Exception = ResponseDone()
        elif self._delimited:
            reason = ResponseFailed([Failure(ConnectionLost())])  # type: ignore[no-untyped-call]
        else:
            reason = PotentialDataLoss()
        # Dropped at the end: otherwise protocol and transport reference each other, garbage of every call.
        protocol, self._protocol = self._protocol, None
        protocol.connectionLost(Failure(reason))  # type: ignore[no-untyped-call]

    # The transport

    def pauseProducing(self) -> None:
        """Stop reading for the time being."""
        self._exchange.pause()

    def resumeProducing(self) -> None:
        """Resume reading after a pause."""
        self._exchange.resume()

    def loseConnection(self) -> None:
        """Drop the connection: the rest of the body is not wanted."""
        self._exchange.abort()

    stopProducing = abortConnection = loseConnection
