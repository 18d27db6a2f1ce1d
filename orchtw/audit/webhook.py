"""Webhook backend, which posts EventLists to another server (reference AUDIT-12)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

import msgspec
import orjson
from twisted.internet.defer import CancelledError, Deferred, DeferredSemaphore, TimeoutError, gatherResults

from orchtw.audit.counts import Counts
from orchtw.audit.event import Event
from orchtw.outbound import retries
from orchtw.outbound.caller import Caller, CallFailed
from orchtw.outbound.remote import Remote

PLUGIN: Final = "webhook"
AT_ONCE: Final = 8
"""Limit of concurrent requests; batches that wait for a retry are not counted."""

ANSWER_BYTES: Final = 64 * 1024
"""Size limit of a response, whose content is ignored."""

END_S: Final = 30.0
"""Time for undelivered events on shutdown, attempts and delays included (reference AUDIT-19)."""

POST_BYTES: Final = 8 * 1024
"""Approximate memory of a list in delivery or between retries, beside its bytes."""

Send = Callable[[bytes], Any]
"""Delivers an EventList, with retries; returns an awaitable. Raises CallFailed."""


class WebhookSender(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Delivery to the webhook, with retries, the first of which is after `first_s`."""

    caller: retries.Poster
    remote: Remote
    clock: Any
    random: Random
    first_s: float

    async def send(self, body: bytes) -> None:
        """Post a list, up to five times. Raises CallFailed."""
        await retries.post(
            self.caller,
            self.remote,
            body,
            self.clock,
            self.random,
            limit_bytes=ANSWER_BYTES,
            first_s=self.first_s,
            all_s=float("inf"),
            unanswered_too=True,
        )


class WebhookBackend:
    """Webhook backend with several batches in delivery at once.

    It is a `Delivery` of mode batch, where accepted events no longer count as waiting, though their bytes do until
    they have arrived; and the `AuditBackend` of the other modes.
    """

    extra_bytes: Final = POST_BYTES

    def __init__(self, send: Send, api_version: str, clock: Any, counts: Counts) -> None:
        head = {"kind": "EventList", "apiVersion": api_version, "metadata": {}, "items": []}
        self._head = orjson.dumps(head)[:-2]
        self._send = send
        self._clock = clock
        self._counts = counts
        self._running: set[Deferred[bool]] = set()
        self._given_up = 0
        self.events = 0
        self.bytes = 0

    def deliver(self, batch: list[Event]) -> None:
        """Send a batch; only `stop` waits for the outcome."""
        self._begin(batch)

    def process(self, *events: Event) -> Deferred[bool]:
        """Send events at once; fires with False if that failed."""
        return self._begin(list(events))

    def start(self) -> None:
        """Do nothing: there are no threads."""

    async def stop(self) -> None:
        """Wait for the batches in delivery; those that have not arrived after END_S are given up."""
        if not self._running:
            return
        try:
            await gatherResults(list(self._running)).addTimeout(END_S, self._clock)
        except TimeoutError:
            for each in list(self._running):
                each.cancel()
        if self._given_up:
            self._counts.lost(PLUGIN, self._given_up, "the server is shutting down")

    def _begin(self, batch: list[Event]) -> Deferred[bool]:
        body = b"%b%b]}" % (self._head, b",".join([event.json for event in batch]))
        size = len(body) + self.extra_bytes
        self.bytes += size
        # From here on the body replaces its events, so that memory holds their bytes once.
        running = Deferred.fromCoroutine(self._sent(body, len(batch)))
        self._running.add(running)

        def ended(result: Any) -> Any:
            self._running.discard(running)
            self.bytes -= size
            return result

        running.addBoth(ended)
        return running

    async def _sent(self, body: bytes, count: int) -> bool:
        try:
            await self._send(body)
        except CallFailed as problem:
            self._counts.lost(PLUGIN, count, str(problem))
            return False
        except CancelledError:
            # Only `stop` cancels a delivery; a request that stops waiting does not.
            self._given_up += count
            return False
        return True


class LimitedCaller:
    """Caller with at most `at_once` concurrent posts."""

    def __init__(self, caller: Caller, at_once: int = AT_ONCE) -> None:
        self._caller = caller
        self._turns = DeferredSemaphore(at_once)

    async def post(
        self, remote: Remote, body: bytes, *, timeout_s: float, left_s: float | None, limit_bytes: int
    ) -> bytes:
        """Post a batch when its turn comes; returns and raises as `Caller.post`."""
        await self._turns.acquire()
        try:
            return await self._caller.post(
                remote, body, timeout_s=timeout_s, left_s=left_s, limit_bytes=limit_bytes
            )
        finally:
            self._turns.release()

