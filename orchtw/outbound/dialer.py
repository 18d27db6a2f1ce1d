"""Dialling: from a destination to a connected, secured protocol, or to an error that explains the failure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar
from typing import Protocol as Interface

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectingCancelledError
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory
from twisted.python.failure import Failure

from orchtw.errors import TooManyRequests
from orchtw.outbound.addresses import is_address, is_public_unicast
from orchtw.outbound.destination import Destination
from orchtw.outbound.errors import dialling_words
from orchtw.outbound.exchange import CallOutcome

T = TypeVar("T")

MOST: Final = 1000
"""Usual limit of concurrent connections. Each costs two sockets and up to 256 KiB of unread data."""

_NAME: Final = re.compile(r"(?=.{1,254}\Z)(?:[A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?\Z")
"""Names that can be looked up; resolvers fail in other ways with anything else."""

_SHOWN: Final = 100
_ADDRESSES: Final = 4  # of a name that are tried; further ones are ignored


class Unreachable(Exception):
    """Error about a connection that cannot be made; the text is the reference server's."""


class AddressNotAllowed(Unreachable):
    """Error: requests are not forwarded to this address."""

    def __init__(self) -> None:
        super().__init__("address not allowed")


class Line(Interface):
    """Connection: a Twisted protocol that reports when it is secured and when it ends."""

    @property
    def transport(self) -> Any:
        """Transport of the connection; None before there is one."""

    @property
    def secured(self) -> Deferred[None]:
        """Deferred that fires when bytes can be sent, and fails when the connection cannot be made."""

    def on_end(self, tell: Callable[[CallOutcome], None]) -> None:
        """Have `tell` called once, when the connection has ended or has failed to begin."""

    def keep_alive(self) -> None:
        """Set the options of the socket."""

    def abort(self) -> object:
        """Drop the connection at once."""


Connected = TypeVar("Connected", bound=Line)


class Dialer:
    """Opens connections with `reactor`, `most` at a time; `what` they lead to is named when there are too many."""

    def __init__(self, reactor: Any, what: str = "node agents and backends", most: int = MOST) -> None:
        self._reactor = reactor
        self._what = what
        self._most = most
        self._open = 0

    async def exchange(self, destination: Destination, make: Callable[[], Connected]) -> Connected:
        """Return a connected protocol whose TLS handshake, if there is one, has succeeded.

        Raises Unreachable, TooManyRequests (429), ConfigError (an unusable client certificate).
        """
        exchange = self.counted(make)
        try:
            return await self._connect(destination, exchange)
        except BaseException:
            exchange.abort()
            raise

    def counted(self, make: Callable[[], Connected]) -> Connected:
        """Make a connection that counts until it ends. Raises TooManyRequests (429)."""
        if self._open >= self._most:
            text = f"too many connections to {self._what} are open, please try again later"
            raise TooManyRequests(text, {"retryAfterSeconds": 1})
        self._open += 1
        made = make()
        made.on_end(self._ended)
        return made

    def _ended(self, _outcome: CallOutcome) -> None:
        self._open -= 1

    async def _connect(self, destination: Destination, exchange: Connected) -> Connected:
        addresses = await self._resolve(destination)
        trouble: Exception = AddressNotAllowed()
        for address in addresses:
            try:
                await self._dial(destination, address, exchange)
                await self._in_time(exchange.secured, destination.timeout_s, "net/http: TLS handshake timeout")
            except (CancelledError, Unreachable):
                raise
            except ConnectingCancelledError:
                raise CancelledError from None
            except Exception as problem:  # noqa: BLE001 - every error of TLS and TCP has a text
                trouble = Unreachable(dialling_words(problem, address, destination.port))
                if exchange.transport is not None:
                    break
            else:
                return exchange
        raise trouble from None

    async def _resolve(self, destination: Destination) -> list[str]:
        """Return the addresses to try, in order. With `public`, all of them must be allowed."""
        host = destination.host
        if is_address(host):
            found = [host]
        elif _NAME.match(host):
            found = await self._look_up(host, destination.timeout_s)
        else:
            found = []
        if not found:
            raise Unreachable(f"dial tcp: lookup {host[:_SHOWN]}: no such host")
        if destination.public and not all(map(is_public_unicast, found)):
            raise AddressNotAllowed
        return found[:_ADDRESSES]

    async def _look_up(self, host: str, timeout_s: float) -> list[str]:
        receiver = _Addresses()
        self._reactor.nameResolver.resolveHostName(receiver, host)
        return await self._in_time(receiver.found, timeout_s, f"dial tcp: lookup {host}: i/o timeout")

    async def _dial(self, destination: Destination, address: str, exchange: Line) -> None:
        # Late: a server that dials nobody does without.
        from twisted.internet.endpoints import TCP4ClientEndpoint, TCP6ClientEndpoint, wrapClientTLS

        kind = TCP6ClientEndpoint if ":" in address else TCP4ClientEndpoint
        endpoint: Any = kind(self._reactor, address, destination.port, timeout=destination.timeout_s)
        if destination.scheme == "https":
            endpoint = wrapClientTLS(destination.tls.creator(destination.verified_name), endpoint)
        await endpoint.connect(_Factory(exchange))
        exchange.keep_alive()

    async def _in_time(self, waiting: Deferred[T], timeout_s: float, why: str) -> T:
        def late(_result: object, _timeout: float) -> Any:
            return Failure(Unreachable(why))  # type: ignore[no-untyped-call]

        return await waiting.addTimeout(timeout_s, self._reactor, onTimeoutCancel=late)


class _Factory(Factory):
    """Factory that returns one given protocol."""

    noisy = False

    def __init__(self, line: Line) -> None:
        self._line = line

    def buildProtocol(self, _address: IAddress | None) -> Any:
        return self._line


class _Addresses:
    """Collector of a name's addresses (an `IResolutionReceiver`)."""

    def __init__(self) -> None:
        self.found: Deferred[list[str]] = Deferred()
        self._addresses: list[str] = []

    def resolutionBegan(self, resolutionInProgress: Any) -> None:
        """Ignore the beginning of the lookup."""

    def addressResolved(self, address: Any) -> None:
        """Add an address of the name."""
        self._addresses.append(address.host)

    def resolutionComplete(self) -> None:
        """Finish: there are no more addresses."""
        if not self.found.called:
            self.found.callback(list(dict.fromkeys(self._addresses)))
