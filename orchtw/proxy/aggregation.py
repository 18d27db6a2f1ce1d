"""Proxy to aggregated API servers: requests are forwarded under the user's name (reference AGG-4 to AGG-6)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

import msgspec
from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime

from orchtw.errors import Timeout
from orchtw.outbound.exchange import CallOutcome, ClientExchange, ResponseHead
from orchtw.proxy.backend_body import BackendBody
from orchtw.proxy.described_path import described_target, group_version
from orchtw.proxy.forwarding import switched
from orchtw.registry.aggregation.backends import Ask, Backends, NoAnswer
from orchtw.registry.aggregation.services import ApiService, ApiServices
from orchtw.request import Request, Response
from orchtw.rules.forwarding import aggregated_headers, has_passed, response_headers, wants_upgrade
from orchtw.rules.front_proxy import identity_headers
from orchtw.rules.options import request_timeout_s
from orchtw.rules.origins import AllowedOrigins
from orchtw.rules.request_info import PASSED_ON
from orchtw.rules.websocket import check_origin
from orchtw.verbs.equal_gets import EqualCalls, EqualGets

TEXT: Final = "text/plain; charset=utf-8"
UNAVAILABLE: Final = "service unavailable"
LOOP: Final = b"this request has already been proxied by this server\n"
REDIRECTED: Final = b"the backend attempted to redirect this request, which is not permitted"

_NO_SNIFFING: Final = ("X-Content-Type-Options", "nosniff")
_BODILESS: Final = frozenset({204, 304})


class Local(Protocol):
    """Handler of this server's own resources."""

    def handle(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Answer a request for what this server has."""

    def plan(self, request: Request) -> EqualGets | None:
        """Return how equal requests are answered at once; None: they are not."""

    def calls(self, request: Request) -> EqualCalls | None:
        """Return how requests that differ by name and body are handled; None: each has to be looked at."""


class Aggregated:
    """Handler before `local`, which serves this server's own resources; it gets authorized requests only."""

    def __init__(self, services: ApiServices, passing: PassingOn, local: Local) -> None:
        self._remote = services.remote
        self._passing = passing
        self._local = local

    def handle(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Forward the request or handle it locally: without remote APIServices this costs a look at an empty dict."""
        if self._remote:
            assert request.info is not None
            service = self._remote.get(group_version(request, request.info))
            if service is not None:
                return self._passing.pass_on(request, service)
        return self._local.handle(request)

    def plan(self, request: Request) -> EqualGets | None:
        """Return how requests equal to a local one are answered, as long as no other server has their group."""
        equal, remote = self._local.plan(request), self._remote
        if equal is None or request.info is None:
            return None
        group = group_version(request, request.info)
        return msgspec.structs.replace(equal, stands=(lambda: group not in remote, *equal.stands))

    def calls(self, request: Request) -> EqualCalls | None:
        """Return how requests like a local one are handled, as long as no other server has their group."""
        equal, remote = self._local.calls(request), self._remote
        if equal is None or request.info is None:
            return None
        group = group_version(request, request.info)
        return msgspec.structs.replace(equal, stands=(lambda: group not in remote, *equal.stands))


class PassingOn:
    """Forwards requests to the servers of APIServices.

    `limit_s` is the time limit of a response's head, except for watches and the like; pages of `origins` may request
    upgrades. `suspect` is called for a service that does not answer. By its unique `name` the server recognises
    requests that it has forwarded itself. `uids`: the servers are told the users' uids.
    """

    def __init__(
        self,
        backends: Backends,
        clock: IReactorTime,
        limit_s: float,
        origins: AllowedOrigins,
        suspect: Callable[[ApiService], None],
        name: str,
        *,
        uids: bool = False,
    ) -> None:
        self._name = name
        self._uids = uids
        self._backends = backends
        self._suspect = suspect
        self._clock = clock
        self._limit_s = limit_s
        self._origins = origins

    def pass_on(self, request: Request, service: ApiService) -> Coroutine[Any, Any, Response]:
        """Forward a request and return the response; from now on only its client's end limits its time."""
        request.passed_on = True
        return self._pass_on(request, service)

    async def _pass_on(self, request: Request, service: ApiService) -> Response:
        assert service.backend is not None and request.user is not None and request.info is not None
        if not service.available:
            return refusal(UNAVAILABLE)
        if has_passed(request.headers, self._name):
            return Response(code=508, content_type=TEXT, headers=[_NO_SNIFFING], body=LOOP)
        target = described_target(request, request.info)
        upgrade = wants_upgrade(request.headers)
        if upgrade:
            check_origin(request.headers, self._origins)
        ask = Ask(
            method=request.method,
            target=target,
            headers=self._headers(request, service, upgrade=upgrade),
            body=request.body,
        )
        try:
            exchange, head = await self._answered(request, self._backends.ask(service.backend, ask))
        except NoAnswer as problem:
            self._suspect(service)
            return refusal(f"error trying to reach service: {problem}")
        if upgrade and head.code == 101:
            return switched(exchange, head)
        return _answer(request, exchange, head)

    async def _answered(
        self, request: Request, asked: Coroutine[Any, Any, tuple[ClientExchange, ResponseHead]]
    ) -> tuple[ClientExchange, ResponseHead]:
        """Await the response. Raises Timeout (504) if a short request has none in time."""
        if _is_long(request):
            return await asked
        given_s = request_timeout_s(request.params) if "timeout=" in request.query else None
        limit_s = self._limit_s if given_s is None else min(given_s, self._limit_s)
        try:
            return await Deferred.fromCoroutine(asked).addTimeout(limit_s, self._clock)
        except TimeoutError:
            raise Timeout.request() from None

    def _headers(self, request: Request, service: ApiService, *, upgrade: bool) -> list[tuple[str, str]]:
        assert service.backend is not None and request.user is not None
        backend = service.backend
        lines = aggregated_headers(
            request.headers,
            client=request.peer.address,
            host=backend.url.removeprefix("https://"),
            name=self._name,
            audit_id=request.audit_id,
            size=len(request.body),
            upgrade=upgrade,
        )
        return [*lines, *identity_headers(request.user, uid=self._uids)]


def refusal(text: str) -> Response:
    """Return a 503 with a text of the reference server's proxy."""
    return Response(code=503, content_type=TEXT, headers=[_NO_SNIFFING], body=f"{text}\n".encode())


def _is_long(request: Request) -> bool:
    assert request.info is not None
    return request.info.verb == "watch" or _is_read_by_people(request) or wants_upgrade(request.headers)


def _is_read_by_people(request: Request) -> bool:
    assert request.info is not None
    return request.info.verb == "proxy" or request.info.subresource in PASSED_ON


def _answer(request: Request, exchange: ClientExchange, head: ResponseHead) -> Response:
    """Return the other server's response, whose body is streamed as it comes."""
    if 300 <= head.code < 400 and head.first("location"):
        exchange.abort()
        return Response(code=502, content_type=TEXT, body=REDIRECTED)
    headers = response_headers(head.headers)
    length = head.first("content-length")
    if request.method == "HEAD" or head.code in _BODILESS:
        exchange.read_into(_Nobody())
        known = int(length) if length.isascii() and length.isdigit() and len(length) < 20 else 0
        return Response(code=head.code, headers=headers, length=known if request.method == "HEAD" else None)
    patient = _is_read_by_people(request)
    return Response(code=head.code, headers=headers, stream=BackendBody(exchange), patient=patient)


class _Nobody:
    """Sink of a response without a body: at its end the connection can be reused."""

    def received(self, data: bytes) -> None:
        """Ignore data: a response without a body has none."""

    def ended(self, outcome: CallOutcome) -> None:
        """Ignore the end of the response."""
