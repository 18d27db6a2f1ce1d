"""Connections to the servers behind APIServices, and the server's own questions to them (reference AGG-4, AGG-11)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs
import msgspec
from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime

from orchtw.errors import ConfigError, StatusError
from orchtw.outbound.addresses import is_address
from orchtw.outbound.destination import Destination
from orchtw.outbound.dialer import Dialer, Unreachable
from orchtw.outbound.exchange import Broken, CallOutcome, ClientExchange, Headers, ResponseHead
from orchtw.outbound.exchanges import Exchanges
from orchtw.outbound.policy import BadTLS, TLSPolicy
from orchtw.outbound.services import Resolver, Unresolved
from orchtw.registry.aggregation.services import ServiceBackend
from orchtw.request import UserInfo
from orchtw.rules.front_proxy import identity_headers

DIAL_S: Final = 30.0
"""Longest time to connect to a server; one that does not answer soon becomes unavailable."""

LATE: Final = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"

_REPEATABLE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class NoAnswer(Exception):
    """Error: no answer, or none in time; the text is the reference server's."""


class TooLarge(NoAnswer):
    """Error: an answer larger than wanted; `code` is its status."""

    def __init__(self, limit: int, code: int) -> None:
        super().__init__(f"the answer is larger than {limit} bytes")
        self.code = code


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One request: `target` is path and query as they are sent."""

    method: str
    target: str
    headers: Headers = ()
    body: bytes = b""


class BackendAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Complete answer to one of the server's own questions."""

    head: ResponseHead
    body: bytes


class Backends:
    """Connections to the servers behind APIServices, with limits per server: a slow one takes none from the others.

    `identity` is how this server shows itself; `make_dialer` makes the dialer of one server.
    """

    def __init__(
        self,
        resolver: Resolver,
        identity: Callable[[], TLSPolicy],
        clock: IReactorTime,
        make_dialer: Callable[[], Dialer],
        *,
        endpoints_only: bool = False,
    ) -> None:
        self._resolver = resolver
        self._endpoints_only = endpoints_only
        self._identity = identity
        self._clock = clock
        self._make_dialer = make_dialer
        self._known: dict[ServiceBackend, _Known] = {}

    async def ask(self, backend: ServiceBackend, ask: Ask) -> tuple[ClientExchange, ResponseHead]:
        """Send a request; return the exchange that the body comes from, and the head of the answer.

        Raises NoAnswer, TooManyRequests (429), BadRequest (400) for a request that cannot be written down. A kept
        connection may have been closed meanwhile: a request that changes nothing is repeated on a fresh one.
        """
        known = self._of(backend)
        destination = await self._destination(backend, known)
        headers = ask.headers
        if not any(name == "Host" for name, _ in headers):
            headers = [("Host", destination.shown_authority), *headers]
        repeatable = ask.method in _REPEATABLE
        try:
            return await known.exchanges.ask(
                destination, ask.method, ask.target, headers, ask.body, repeatable=repeatable
            )
        except (Unreachable, ConfigError, Broken) as problem:
            raise NoAnswer(str(problem)) from None

    async def get(
        self,
        backend: ServiceBackend,
        path: str,
        user: UserInfo,
        *,
        headers: Headers = (),
        timeout_s: float,
        limit: int = 0,
    ) -> BackendAnswer:
        """Return the whole answer to a GET as `user`, of at most `limit` bytes; limit 0 takes no body.

        Raises NoAnswer.
        """
        return await self.whole(backend, Ask(method="GET", target=path, headers=headers), user, timeout_s, limit)

    async def whole(
        self, backend: ServiceBackend, ask: Ask, user: UserInfo, timeout_s: float, limit: int = 0
    ) -> BackendAnswer:
        """Return the answer to a question as `user`, as `get` does. Raises NoAnswer, and TooLarge, which is one."""
        asked = msgspec.structs.replace(ask, headers=[*identity_headers(user), *ask.headers])
        try:
            return await Deferred.fromCoroutine(self._whole(backend, asked, limit)).addTimeout(timeout_s, self._clock)
        except TimeoutError:
            raise NoAnswer(LATE) from None
        except StatusError as problem:
            raise NoAnswer(problem.message) from None

    def is_mapped(self, backend: ServiceBackend) -> bool:
        """Report whether the administrator has given a place for the Service, which then need not exist."""
        return self._resolver.mapped(backend.service) is not None

    def forget(self, backend: ServiceBackend) -> None:
        """Close the idle connections to a server that no APIService leads to any more."""
        if (known := self._known.pop(backend, None)) is not None:
            known.exchanges.close()

    def close(self) -> None:
        """Close all connections at the server's end."""
        for backend in list(self._known):
            self.forget(backend)

    async def _whole(self, backend: ServiceBackend, ask: Ask, limit: int) -> BackendAnswer:
        exchange, head = await self.ask(backend, ask)
        if not limit:
            exchange.abort()
            return BackendAnswer(head=head, body=b"")
        collected = _Collected(exchange, limit, head.code)
        exchange.read_into(collected)
        return BackendAnswer(head=head, body=await collected.whole)

    async def _destination(self, backend: ServiceBackend, known: _Known) -> Destination:
        """Return where to connect. APIServices may name any host; addresses come from endpoints of others."""
        try:
            place = await self._resolver.place(backend.service, endpoints_only=self._endpoints_only)
            tls = known.policy.tls()
        except (Unresolved, BadTLS) as problem:
            raise NoAnswer(str(problem)) from None
        return Destination(
            scheme="https",
            host=place.host,
            port=place.port,
            tls=tls,
            timeout_s=DIAL_S,
            public=place.public and is_address(place.host),
            server_name=backend.service.host,
        )

    def _of(self, backend: ServiceBackend) -> _Known:
        """Return the settings of a server, renewed when this one has another certificate."""
        base, known = self._identity(), self._known.get(backend)
        if known is None or known.base is not base:
            self.forget(backend)
            policy = attrs.evolve(base, authorities=backend.ca_bundle, insecure=backend.insecure)
            known = _Known(base=base, policy=policy, exchanges=Exchanges(self._make_dialer(), self._clock, _itself))
            self._known[backend] = known
        return known


class _Known(msgspec.Struct, frozen=True, kw_only=True):
    """Certificate of this server, TLS settings of another one, and the connections to it."""

    base: TLSPolicy
    policy: TLSPolicy
    exchanges: Exchanges[Destination]


async def _itself(destination: Destination) -> Destination:
    return destination


class _Collected:
    """Sink of a body that is wanted whole; `whole` fails with NoAnswer."""

    def __init__(self, exchange: ClientExchange, limit: int, code: int) -> None:
        self.whole: Deferred[bytes] = Deferred(lambda _: exchange.abort())
        self._exchange = exchange
        self._limit = limit
        self._code = code
        self._pieces: list[bytes] = []
        self._size = 0

    def received(self, data: bytes) -> None:
        """Collect a part of the response."""
        self._pieces.append(data)
        self._size += len(data)
        if self._size > self._limit:
            self._exchange.abort()
            self.whole.errback(TooLarge(self._limit, self._code))

    def ended(self, outcome: CallOutcome) -> None:
        """Take note of the end of the response."""
        if self.whole.called:
            return
        if outcome is CallOutcome.WHOLE:
            self.whole.callback(b"".join(self._pieces))
        else:
            self.whole.errback(NoAnswer("unexpected EOF"))
