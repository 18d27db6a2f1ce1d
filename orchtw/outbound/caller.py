"""Calls to other HTTP servers: webhooks and others that configuration names (reference HOOK-10, HOOK-26)."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

import attrs
import msgspec
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from orchtw.errors import BadRequest, ConfigError, TooManyRequests
from orchtw.metrics.registry import Registry
from orchtw.outbound.credentials import CredentialsError, ShownHeaders
from orchtw.outbound.destination import Destination, default_port
from orchtw.outbound.dialer import Dialer, Unreachable
from orchtw.outbound.errors import said_by, status_words
from orchtw.outbound.exchange import Broken
from orchtw.outbound.exchanges import Exchanges
from orchtw.outbound.lazy_web import web_module
from orchtw.outbound.limits import CallLimit, Crowded
from orchtw.outbound.metrics import CallMetrics
from orchtw.outbound.policy import BadTLS
from orchtw.outbound.remote import Remote
from orchtw.outbound.routes import Route, Routes, TransportSettings
from orchtw.outbound.services import Resolver, Unresolved
from orchtw.outbound.trust import NO_NAMES
from orchtw.values.causes import go_quote
from orchtw.values.times import duration_text

if TYPE_CHECKING:
    pass

T = TypeVar("T")

ANSWER_BYTES: Final = 3 << 20
"""Default limit of a response's body: that of a request to this server."""

LATE: Final = "context deadline exceeded"

_TROUBLES: Final = (
    Broken,
    Unreachable,
    Unresolved,
    BadTLS,
    BadRequest,
    ConfigError,
    TooManyRequests,
    ValueError,
)
"""Errors that leave a call without a response; URLs that cannot be requested are ValueErrors."""

_REFUSAL_BYTES: Final = 64 * 1024
"""Limit of a 401's body that is read before the retry, so that the connection can be kept."""


class CallFailed(Exception):
    """Error of a call without a usable response; the text is for users, in the reference server's words.

    `why` is the text without method and URL; `code` is the response's status if there was one, else 0.
    """

    def __init__(self, text: str, why: str = "", code: int = 0) -> None:
        super().__init__(text)
        self.why = why or text
        self.code = code

    @property
    def late(self) -> bool:
        """Report whether the call timed out."""
        return self.why == LATE


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A request: the path behind the remote's URL, and the content. `query` is encoded.

    A header with several values has a list of them.
    """

    method: str = "GET"
    path: str = ""
    query: str = ""
    headers: Mapping[str, str | list[str]] = msgspec.field(default_factory=dict)
    body: bytes = b""

    def url(self, remote: Remote) -> str:
        """Return the URL of the request, also for errors."""
        url = remote.url.rstrip("/") + "/" + self.path.lstrip("/") if self.path else remote.url
        return f"{url}?{self.query}" if self.query else url


class CallAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A whole response; header names are in lower case, and of a repeated header the first value counts."""

    code: int
    headers: Mapping[str, str]
    body: bytes


