"""Requests of the command to a server: whole answers, and lines that come as the server writes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import urlencode

import orjson
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from orchtw.commands.connections import ServerConnections
from orchtw.errors import ConfigError
from orchtw.exports.client import JSON, Params, ServerAnswer
from orchtw.outbound.exchange import Broken
from orchtw.outbound.remote import Remote
from orchtw.wire.json_values import loads
from orchtw.wire.objects import Object

AGENT: Final = "orch-record"
TIMEOUT_S: Final = 60.0
"""Time limit of a whole answer; lines have none."""


class RefusedQuery(ConfigError):
    """Error about an answer that is a refusal."""

    def __init__(self, answer: ServerAnswer) -> None:
        super().__init__(answer.message)
        self.answer = answer


class Connection:
    """Client of one server, with kept connections. Every failure is a ConfigError with one line."""

    def __init__(self, remote: Remote, reactor: Any) -> None:
        self._connections = ServerConnections(remote, reactor, AGENT)
        self._reactor = reactor

    @property
    def url(self) -> str:
        """Return the URL of the server."""
        return self._connections.url

    async def close(self) -> None:
        """Drop all connections, and wait until they are closed."""
        await self._connections.close()

    async def ask(
        self, method: str, path: str, params: Params = (), obj: Object | None = None, content: str = JSON
    ) -> ServerAnswer:
        """Return a whole answer; `obj` is sent as JSON of the content type. Raises ConfigError."""

        def late(_result: object, _timeout_s: float) -> Any:
            return Failure(ConfigError(f"{self.url}: no answer within {TIMEOUT_S:.0f} s"))  # type: ignore[no-untyped-call]

        asking = Deferred.fromCoroutine(self._whole(method, path, params, obj, content))
        return await asking.addTimeout(TIMEOUT_S, self._reactor, onTimeoutCancel=late)

    async def lines(self, path: str, params: Params = ()) -> AsyncIterator[Object]:
        """Yield the values of an answer's lines. Raises RefusedQuery, and ConfigError, also for an error line."""
        head, body = await self._connections.asked("GET", _target(path, params))
        try:
            if head.code != 200:
                raise RefusedQuery(_answer(head.code, await body.whole()))
            async for line in body.lines():
                yield _checked(_parsed(line))
        except Broken as problem:
            raise ConfigError(f"{self.url}: {problem}") from None
        finally:
            body.drop()

    async def _whole(self, method: str, path: str, params: Params, obj: Object | None, content: str) -> ServerAnswer:
        body = b"" if obj is None else orjson.dumps(obj)
        head, received = await self._connections.asked(method, _target(path, params), body, content)
        try:
            return _answer(head.code, await received.whole())
        except Broken as problem:
            raise ConfigError(f"{self.url}: {problem}") from None
        finally:
            received.drop()


def _target(path: str, params: Params) -> str:
    return f"{path}?{urlencode(params)}" if params else path


def _answer(code: int, body: bytes) -> ServerAnswer:
    try:
        return ServerAnswer(code, loads(body))
    except ValueError:
        return ServerAnswer(code, None)


def _parsed(line: bytes) -> Object:
    try:
        value = loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ConfigError("the server's answer is not lines of JSON: is it a server with --enable-history?")
    return value


def _checked(value: Object) -> Object:
    """Return a line's value. Raises ConfigError for one that reports an error."""
    if value.get("type") == "ERROR":
        raise ConfigError(ServerAnswer(0, value.get("object")).message)
    return value
