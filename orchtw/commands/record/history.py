"""Requests to `/debug/history` of a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from orchtw.commands.record.connection import Connection, RefusedQuery
from orchtw.errors import ConfigError
from orchtw.exports.client import Params
from orchtw.wire.objects import Object

PATH: Final = "/debug/history"


class ServerHistory:
    """Record of a server, read over a connection. Errors are ConfigErrors with one line."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def records(self, params: Params) -> AsyncIterator[Object]:
        """Yield records; with `follow` among the parameters, those to come as well."""
        return self._lines(PATH, params)

    def states(self, params: Params) -> AsyncIterator[Object]:
        """Yield the objects of a past state."""
        return self._lines(f"{PATH}/at", params)

    def differences(self, params: Params) -> AsyncIterator[Object]:
        """Yield the objects that differ between two revisions."""
        return self._lines(f"{PATH}/diff", params)

    async def _lines(self, path: str, params: Params) -> AsyncIterator[Object]:
        try:
            async for line in self._connection.lines(path, params):
                yield line
        except RefusedQuery as refusal:
            answer = refusal.answer
            if answer.code == 404 and isinstance(answer.value, dict) and "paths" in answer.value:
                raise ConfigError("the server keeps no record of writes: start it with --enable-history") from None
            raise
