"""Requests that are forwarded to another server, alone or with their connection (reference PROXY-8)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from orchtw.errors import BadRequest, ServiceUnavailable, StatusError
from orchtw.outbound.destination import Destination
from orchtw.outbound.dialer import AddressNotAllowed, Dialer, Unreachable
from orchtw.outbound.exchange import Broken, ClientExchange, ResponseHead
from orchtw.proxy.backend_body import BackendBody, BodyChange, InflatedPage
from orchtw.proxy.node_connection import NodeAgents
from orchtw.proxy.service import Backends
from orchtw.request import Request, Response
from orchtw.rules.forwarding import request_headers, response_headers, switching_headers
from orchtw.rules.origins import AllowedOrigins
from orchtw.rules.proxied_links import Links, Page, escaped
from orchtw.rules.websocket import check_origin
from orchtw.serving.relay import Upgraded, join

_BODILESS: Final = frozenset({204, 304})


class ProxyTransport(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Dependencies of the verbs that forward requests; pages of `origins` may request upgrades."""

    dialer: Dialer
    agents: NodeAgents
    backends: Backends
    origins: AllowedOrigins


class ForwardingPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Destination and target of a forwarded request: a decoded path and a raw query."""

    destination: Destination
    path: str
    query: str = ""

    @property
    def target(self) -> str:
        """The request target: escaped path and query."""
        path = self.destination.prefix + (escaped(self.path) or "/")
        return f"{path}?{self.query}" if self.query else path

    @property
    def url(self) -> str:
        """The URL: the target with scheme and host."""
        return f"{self.destination.scheme}://{self.destination.authority}{self.target}"


async def upgraded(transport: ProxyTransport, request: Request, place: ForwardingPlace) -> Response:
    """Return a 101 and the other side's bytes, or its error response.

    Raises Forbidden (403) for a page of another origin, and 500 without a valid response.
    """
    check_origin(request.headers, transport.origins)
    headers = request_headers(
        request.headers,
        client=request.peer.address,
        host=place.destination.authority,
        size=0,
        upgrade=True,
    )
    exchange = await dialled(transport, place.destination, lambda why: StatusError(f"error dialing backend: {why}"))
    try:
        head = await exchange.ask(request.method, place.target, headers)
    except Broken as problem:
        raise StatusError(f"error dialing backend: {problem}") from None
    if head.code == 101:
        return switched(exchange, head)
    if head.code < 400:
        exchange.abort()
        raise StatusError(f"invalid upgrade response: status code {head.code}")
    return answer(request, exchange, head)


def switched(exchange: ClientExchange, head: ResponseHead) -> Response:
    """Return the 101 of the other side, after which both sides' bytes are forwarded unchanged."""
    lines = switching_headers(head.headers)
    return Response(code=101, headers=lines, stream=Upgraded(exchange), upgrade=partial(join, exchange))


async def forwarded(transport: ProxyTransport, request: Request, place: ForwardingPlace) -> Response:
    """Return the other side's response, with the links of pages rewritten.

    Raises ServiceUnavailable (503) without a response.
    """
    links = Links.of(
        path=request.info.path if request.info is not None else request.path,
        backend_path=place.path,
        backend=place.destination.shown_authority,
        host=request.headers.get("host", ""),
    )
    headers = request_headers(
        request.headers,
        client=request.peer.address,
        host=place.destination.authority,
        size=len(request.body),
        upgrade=False,
    )
    headers.append(("X-Forwarded-Uri", escaped(links.prefix) + (escaped(place.path) or "/")))
    exchange = await dialled(transport, place.destination, _unreachable)
    try:
        head = await exchange.ask(request.method, place.target, headers, request.body)
    except Broken as problem:
        raise _unreachable(str(problem)) from None
    return answer(request, exchange, head, links)


def _unreachable(why: str) -> StatusError:
    return ServiceUnavailable(f"error trying to reach service: {why}")


async def dialled(
    transport: ProxyTransport, destination: Destination, refusal: Callable[[str], StatusError]
) -> ClientExchange:
    """Return a connection to `destination`. Raises the error that `refusal` makes of the reason if there is none.

    Raises BadRequest (400) for an address that may not be dialled, TooManyRequests (429).
    """
    try:
        return await transport.dialer.exchange(destination, lambda: ClientExchange(tls=destination.scheme == "https"))
    except AddressNotAllowed as problem:
        raise BadRequest(str(problem)) from None
    except Unreachable as problem:
        raise refusal(str(problem)) from None


def answer(request: Request, exchange: ClientExchange, head: ResponseHead, links: Links | None = None) -> Response:
    """Return another server's response to the client; with `links`, the links of a page are rewritten."""
    try:
        return _answer(request, exchange, head, links)
    except BaseException:
        exchange.abort()
        raise


def _answer(request: Request, exchange: ClientExchange, head: ResponseHead, links: Links | None) -> Response:
    # Only pages may set cookies: a node agent sets none.
    headers = response_headers(head.headers, cookies=links is not None)
    change: BodyChange | None = None
    if links is not None:
        headers, change = _through(links, head, headers)
    length = head.first("content-length")
    if request.method == "HEAD" or head.code in _BODILESS or (length == "0" and change is None):
        exchange.abort()
        known = int(length) if length.isascii() and length.isdigit() and len(length) < 20 else 0
        return Response(code=head.code, headers=headers, length=known if request.method == "HEAD" else None)
    return Response(code=head.code, headers=headers, stream=BackendBody(exchange, change), patient=True)


def _through(
    links: Links, head: ResponseHead, headers: list[tuple[str, str]]
) -> tuple[list[tuple[str, str]], BodyChange | None]:
    """Return headers whose Location leads through the proxy, and the rewriter of the body if that is a page."""
    if location := head.first("location"):
        found = links.rewritten(location)
        return [(name, found if name.lower() == "location" else value) for name, value in headers], None
    if head.first("content-type").partition(";")[0].strip() != "text/html":
        return headers, None
    coding = head.first("content-encoding").lower()
    if not coding:
        return headers, Page(links)
    if InflatedPage.reads(coding):
        return [each for each in headers if each[0].lower() != "content-encoding"], InflatedPage(Page(links), coding)
    return headers, None
