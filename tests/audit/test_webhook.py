"""Events for another server (reference AUDIT-12, AUDIT-13, AUDIT-19)."""

from __future__ import annotations

import random
from typing import Any

import orjson
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from orchtw.audit.batches import PLUGIN, Batches, BatchSettings
from orchtw.audit.buffer import WAITING_BYTES, WaitingEvents
from orchtw.audit.counts import Counts
from orchtw.audit.sink import Blocking
from orchtw.audit.webhook import END_S, LimitedCaller, WebhookBackend, WebhookSender
from orchtw.outbound.caller import CallFailed
from orchtw.outbound.remote import Remote
from tests.audit.events import numbered

REMOTE = Remote(url="https://audit.example.com/")


class Server:
    """Webhook caller whose server is up or down, or keeps posts waiting."""

    def __init__(self) -> None:
        self.up = True
        self.code = 0
        self.tries = 0
        self.lists: list[Any] = []
        self.waiting: list[Deferred[None]] | None = None

    async def post(self, remote: Remote, body: bytes, **limits: Any) -> bytes:
        """Record the posted list, or raise CallFailed while the server is down."""
        self.tries += 1
        if self.waiting is not None:
            waiting: Deferred[None] = Deferred()
            self.waiting.append(waiting)
            await waiting
        if not self.up:
            raise CallFailed("Post: connection refused", "connection refused", self.code)
        self.lists.append(orjson.loads(body))
        return b""

    @property
    def ids(self) -> list[str]:
        """Of all events that have arrived."""
        return [event["auditID"] for each in self.lists for event in each["items"]]


