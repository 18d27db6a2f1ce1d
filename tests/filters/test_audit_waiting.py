"""Requests that wait for their events to arrive, and clients that do not (reference AUDIT-17, AUDIT-20, AUDIT-22)."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred

from orchtw.audit.buffer import WaitingEvents
from orchtw.audit.counts import Counts
from orchtw.audit.policy import REQUEST_RESPONSE
from orchtw.audit.sink import Blocking
from orchtw.errors import Timeout, TooManyRequests
from orchtw.filters.audit import AuditStage
from orchtw.filters.chain import Placed, declined, line
from orchtw.filters.timeout import TimeoutStage
from orchtw.request import Ending, Peer, Request, Response
from tests.audit.events import Held
from tests.filters.audit_case import POD, AuditStageCase, Users

LIMIT_S = 60.0


class Stream:
    """A body that comes over time, or never."""

    def __init__(self) -> None:
        self.lost = 0

    def start(self, channel: Any) -> None:
        """Do nothing; the tests never start this body."""

    def connection_lost(self) -> None:
        """Count the lost connection."""
        self.lost += 1


class WaitingCase(AuditStageCase):
    """A backend in mode blocking that takes its time, and requests that have LIMIT_S."""

    def setUp(self) -> None:
        super().setUp()
        self.held = Held()
        room = WaitingEvents("webhook", self.held, Counts(self.clock))
        self.sink: Any = Blocking(backend=self.held, room=room, clock=self.clock)
        self.handled = 0
        self.response = Response(body=b"{}", content_type="application/json")

    async def handler(self, request: Request) -> Response:
        self.handled += 1
        return self.response

    def begin(self, method: str = "GET", path: str = POD, query: str = "", **more: Any) -> Deferred[Response]:
        """A request on its way through deadline and audit."""
        auditor = self.auditor(**more)
        stages = [
            Placed("timeout", TimeoutStage(self.clock, LIMIT_S)),
            Placed("authentication", Users()),
            Placed("audit", AuditStage(auditor)),
        ]
        self.request = Request(
            method=method, path=path, query=query, peer=Peer(address="10.0.0.1", port=1), audit_id="id", body=b"x"
        )
        return Deferred.fromCoroutine(line(stages, self.handler)(self.request))

    @property
    def stages(self) -> list[str]:
        return [event["stage"] for event in self.held.shown]

    @property
    def status(self) -> Any:
        """Of the last event."""
        last = self.held.shown[-1]
        return last["stage"], last["responseStatus"]["code"], last["responseStatus"].get("message", "")


class LeavingTests(WaitingCase):
    def test_before_it_begins(self) -> None:
        """Its first event is delivered all the same, and a last one says what became of it; nothing is done."""
        for method in ("GET", "POST", "PATCH"):
            self.setUp()
            answer = self.begin(method)
            self.assertEqual((self.stages, self.request.ends_with_client), (["RequestReceived"], True), method)
            self.request.left()
            answer.cancel()
            self.failureResultOf(answer, CancelledError)
            self.assertEqual(self.status, ("ResponseComplete", 200, "Connection closed early"))
            self.assertEqual((self.handled, self.held.cancelled, len(self.held.waiting)), (0, 0, 2), method)

    def test_out_of_time(self) -> None:
        """So does one whose time is over: a write that has not begun is given up as a read is."""
        for method in ("GET", "POST"):
            self.setUp()
            answer = self.begin(method)
            self.clock.advance(LIMIT_S)
            self.failureResultOf(answer, Timeout)
            self.assertEqual((self.stages, self.status[1]), (["RequestReceived", "ResponseComplete"], 504))
            self.held.arrived(True)
            self.assertEqual((self.handled, self.held.cancelled), (0, 0))
            self.assertEqual(len(self.stages), 2)

    def test_after_it_is_done(self) -> None:
        """The last event is delivered once and reports the outcome; listeners are told that the answer has ended."""
        for method in ("GET", "POST"):
            self.setUp()
            ended: list[Ending] = []
            self.response.on_end(ended.append)
            answer = self.begin(method)
            self.held.arrived(True)
            self.assertEqual((self.handled, self.stages), (1, ["RequestReceived", "ResponseComplete"]))
            self.assertNoResult(answer)
            if method == "GET":
                answer.cancel()
                self.failureResultOf(answer, CancelledError)
                self.assertEqual(ended, [Ending.CLIENT_GONE])
            else:
                self.clock.advance(LIMIT_S)
                self.failureResultOf(answer, Timeout)
                self.assertEqual(ended, [Ending.DEADLINE])
            self.assertEqual((self.status[:2], self.held.cancelled), (("ResponseComplete", 200), 0))
            self.assertEqual(len(self.stages), 2)

    def test_no_room(self) -> None:
        """A request for which the server has no room does not wait in it, and has its events."""
        auditor = self.auditor()
        stages = [Placed("authentication", Users()), Placed("audit", AuditStage(auditor))]
        request = Request(method="POST", path=POD, peer=Peer(address="10.0.0.1", port=1), audit_id="id")
        answer = Deferred.fromCoroutine(declined(stages, request, TooManyRequests.no_room()))
        self.failureResultOf(answer, TooManyRequests)
        self.assertEqual((self.stages, self.status[1]), (["RequestReceived", "ResponseComplete"], 429))

    def test_watch(self) -> None:
        """A stream that will not be sent is told, and has its events."""
        stream = Stream()
        self.response = Response(stream=stream)
        answer = self.begin(path="/api/v1/pods", query="watch=1", level=REQUEST_RESPONSE)
        self.held.arrived(True)
        self.assertEqual(self.stages, ["RequestReceived", "ResponseStarted"])
        answer.cancel()
        self.failureResultOf(answer, CancelledError)
        self.assertEqual((stream.lost, self.stages[2:], self.held.cancelled), (1, ["ResponseComplete"], 0))

    def test_watch_that_has_begun(self) -> None:
        """The end of an answer waits for nobody, and its last event for the end of the server."""
        self.response = Response(stream=Stream())
        answer = self.begin(path="/api/v1/pods", query="watch=1")
        self.held.arrived(True)
        self.held.arrived(True)
        self.successResultOf(answer).end(Ending.CLIENT_GONE)
        self.assertEqual(self.stages[2:], ["ResponseComplete"])
        self.successResultOf(Deferred.fromCoroutine(self.made.stop()))
        self.assertEqual(self.held.calls, ["stop"])
