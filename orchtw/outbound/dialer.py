"""Dialling: from a destination to a connected, secured protocol, or to the words for why there is none."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from OpenSSL import SSL
from service_identity import VerificationError
from twisted.internet import error
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, TCP6ClientEndpoint, wrapClientTLS
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory
from twisted.python.failure import Failure

from orchtw.config import host_and_port
from orchtw.errors import TooManyRequests
from orchtw.outbound.addresses import is_address, is_public_unicast
from orchtw.outbound.destination import Destination
from orchtw.outbound.exchange import Exchange, Outcome

T = TypeVar("T")

MOST: Final = 1000
"""Connections at a time. Each costs two sockets and up to 256 KiB of what one side has not taken yet."""

_NAME: Final = re.compile(r"(?=.{1,254}\Z)(?:[A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?\Z")
"""What can be looked up; resolvers fail in other ways with what cannot."""

_SHOWN: Final = 100
_ADDRESSES: Final = 4  # of a name; who has more is as unreachable as its first ones


class Unreachable(Exception):
    """There is no connection; the text is the reference server's."""


class AddressNotAllowed(Unreachable):
    """The destination is none that requests are passed on to."""

    def __init__(self) -> None:
        super().__init__("address not allowed")


class Dialer:
    """Opens connections with `reactor`, MOST at a time."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._open = 0

    async def exchange(self, destination: Destination, make: Callable[[], Exchange]) -> Exchange:
        """A connected exchange whose TLS handshake, if there is one, has succeeded.

        Raises Unreachable, TooManyRequests (429), ConfigError (a client certificate that cannot be used).
        """
        exchange = self.counted(make())
        try:
            return await self._connect(destination, exchange)
        except BaseException:
            exchange.abort()
            raise

    def counted(self, exchange: Exchange) -> Exchange:
        """The same, which counts until it ends. Raises TooManyRequests (429)."""
        if self._open >= MOST:
            text = "too many connections to node agents and backends are open, please try again later"
            raise TooManyRequests(text, {"retryAfterSeconds": 1})
        self._open += 1
        exchange.on_end(self._ended)
        return exchange

    def _ended(self, _outcome: Outcome) -> None:
        self._open -= 1

    async def _connect(self, destination: Destination, exchange: Exchange) -> Exchange:
        addresses = await self._resolve(destination)
        trouble: Exception = AddressNotAllowed()
        for address in addresses:
            try:
                await self._dial(destination, address, exchange)
                await self._in_time(exchange.secured, destination.timeout_s, "net/http: TLS handshake timeout")
            except (CancelledError, Unreachable):
                raise
            except Exception as problem:  # noqa: BLE001 - whatever TLS and TCP raise has words
                trouble = Unreachable(_words(problem, destination, address))
                if exchange.transport is not None:
                    break
            else:
                return exchange
        raise trouble from None

    async def _resolve(self, destination: Destination) -> list[str]:
        """The addresses to try, in order. With `public`, a name with one that is not allowed is not dialled."""
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

    async def _dial(self, destination: Destination, address: str, exchange: Exchange) -> None:
        kind = TCP6ClientEndpoint if ":" in address else TCP4ClientEndpoint
        endpoint: Any = kind(self._reactor, address, destination.port, timeout=destination.timeout_s)
        if destination.scheme == "https":
            endpoint = wrapClientTLS(destination.tls.creator(destination.certified_name), endpoint)
        await endpoint.connect(_Factory(exchange))
        exchange.keep_alive()

    async def _in_time(self, waiting: Deferred[T], timeout_s: float, why: str) -> T:
        def late(_result: object, _timeout: float) -> Any:
            return Failure(Unreachable(why))  # type: ignore[no-untyped-call]

        return await waiting.addTimeout(timeout_s, self._reactor, onTimeoutCancel=late)


class _Factory(Factory):
    """Hands out the one protocol."""

    noisy = False

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def buildProtocol(self, _address: IAddress | None) -> Exchange:
        return self._exchange


class _Addresses:
    """Collects what a name resolves to (an `IResolutionReceiver`)."""

    def __init__(self) -> None:
        self.found: Deferred[list[str]] = Deferred()
        self._addresses: list[str] = []

    def resolutionBegan(self, resolutionInProgress: Any) -> None:
        """Nothing is known yet."""

    def addressResolved(self, address: Any) -> None:
        """One of perhaps several."""
        self._addresses.append(address.host)

    def resolutionComplete(self) -> None:
        """There are no more."""
        if not self.found.called:
            self.found.callback(list(dict.fromkeys(self._addresses)))


def _words(problem: Exception, destination: Destination, address: str) -> str:
    """The reference server's words for a connection that cannot be had."""
    if isinstance(problem, VerificationError):
        return f"x509: certificate is not valid for {destination.certified_name}"
    if isinstance(problem, SSL.Error):
        return _tls_words(problem)
    where = f"dial tcp {host_and_port(address, destination.port)}"
    if isinstance(problem, error.TimeoutError):
        return f"{where}: i/o timeout"
    if isinstance(problem, error.ConnectionRefusedError):
        return f"{where}: connect: connection refused"
    if isinstance(problem, error.ConnectError) and problem.osError:
        return f"{where}: connect: {os.strerror(problem.osError).lower()}"
    if isinstance(problem, error.ConnectionClosed):
        return "EOF"
    return f"{where}: {problem}"


def _tls_words(problem: SSL.Error) -> str:
    reasons = [str(entry[-1]) for entry in (problem.args[0] if problem.args and problem.args[0] else ())]
    if "certificate verify failed" in reasons:
        return "x509: certificate signed by unknown authority"
    if "wrong version number" in reasons:
        return "tls: first record does not look like a TLS handshake"
    return f"tls: {', '.join(dict.fromkeys(reasons)) or 'handshake failed'}"
