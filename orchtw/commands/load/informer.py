"""Informers: a list and then watches, each from where the last one ended."""

from __future__ import annotations

import re
from contextlib import suppress
from random import Random
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater

from orchtw.commands.connections import Body, ServerConnections
from orchtw.commands.load.deliveries import FollowedWatch, parsed
from orchtw.commands.load.requests import LoadRequests
from orchtw.commands.load.statistics import Statistics
from orchtw.errors import ConfigError
from orchtw.outbound.exchange import Broken

WATCH_S: Final = 300
"""Shortest time limit of a watch; the longest is twice that, as informers of the release ask for."""

RETRY_S: Final = 1.0
_LIST_VERSION: Final = re.compile(rb'"metadata":\{"resourceVersion":"(\d+)"')


class LoadInformer:
    """Informer of a collection at `path`, narrowed by `selector`; `follower` compares its events with the writes."""

    def __init__(
        self,
        connections: ServerConnections,
        requests: LoadRequests,
        statistics: Statistics,
        follower: FollowedWatch,
        path: str,
        selector: str,
        random: Random,
        reactor: Any,
    ) -> None:
        self._connections = connections
        self._requests = requests
        self._statistics = statistics
        self._follower = follower
        self._path = path
        self._selector = f"&fieldSelector={selector}" if selector else ""
        self._plural = path.rpartition("/")[2]
        self._random = random
        self._reactor = reactor
        self._running: Deferred[None] | None = None

    async def start(self) -> None:
        """List, and begin to watch."""
        await self._list()
        self._running = Deferred.fromCoroutine(self._follow())

    async def stop(self) -> None:
        """End the watch, and wait until it has ended."""
        running, self._running = self._running, None
        if running is not None:
            running.cancel()
            with suppress(CancelledError):
                await running

    async def _list(self) -> bool:
        """List the collection, without keeping it; report whether that has gone well."""
        operation, sent_s = f"list {self._plural}", self._reactor.seconds()
        try:
            head, body = await self._connections.asked("GET", f"{self._path}?resourceVersion=0{self._selector}")
            first = await body.next()
            version = list_version(first)
            while await body.next():
                pass
        except (ConfigError, Broken) as problem:
            self._requests.failed(operation, 0, str(problem).encode())
            return False
        if head.code != 200 or version is None:
            self._requests.failed(operation, head.code, first)
            return False
        self._statistics.interval.answered(operation, self._reactor.seconds() - sent_s)
        self._follower.listed(version)
        return True

    async def _follow(self) -> None:
        going_on = self._follower.version is not None
        while True:
            going_on = await (self._watch() if going_on else self._list())
            if not going_on:
                await deferLater(self._reactor, RETRY_S)

    async def _watch(self) -> bool:
        """Follow one watch to its end; report whether another can go on from there."""
        limit_s = self._random.randint(WATCH_S, 2 * WATCH_S)
        query = f"watch=1&allowWatchBookmarks=true&timeoutSeconds={limit_s}&resourceVersion={self._follower.version}"
        operation, sent_s = f"watch {self._plural}", self._reactor.seconds()
        try:
            head, body = await self._connections.asked("GET", f"{self._path}?{query}{self._selector}")
        except ConfigError as problem:
            self._requests.failed(operation, 0, str(problem).encode())
            await deferLater(self._reactor, RETRY_S)
            return True
        try:
            if head.code != 200:
                self._requests.failed(operation, head.code, await body.next())
                return False
            self._statistics.interval.answered(operation, self._reactor.seconds() - sent_s)
            return await self._events(body)
        except Broken as problem:
            self._requests.failed(operation, 0, str(problem).encode())
            return True
        finally:
            body.drop()

    async def _events(self, body: Body) -> bool:
        """Compare the events of a watch up to its end; report whether it did not end by an error. Raises Broken."""
        async for line in body.lines():
            event = parsed(line)
            if event is None:
                if b'"code":410' not in line:
                    self._requests.failed(f"watch {self._plural}", 0, line)
                return False
            self._follower.seen(event, self._reactor.seconds())
        return True


def list_version(start: bytes) -> int | None:
    """Return the version of a list by the beginning of its JSON; None if that does not show it."""
    found = _LIST_VERSION.search(start)
    return None if found is None else int(found[1])