class Caller(Service):
    """Sends requests over connections that are kept, and shared if all their settings are equal.

    Requests may be sent twice if a kept connection turns out to be closed; webhooks must tolerate that.
    Redirects are not followed, no proxy is used, no cookies are kept. `agent` is the User-Agent.
    """

    def __init__(self, reactor: Any, resolver: Resolver, agent: str, metrics: CallMetrics | None = None) -> None:
        self._reactor = reactor
        self._metrics = metrics or CallMetrics(Registry())
        self._routes = Routes(resolver)
        dialer = Dialer(reactor, "webhooks and other servers")
        self._exchanges: Exchanges[Route] = Exchanges(dialer, reactor, self._routes.destination)
        self._web: Any = None
        self._agent = agent
        self._running: set[Deferred[Any]] = set()
        self._closed = False

    async def post(
        self,
        remote: Remote,
        body: bytes,
        *,
        timeout_s: float,
        left_s: float | None = None,
        limit_bytes: int = ANSWER_BYTES,
        agent: str = "",
        turns: CallLimit | None = None,
    ) -> bytes:
        """Return the body of a webhook's answer to a JSON object; `left_s` is less time than the URL says there is.

        With `turns` it waits for one, in the same time. Raises CallFailed, also for an unsuccessful response.
        """
        headers: dict[str, str | list[str]] = {
            "Content-Type": "application/json",
            "Accept": "application/json, */*",
        }
        if agent:
            headers["User-Agent"] = agent
        query = f"timeout={duration_text(int(timeout_s * 10**9))}"
        question = Question(method="POST", query=query, headers=headers, body=body)
        time_s = timeout_s if left_s is None else min(timeout_s, left_s)
        work = self._ask(remote, question, limit_bytes)
        if turns is not None:
            work = _in_turn(turns, work)
        answer = await self._in_time(work, remote, question, time_s)
        if not 200 <= answer.code <= 206:
            said = said_by(answer.headers.get("content-type", ""), answer.body)
            raise CallFailed(status_words(answer.code, said), code=answer.code)
        if not answer.body:
            what = f"status code: {answer.code} and content type: {answer.headers.get('content-type', '')}"
            raise CallFailed(f"0-length response with {what}", code=answer.code)
        return answer.body

    async def ask(
        self, remote: Remote, question: Question, *, timeout_s: float, limit_bytes: int = ANSWER_BYTES
    ) -> CallAnswer:
        """Return a whole answer, whatever its code; cancelling drops the connection. Raises CallFailed."""
        began, code = perf_counter(), 0
        try:
            answer = await self._in_time(self._ask(remote, question, limit_bytes), remote, question, timeout_s)
            code = answer.code
            return answer
        except CallFailed as problem:
            self._metrics.missing_names.value += NO_NAMES in problem.why
            raise
        finally:
            self._metrics.called(question.method, remote.host, code, perf_counter() - began)

    async def destination(self, remote: Remote) -> Destination:
        """Return the destination of a remote, for users of a `Dialer`. Raises CallFailed with `why`."""
        parts = urlsplit(remote.url)
        try:
            transport = self._transport(remote, await self._shown(remote, Question()))
            port = parts.port or default_port(parts.scheme)
            return await self._routes.destination(Route(transport, parts.scheme, remote.host, port))
        except (Unresolved, BadTLS) as problem:
            raise CallFailed(str(problem)) from None

    async def close(self) -> None:
        """Cancel all calls, and wait until no connection is left; from now on every call fails."""
        self._closed = True
        for each in list(self._running):
            each.cancel()
        await self._exchanges.stop()

    def stopService(self) -> Deferred[None]:
        """Close; the result fires when no connection is left."""
        super().stopService()  # type: ignore[no-untyped-call]
        return Deferred.fromCoroutine(self.close())

    # Running

    async def _in_time(
        self, work: Coroutine[Deferred[Any], Any, T], remote: Remote, question: Question, timeout_s: float
    ) -> T:
        def late(_result: object, _timeout_s: float) -> Any:
            return Failure(_failed(remote, question, LATE))  # type: ignore[no-untyped-call]

        if self._closed:
            work.close()
            raise _failed(remote, question, "the server is shutting down")
        running = Deferred.fromCoroutine(work)
        self._running.add(running)
        try:
            return await running.addTimeout(max(timeout_s, 0.0), self._reactor, onTimeoutCancel=late)
        except Crowded as problem:
            raise _failed(remote, question, str(problem)) from None
        finally:
            self._running.discard(running)

    async def _ask(self, remote: Remote, question: Question, limit_bytes: int) -> CallAnswer:
        response = await self._open(remote, question)
        try:
            body = await self._web.collected(response, limit_bytes)
        except Broken as problem:
            raise CallFailed(str(problem)) from None
        lines = response.headers.getAllRawHeaders()
        headers = {name.decode("latin-1").lower(): values[0].decode("latin-1") for name, values in lines}
        return CallAnswer(code=response.code, headers=headers, body=body)

    async def _open(self, remote: Remote, question: Question) -> Any:
        if self._web is None:
            self._web = await web_module(self._reactor)
        shown = await self._shown(remote, question)
        response = await self._sent(remote, question, shown)
        if response.code != 401 or remote.credentials is None or not remote.credentials.refused(shown):
            return response
        with suppress(Broken):
            await self._web.collected(response, _REFUSAL_BYTES)
        return await self._sent(remote, question, await self._shown(remote, question))

    async def _sent(self, remote: Remote, question: Question, shown: ShownHeaders) -> Any:
        try:
            headers: Any = {"User-Agent": self._agent, **question.headers, **dict(shown.headers)}
            return await self._web.client(self._exchanges, self._transport(remote, shown)).request(
                question.method,
                self._web.asked_url(question.url(remote)),
                headers=headers,
                data=question.body or None,
                allow_redirects=False,
                unbuffered=True,
                reactor=self._reactor,
            )
        except _TROUBLES as problem:
            raise _failed(remote, question, str(problem)) from None

    def _transport(self, remote: Remote, shown: ShownHeaders) -> TransportSettings:
        tls = remote.tls
        if shown.certificate:
            tls = attrs.evolve(tls, certificate=shown.certificate, key=shown.key)
        mapped = self._routes.mapped(remote.service)
        return TransportSettings(tls=tls, service=remote.service, endpoints_only=remote.endpoints_only, mapped=mapped)

    async def _shown(self, remote: Remote, question: Question) -> ShownHeaders:
        try:
            return ShownHeaders() if remote.credentials is None else await remote.credentials.current()
        except CredentialsError as problem:
            raise _failed(remote, question, str(problem)) from None


async def _in_turn(turns: CallLimit, work: Coroutine[Deferred[Any], Any, T]) -> T:
    try:
        await turns.take()
    except BaseException:
        work.close()
        raise
    try:
        return await work
    finally:
        turns.give()


def _failed(remote: Remote, question: Question, why: str) -> CallFailed:
    shown = f"{question.method.capitalize()} {go_quote(question.url(remote))}: {why}"
    return CallFailed(shown, why)
