"""A server's door for the load of faults: Twisted's own HTTPS client."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.ssl import Certificate, optionsForClientTLS
from twisted.protocols.basic import LineOnlyReceiver
from twisted.python.failure import Failure
from twisted.web.client import Agent, FileBodyProducer, HTTPConnectionPool, ResponseDone, readBody
from twisted.web.http_headers import Headers
from twisted.web.iweb import IPolicyForHTTPS
from zope.interface import implementer

from bench.fault_load import Gone

ANSWER_S: Final = 15.0
MOST_KEPT: Final = 64


@implementer(IPolicyForHTTPS)
class Authority:
    """Believes servers whose certificates are by one authority, of this PEM text."""

    def __init__(self, pem: bytes) -> None:
        self._root = Certificate.loadPEM(pem)

    def creatorForNetloc(self, hostname: bytes, port: int) -> Any:
        """Return the TLS creator, as IPolicyForHTTPS."""
        return optionsForClientTLS(hostname.decode(), trustRoot=self._root)


class HttpsDoor:
    """The server at `url`, whose certificate is by `authority`; `token` is the administrator's."""

    def __init__(self, reactor: Any, url: str, token: str, authority: bytes) -> None:
        self._reactor = reactor
        self._url = url
        self._headers = {"Authorization": [f"Bearer {token}"], "Content-Type": ["application/json"]}
        pool: Any = HTTPConnectionPool(reactor)  # type: ignore[no-untyped-call]
        pool.maxPersistentPerHost, pool.retryAutomatically = MOST_KEPT, False
        self._pool = pool
        self._agent: Any = Agent(  # type: ignore[no-untyped-call]
            reactor, contextFactory=Authority(authority), connectTimeout=ANSWER_S, pool=pool
        )

    async def request(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Implement this part of a `Door`."""
        try:
            return await Deferred.fromCoroutine(self._asked(method, path, body)).addTimeout(ANSWER_S, self._reactor)
        except CancelledError:
            raise
        except Exception as problem:
            raise Gone(str(problem)) from problem

    async def watch(self, path: str, told: Callable[[bytes], None]) -> None:
        """Implement this part of a `Door`."""
        try:
            response = await self._send("GET", path, b"")
            if response.code != 200:
                raise Gone(f"{response.code} {(await readBody(response))[:200]!r}")
            lines = Lines(told)
            response.deliverBody(lines)
            await lines.ended
        except (CancelledError, Gone):
            raise
        except Exception as problem:
            raise Gone(str(problem)) from problem

    async def close(self) -> None:
        """Close the connections that are kept."""
        await self._pool.closeCachedConnections()

    async def _asked(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        response = await self._send(method, path, body)
        return response.code, await readBody(response)

    async def _send(self, method: str, path: str, body: bytes) -> Any:
        producer = FileBodyProducer(BytesIO(body)) if body else None  # type: ignore[no-untyped-call]
        return await self._agent.request(
            method.encode(), f"{self._url}{path}".encode(), Headers(self._headers), producer
        )


class Lines(LineOnlyReceiver):
    """The lines of a body; `ended` fires at its end, and cancelled hangs up."""

    delimiter = b"\n"
    MAX_LENGTH = 1 << 22

    def __init__(self, told: Callable[[bytes], None]) -> None:
        self._told = told
        self.ended: Deferred[None] = Deferred(lambda _: self._hang_up())

    def lineReceived(self, line: bytes) -> None:
        """Handle one line of the log."""
        self._told(line)

    def connectionLost(self, reason: Failure = ResponseDone) -> None:  # type: ignore[assignment]
        """Note the end of the watch."""
        if not self.ended.called:
            self.ended.callback(None)

    def _hang_up(self) -> None:
        transport: Any = self.transport
        if transport is not None:
            transport.abortConnection()