class WebhookTests(SynchronousTestCase):
    """`WebhookBackend`, `WebhookSender` and `LimitedCaller`."""

    def setUp(self) -> None:
        self.clock, self.server = Clock(), Server()
        self.counts = Counts(self.clock)
        self.sender = WebhookSender(
            caller=LimitedCaller(self.server, at_once=2),  # type: ignore[arg-type]
            remote=REMOTE,
            clock=self.clock,
            random=random.Random(1),
            first_s=10.0,
        )
        self.backend = WebhookBackend(self.sender.send, "audit.orch.io/v1", self.clock, self.counts)

    def batches(self, **changes: Any) -> Batches:
        limit_bytes = changes.pop("waiting_bytes", WAITING_BYTES)
        self.room = WaitingEvents("webhook", self.backend, self.counts, plugin=PLUGIN, limit_bytes=limit_bytes)
        settings = {"buffer_size": 10000, "max_size": 4, "max_wait_s": 30.0, "qps": 10.0, "burst": 15, **changes}
        return Batches(BatchSettings(**settings), self.clock, self.backend, self.room)

    def test_list(self) -> None:
        """A batch is one EventList, whose items have no kind of their own."""
        self.backend.deliver([numbered(1), numbered(2)])
        found = self.server.lists[0]
        self.assertEqual({name: found[name] for name in ("kind", "apiVersion", "metadata")},
                         {"kind": "EventList", "apiVersion": "audit.orch.io/v1", "metadata": {}})
        self.assertEqual(found["items"], [numbered(1).members, numbered(2).members])
        self.assertEqual(self.backend.bytes, 0)

    def test_down_for_a_minute(self) -> None:
        """Everything that came while the server was away for a minute arrives when it is back; nothing is lost."""
        batches, sent = self.batches(), 0
        self.server.up = False
        for second in range(100):
            self.server.up = second >= 60
            for _ in range(20):
                batches.process(numbered(sent))
                sent += 1
            self.clock.advance(1)
        self.clock.pump([1.0] * 100)
        self.assertEqual(sorted(self.server.ids), sorted(f"id-{number}" for number in range(sent)))
        self.assertEqual((self.counts.errors, self.room.bytes, self.clock.getDelayedCalls()), ({}, 0, []))

    def test_down_for_ever(self) -> None:
        """After five attempts with growing delays a batch is dropped, counted and logged."""
        self.server.up = False
        self.backend.deliver([numbered(1), numbered(2)])
        tries = []
        for _ in range(120):
            self.clock.advance(1)
            tries.append(self.server.tries)
        self.assertEqual(max(tries), 5)
        pauses = [tries.index(number) + 1 for number in (2, 3, 4, 5)]
        for pause, least in zip(pauses, (10, 25, 47, 81), strict=True):
            self.assertGreaterEqual(pause, least)
        self.assertEqual((self.counts.errors, self.backend.bytes), ({"webhook": 2}, 0))

    def test_refused(self) -> None:
        """A 4xx is not retried; a 429 and a 5xx are."""
        for code, tries in ((400, 1), (429, 5), (503, 5)):
            self.server.up, self.server.code, self.server.tries = False, code, 0
            self.backend.deliver([numbered(1)])
            self.clock.pump([1.0] * 120)
            self.assertEqual(self.server.tries, tries, code)

    def test_bounded_while_it_is_away(self) -> None:
        """Events queued for retry count against the bound: beyond it events are lost, not memory."""
        batches = self.batches(waiting_bytes=20_000, qps=0.0)
        self.server.up = False
        for number in range(1000):
            batches.process(numbered(number))
        self.assertLessEqual(self.room.bytes, 20_000)
        self.assertGreater(self.counts.errors["buffered"], 900)

    def test_few_at_once(self) -> None:
        """A slow server is asked by few requests at a time; the others wait their turn."""
        self.server.waiting = []
        for number in range(5):
            self.backend.deliver([numbered(number)])
        self.assertEqual(self.server.tries, 2)
        for _ in range(5):
            self.server.waiting.pop(0).callback(None)
        self.assertEqual(len(self.server.ids), 5)

    def test_waited_for(self) -> None:
        """In the modes that block, a request waits for the server's answer, or for the last try."""
        self.assertIs(self.successResultOf(self.backend.process(numbered(1))), True)
        self.server.up = False
        waiting = self.backend.process(numbered(2))
        self.clock.pump([1.0] * 60)
        self.assertNoResult(waiting)
        self.clock.pump([1.0] * 60)
        self.assertIs(self.successResultOf(waiting), False)

    def test_the_end(self) -> None:
        """A stop waits for batches being sent, but not for ever."""
        self.server.waiting = []
        self.backend.deliver([numbered(1)])
        ended = Deferred.fromCoroutine(self.backend.stop())
        self.assertNoResult(ended)
        self.server.waiting.pop().callback(None)
        self.successResultOf(ended)
        self.backend.deliver([numbered(2)])
        ended = Deferred.fromCoroutine(self.backend.stop())
        self.clock.advance(END_S)
        self.successResultOf(ended)
        self.assertEqual((self.server.ids, self.counts.errors), (["id-1"], {"webhook": 1}))
        self.assertEqual(self.backend.bytes, 0)

    def test_said(self) -> None:
        """That the server is shutting down is said when it is, of all that is given up; not when a client leaves."""
        self.server.waiting = []
        room = WaitingEvents("webhook", self.backend, self.counts)
        blocking = Blocking(backend=self.backend, room=room, clock=self.clock)
        with capturedLogs() as logged:
            for number in range(5):
                waiting = blocking.process(numbered(number))
                assert isinstance(waiting, Deferred)
                waiting.cancel()
                self.failureResultOf(waiting, CancelledError)
            self.assertEqual((logged, self.counts.errors, self.server.tries), ([], {}, 2))
            self.assertGreater(room.bytes, 0)
            ended = Deferred.fromCoroutine(blocking.stop())
            self.clock.advance(END_S)
            self.successResultOf(ended)
        self.assertEqual([(each["count"], each["why"]) for each in logged], [(5, "the server is shutting down")])
        self.assertEqual((room.bytes, self.clock.getDelayedCalls()), (0, []))
