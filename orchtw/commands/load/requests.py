"""Requests of the load: each is timed, counted, and told to the ledger of deliveries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred, TimeoutError

from orchtw.commands.connections import JSON, ServerConnections
from orchtw.commands.load.deliveries import Key, Ledger, deleted, identity
from orchtw.commands.load.statistics import Statistics
from orchtw.errors import ConfigError
from orchtw.outbound.exchange import Broken

TIMEOUT_S: Final = 60.0
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"


class LoadRequests:
    """Client of the server under load; `say` gets the first error of each operation and code."""

    def __init__(
        self,
        connections: ServerConnections,
        ledger: Ledger,
        statistics: Statistics,
        reactor: Any,
        say: Callable[[str], None],
    ) -> None:
        self._connections = connections
        self._ledger = ledger
        self._statistics = statistics
        self._reactor = reactor
        self._say = say
        self._said: set[tuple[str, int]] = set()
        self.last_error = ""

    async def send(
        self,
        operation: str,
        method: str,
        path: str,
        body: bytes = b"",
        content: str = JSON,
        *,
        topics: Sequence[str] = (),
        good: Sequence[int] = (),
        timeout_s: float = TIMEOUT_S,
        start: int = 0,
    ) -> bytes | None:
        """Return the body of a good answer; None after an error, which is counted.

        `topics` are the watches that must deliver the write. `good` are codes besides 200 to 202 that are expected.
        `start`: the number of bytes to return of an answer that may be long; 0: it is short, and returned as a whole.
        """
        sent_s = self._reactor.seconds()
        code, answer = await self._answer(method, path, body, content, timeout_s, start)
        now_s = self._reactor.seconds()
        if code not in (200, 201, 202, *good):
            self.failed(operation, code, answer)
            return None
        self._statistics.interval.answered(operation, now_s - sent_s)
        if topics and (found := identity(answer)) is not None:
            self._ledger.wrote(topics, found[1], found[1], sent_s, now_s)
        return answer

    async def delete(self, operation: str, path: str, uid: bytes, body: bytes, topics: Sequence[str]) -> None:
        """Delete an object at once; the watches of the topics must deliver the deletion of the uid."""
        sent_s = self._reactor.seconds()
        if await self.send(operation, "DELETE", path, body) is not None:
            self.wrote(topics, deleted(uid), sent_s)

    def wrote(self, topics: Sequence[str], key: Key, sent_s: float) -> None:
        """Take note of a write whose response has no version: the topics must deliver an event of the key."""
        self._ledger.wrote(topics, key, 0, sent_s, self._reactor.seconds())

    def failed(self, operation: str, code: int, answer: bytes) -> None:
        """Count an error; code 0 is a request without an answer."""
        self._statistics.interval.errors[operation, code] += 1
        self.last_error = f"{operation}: {code or 'no answer'}: {answer[:300].decode('utf-8', 'replace')}"
        if (operation, code) not in self._said:
            self._said.add((operation, code))
            self._say(self.last_error)

    async def _answer(
        self, method: str, path: str, body: bytes, content: str, timeout_s: float, start: int
    ) -> tuple[int, bytes]:
        asking = Deferred.fromCoroutine(self._read(method, path, body, content, start))
        try:
            return await asking.addTimeout(timeout_s, self._reactor)
        except TimeoutError:
            return 0, b"no answer in time"
        except (ConfigError, Broken) as problem:
            return 0, str(problem).encode()

    async def _read(self, method: str, path: str, body: bytes, content: str, start: int) -> tuple[int, bytes]:
        head, received = await self._connections.asked(method, path, body, content)
        try:
            return head.code, await (received.start(start) if start else received.whole())
        finally:
            received.drop()
